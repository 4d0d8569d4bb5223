package chain

import (
	"encoding/binary"

	"github.com/holiman/uint256"

	"github.com/mintlake/mintlake/testworld/layout"
)

// Meteora DLMM: constants of the fee, the event and errors (dlmm-sdk, commons/src, idls/dlmm.json).
// The chain's pools take the fee from the input, and no limit orders wait in their bins.
const (
	// dlmmWindow is how many arrays on either side of bin 0 the pool has a bit for.
	dlmmWindow = 512
	// dlmmArrays is how many arrays an instruction of the chain's traders names.
	dlmmArrays = 3

	dlmmWhole    = 1_000_000_000 // of which a fee is a part
	dlmmMostRate = 100_000_000
	dlmmWeight   = 10_000 // of a bin that was crossed, and the whole of the reduction
	dlmmControl  = 100_000_000_000

	dlmmTooLittle   = 6003 // ExceededAmountSlippageTolerance
	dlmmZero        = 6005 // ZeroLiquidity
	dlmmNoLiquidity = 6041 // PairInsufficientLiquidity
)

var dlmmSwapEvent = [8]byte{0x51, 0x6c, 0xe3, 0xbe, 0xcd, 0xd0, 0x0a, 0xc4}

// dlmmFee is the fee of a swap while it goes from bin to bin: a base, and a part that grows with
// the distance from a reference.
type dlmmFee struct {
	base, control, most uint64
	step                uint64
	volatility          uint64
	reference           int32
}

// dlmmFeeOf reads the fee of a pool for a swap at a time. The reference is that of the last swap if
// less than the filter period has passed since then, else it is renewed.
func dlmmFeeOf(d []byte, now int64) (f dlmmFee) {
	u16 := func(at int) uint64 { return uint64(binary.LittleEndian.Uint16(d[at:])) }
	u32 := func(at int) uint64 { return uint64(binary.LittleEndian.Uint32(d[at:])) }
	f = dlmmFee{
		step: u16(layout.DLMMStep), control: u32(layout.DLMMControl), most: u32(layout.DLMMMost), volatility: u32(layout.DLMMVolatility),
		reference: int32(u32(layout.DLMMReference)),
	}
	f.base = u16(layout.DLMMFactor) * f.step * 10
	for range d[layout.DLMMPower] {
		f.base = min(10*f.base, dlmmMostRate)
	}
	elapsed := now - int64(binary.LittleEndian.Uint64(d[layout.DLMMUpdated:]))
	if elapsed < int64(u16(layout.DLMMFilter)) {
		return f
	}
	f.reference, f.volatility = int32(u32(layout.DLMMActive)), 0
	if elapsed < int64(u16(layout.DLMMDecay)) {
		f.volatility = u32(layout.DLMMAccumulator) * u16(layout.DLMMReduction) / dlmmWeight
	}
	return f
}

// crossed is the accumulator in a bin.
func (f *dlmmFee) crossed(bin int32) uint64 {
	distance := int64(bin) - int64(f.reference)
	return min(f.volatility+uint64(max(distance, -distance))*dlmmWeight, f.most)
}

// rate is the whole fee in a bin: base + ⌈control·(accumulator·step)²/10¹¹⌉, at most 10 %.
func (f *dlmmFee) rate(bin int32) uint64 {
	square := f.crossed(bin) * f.step
	if square >= 1<<32 {
		square = 1<<32 - 1 // far more than 10 %, unless control is 0
	}
	variable, ok := mulDivUp(square*square, f.control, dlmmControl)
	if !ok {
		return dlmmMostRate
	}
	return min(f.base+min(variable, dlmmMostRate), dlmmMostRate)
}

// dlmmTrade is a swap while it goes from bin to bin, and what it leaves.
type dlmmTrade struct {
	in               int // the token that is sold: 0 for x
	exactIn          bool
	rest             uint64
	pays, sends, fee uint64
	bin              int32
	fees             dlmmFee
	// changes are what the bins of an array got and gave, by their numbers.
	changes []dlmmChange
}

// dlmmChange is what a swap moved in a bin, without the fee.
type dlmmChange struct {
	bin        int32
	gets, lost uint64
}

