package chain

import (
	"encoding/binary"

	"github.com/mintlake/mintlake/testworld/layout"
)

// runDLMM runs swap2(amount, least out) and swap_exact_out2(most in, amount), both without further
// accounts, and what makes and ends pools. Accounts of a swap: pool, bitmap extension, reserve x,
// reserve y, source, destination, mint x, mint y, oracle, host's fee, user, program of x, program
// of y, memo, event authority, program, then bin arrays. The program's address stands for an
// account that is left out.
func runDLMM(x *machine, f *frame) error {
	const fixed, size = 16, 28
	if len(f.data) >= 8 && [8]byte(f.data[:8]) == anchorEventPrefix {
		x.used += 2000
		return nil
	}
	x.used += 40_000
	if len(f.data) >= 8 {
		if err, ok := dlmmPool(x, f); ok {
			return err
		}
	}
	if len(f.data) < size || [8]byte(f.data[:8]) != layout.DLMMSwap && [8]byte(f.data[:8]) != layout.DLMMSwapExactOut {
		return failCustom(anchorFallbackNotFound)
	}
	if err := f.need(fixed); err != nil {
		return failCustom(anchorNotEnoughKeys)
	}
	a := f.accs
	pool := x.acc(a[0])
	if pool.Owner != DLMMProgram || len(pool.Data) != layout.DLMMPairSize {
		return failCustom(anchorWrongOwner)
	}
	in := 1
	if x.holds(a[4], keyAt(pool.Data, layout.DLMMMints)) {
		in = 0
	}
	if err := dlmmCheck(x, a, pool.Data, in); err != nil {
		return err
	}
	first, second := binary.LittleEndian.Uint64(f.data[8:]), binary.LittleEndian.Uint64(f.data[16:])
	exactIn := [8]byte(f.data[:8]) == layout.DLMMSwap
	if !exactIn {
		first, second = second, first
	}
	t, code := dlmmSwap(pool.Data, x.now, in, first, exactIn, func(number int32) []byte {
		if r, ok := dlmmArray(x, a[fixed:], x.key(a[0]), number); ok {
			return x.acc(r).Data
		}
		return nil
	})
	if code == 0 && (exactIn && t.sends < second || !exactIn && t.pays > second) {
		code = dlmmTooLittle
	}
	if code != 0 {
		return failCustom(code)
	}
	return dlmmSettle(x, f, &t, a[fixed:])
}

// dlmmCheck checks the accounts of a swap against the pool.
func dlmmCheck(x *machine, a []ref, pool []byte, in int) error {
	if !a[10].signer {
		return failCustom(anchorNotSigner)
	}
	for side := range 2 {
		mint := keyAt(pool, layout.DLMMMints+32*side)
		if x.key(a[2+side]) != keyAt(pool, layout.DLMMReserves+32*side) || x.key(a[6+side]) != mint || x.key(a[11+side]) != x.acc(a[6+side]).Owner ||
			!x.holds(a[4+(side^in)], mint) {
			return failCustom(anchorConstraintRaw)
		}
	}
	if x.key(a[8]) != keyAt(pool, layout.DLMMOracleAt) || x.key(a[14]) != dlmmEvents || x.key(a[15]) != DLMMProgram {
		return failCustom(anchorConstraintRaw)
	}
	return nil
}

// dlmmArray finds a pool's bin array among accounts.
func dlmmArray(x *machine, accounts []ref, pool Key, number int32) (ref, bool) {
	for _, r := range accounts {
		d := x.acc(r)
		if d.Owner == DLMMProgram && len(d.Data) == layout.DLMMArraySize && keyAt(d.Data, layout.DLMMArrayPool) == pool &&
			int64(binary.LittleEndian.Uint64(d.Data[layout.DLMMArrayIndex:])) == int64(number) {
			return r, true
		}
	}
	return ref{}, false
}

// dlmmSettle moves the price, what the bins hold and the tokens, and emits Swap: pool, user, first
// and last bin, amounts, direction, the fee and who gets how much of it.
func dlmmSettle(x *machine, f *frame, t *dlmmTrade, arrays []ref) error {
	a := f.accs
	pool, user := x.key(a[0]), x.key(a[10])
	d := x.mutable(a[0]).Data
	event := append(append(append(append([]byte(nil), anchorEventPrefix[:]...), dlmmSwapEvent[:]...), pool[:]...), user[:]...)
	event = binary.LittleEndian.AppendUint32(append(event, d[layout.DLMMActive:layout.DLMMActive+4]...), uint32(t.bin))
	event = append(layout.AppendU64(layout.AppendU64(event, t.pays), t.sends), byte(1-t.in))
	event = layout.AppendU64(layout.AppendU64(event, t.fee), 0)
	event = append(event, make([]byte, 16+8)...)
	binary.LittleEndian.PutUint32(d[layout.DLMMActive:], uint32(t.bin))
	binary.LittleEndian.PutUint32(d[layout.DLMMAccumulator:], uint32(t.fees.crossed(t.bin)))
	binary.LittleEndian.PutUint32(d[layout.DLMMVolatility:], uint32(t.fees.volatility))
	binary.LittleEndian.PutUint32(d[layout.DLMMReference:], uint32(t.fees.reference))
	binary.LittleEndian.PutUint64(d[layout.DLMMUpdated:], uint64(x.now))
	for _, c := range t.changes {
		n := dlmmNumber(c.bin)
		r, ok := dlmmArray(x, arrays, pool, n)
		if !ok {
			return failCustom(dlmmNoLiquidity)
		}
		raw := x.mutable(r).Data[layout.DLMMBins+layout.DLMMBinSize*int(c.bin-n*layout.DLMMArrayBins):]
		addU64(raw[8*t.in:], c.gets)
		addU64(raw[8*(1-t.in):], -c.lost)
	}
	if err := cpmmTransfer(x, f, a[4], a[2+t.in], a[10], a[11+t.in], a[6+t.in], t.pays); err != nil {
		return err
	}
	if err := cpmmTransfer(x, f, a[3-t.in], a[5], ref{idx: a[0].idx, signer: true}, a[12-t.in], a[7-t.in], t.sends); err != nil {
		return err
	}
	return x.call(f, DLMMProgram, []ref{{idx: a[14].idx, signer: true}}, event)
}