// cost is what an amount from a bin costs, rounded up; worth is what an amount buys there, rounded
// down.
func (t *dlmmTrade) cost(price *uint256.Int, out uint64) uint64 {
	n := uint256.NewInt(out)
	if t.in == 0 {
		n = ceilDiv(n.Lsh(n, 64), price)
	} else {
		n = ceilDiv(n.Mul(n, price), new(uint256.Int).Lsh(uint256.NewInt(1), 64))
	}
	return saturate(n)
}

func (t *dlmmTrade) worth(price *uint256.Int, in uint64) uint64 {
	n := uint256.NewInt(in)
	if t.in == 0 {
		n.Rsh(n.Mul(n, price), 64)
	} else {
		n.Div(n.Lsh(n, 64), price)
	}
	return saturate(n)
}

// saturate is the highest number of 64 bits for one that has more: more than any order.
func saturate(n *uint256.Int) uint64 {
	if !n.IsUint64() {
		return ^uint64(0)
	}
	return n.Uint64()
}

// take fills the order from a bin that holds an amount at a price.
func (t *dlmmTrade) take(bin int32, holds uint64, price *uint256.Int) {
	rate, most := t.fees.rate(bin), t.cost(price, holds)
	onTop := func(net uint64) uint64 {
		fee, _ := mulDivUp(net, rate, dlmmWhole-rate)
		return fee
	}
	amount, all := t.rest, false // what comes in, with the fee
	if !t.exactIn {
		if all = t.rest >= holds; !all {
			net := t.cost(price, t.rest)
			amount = net + onTop(net)
		}
	}
	fee, _ := mulDivUp(amount, rate, dlmmWhole)
	net, out := amount-fee, holds
	switch {
	case all || net > most:
		net, fee = most, onTop(most)
		amount = net + fee
	case net < most:
		out = t.worth(price, net)
	}
	if t.exactIn {
		t.rest -= amount
	} else {
		out = min(holds, t.rest)
		t.rest -= out
	}
	t.bin, t.pays, t.sends, t.fee = bin, t.pays+amount, t.sends+out, t.fee+fee
	t.changes = append(t.changes, dlmmChange{bin, net, out})
}

// run makes the swap. array returns the data of an array by its number; nil if the instruction has
// it not. The code is 0, or the program's error.
func (t *dlmmTrade) run(pool []byte, array func(number int32) []byte) (code uint32) {
	step := int32(1)
	if t.in == 0 {
		step = -1
	}
	for _, n := range dlmmNamed(pool, t.in, 2*dlmmWindow) {
		data := array(n)
		if data == nil {
			return dlmmNoLiquidity
		}
		for i := range int32(layout.DLMMArrayBins) {
			place := i
			if t.in == 0 {
				place = layout.DLMMArrayBins - 1 - i
			}
			bin := n*layout.DLMMArrayBins + place
			raw := data[layout.DLMMBins+layout.DLMMBinSize*int(place):]
			holds := binary.LittleEndian.Uint64(raw[8*(1-t.in):])
			if holds == 0 || (bin-t.bin)*step < 0 {
				continue
			}
			if t.take(bin, holds, getWide(raw[16:])); t.rest == 0 {
				return 0
			}
		}
	}
	return dlmmNoLiquidity
}

// dlmmNamed returns the first arrays that hold something from the price on, at most a number of
// them.
func dlmmNamed(pool []byte, in, most int) (numbers []int32) {
	step := int32(1)
	if in == 0 {
		step = -1
	}
	for n := dlmmNumber(int32(binary.LittleEndian.Uint32(pool[layout.DLMMActive:]))); n >= -dlmmWindow && n < dlmmWindow && len(numbers) < most; n += step {
		bit := uint(n + dlmmWindow)
		if binary.LittleEndian.Uint64(pool[layout.DLMMBitmap+8*(bit/64):])>>(bit%64)&1 == 1 {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// dlmmSwap computes a swap on a pool at a time.
func dlmmSwap(pool []byte, now int64, in int, amount uint64, exactIn bool, array func(number int32) []byte) (t dlmmTrade, code uint32) {
	t = dlmmTrade{in: in, exactIn: exactIn, rest: amount, bin: int32(binary.LittleEndian.Uint32(pool[layout.DLMMActive:])), fees: dlmmFeeOf(pool, now)}
	if code = t.run(pool, array); code == 0 && (t.pays == 0 || t.sends == 0) {
		code = dlmmZero
	}
	return t, code
}
