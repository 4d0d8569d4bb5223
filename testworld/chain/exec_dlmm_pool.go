package chain

import (
	"encoding/binary"

	"github.com/mintlake/mintlake/testworld/layout"
)

// DLMM's instructions that make a pool, fill it and empty it, and offsets in a position (dlmm-sdk,
// idls/dlmm.json).
var (
	dlmmCreate       = layout.Discriminator("global:initialize_lb_pair2")
	dlmmCreateArray  = layout.Discriminator("global:initialize_bin_array")
	dlmmOpen         = layout.Discriminator("global:initialize_position")
	dlmmAdd          = layout.Discriminator("global:add_liquidity_by_strategy2")
	dlmmRemove       = layout.Discriminator("global:remove_liquidity_by_range2")
	dlmmPositionDisc = layout.Discriminator("account:PositionV2")
	dlmmAdded        = layout.Discriminator("event:AddLiquidity")
	dlmmRemoved      = layout.Discriminator("event:RemoveLiquidity")
)

const (
	dlmmPositionSize  = 8120
	dlmmPositionPair  = 8
	dlmmPositionOwner = 40
	dlmmPositionLow   = 7912
	dlmmPositionHigh  = 7916

	dlmmInvalidBin      = 6002 // InvalidBinId
	dlmmInvalidPosition = 6032 // InvalidPosition
)

// dlmmPool runs what makes and ends pools; ok is false for other instructions.
func dlmmPool(x *machine, f *frame) (err error, ok bool) {
	var run func(x *machine, f *frame) error
	var accounts, size int
	switch [8]byte(f.data[:8]) {
	case dlmmCreate:
		run, accounts, size = dlmmCreatePair, 16, 12
	case dlmmCreateArray:
		run, accounts, size = dlmmMakeArray, 4, 16
	case dlmmOpen:
		run, accounts, size = dlmmOpenPosition, 8, 16
	case dlmmAdd:
		run, accounts, size = dlmmAddLiquidity, 15, 40
	case dlmmRemove:
		run, accounts, size = dlmmRemoveLiquidity, 16, 18
	default:
		return nil, false
	}
	if len(f.accs) < accounts || len(f.data) < size {
		return failCustom(anchorNotEnoughKeys), true
	}
	return run(x, f), true
}

func dlmmPairKey(a, b Key) Key {
	if string(a[:]) > string(b[:]) {
		a, b = b, a
	}
	step, factor := binary.LittleEndian.AppendUint16(nil, dlmmStep), binary.LittleEndian.AppendUint16(nil, dlmmFactor)
	k, _ := pda(DLMMProgram, a[:], b[:], step, factor)
	return k
}

func dlmmReserveKey(pair, mint Key) Key {
	k, _ := pda(DLMMProgram, pair[:], mint[:])
	return k
}

// dlmmPresetKey is the chain's one preset of step and factor.
func dlmmPresetKey() Key { return MadeUp("mintlake demo preset parameter", 0) }

// dlmmCreatePair runs initialize_lb_pair2(active bin). Accounts: pool, bitmap extension, mint x,
// mint y, reserve x, reserve y, oracle, preset, funder, two badges of mints, program of x, program
// of y, system, event authority, program.
func dlmmCreatePair(x *machine, f *frame) error {
	x.log("Program log: Instruction: InitializeLbPair2")
	a := f.accs
	mints := [2]Key{x.key(a[2]), x.key(a[3])}
	pair := dlmmPairKey(mints[0], mints[1])
	oracle, _ := pda(DLMMProgram, []byte("oracle"), pair[:])
	reserves := [2]Key{dlmmReserveKey(pair, mints[0]), dlmmReserveKey(pair, mints[1])}
	if x.key(a[0]) != pair || x.key(a[4]) != reserves[0] || x.key(a[5]) != reserves[1] || x.key(a[6]) != oracle || x.key(a[7]) != dlmmPresetKey() {
		return failCustom(anchorConstraintSeeds)
	}
	active := int32(binary.LittleEndian.Uint32(f.data[8:]))
	if active < -dlmmWindow*layout.DLMMArrayBins || active >= dlmmWindow*layout.DLMMArrayBins {
		return failCustom(dlmmInvalidBin)
	}
	if err := x.makeAccount(f, a[8], a[0], layout.DLMMPairSize, DLMMProgram); err != nil {
		return err
	}
	if err := x.makeAccount(f, a[8], a[6], layout.DLMMOracleSize, DLMMProgram); err != nil {
		return err
	}
	for side := range 2 {
		if err := x.makeVault(f, a[8], a[4+side], a[2+side], x.key(a[11+side]), pair); err != nil {
			return err
		}
	}
	made := layout.DLMMPair{Mints: mints, Reserves: reserves, Oracle: oracle, BaseFactor: dlmmFactor, Step: dlmmStep, Active: active}
	copy(x.mutable(a[0]).Data, made.Bytes())
	copy(x.mutable(a[6]).Data, layout.DLMMOracle())
	return nil
}

// dlmmMakeArray runs initialize_bin_array(number). Accounts: pool, array, funder, system.
func dlmmMakeArray(x *machine, f *frame) error {
	x.log("Program log: Instruction: InitializeBinArray")
	a, number := f.accs, int64(binary.LittleEndian.Uint64(f.data[8:]))
	if number < -dlmmWindow || number >= dlmmWindow || x.key(a[1]) != x.derived.array(x.key(a[0]), int32(number), dlmmArrayKey) {
		return failCustom(anchorConstraintSeeds)
	}
	if x.acc(a[0]).Owner != DLMMProgram || len(x.acc(a[0]).Data) != layout.DLMMPairSize {
		return failCustom(anchorWrongOwner)
	}
	if err := x.makeAccount(f, a[2], a[1], layout.DLMMArraySize, DLMMProgram); err != nil {
		return err
	}
	copy(x.mutable(a[1]).Data, layout.DLMMArray(x.key(a[0]), number, nil))
	return nil
}

// dlmmOpenPosition runs initialize_position(lowest bin, number of bins). Accounts: payer, position,
// pool, owner, system, rent, event authority, program.
func dlmmOpenPosition(x *machine, f *frame) error {
	x.log("Program log: Instruction: InitializePosition")
	a := f.accs
	low, width := int32(binary.LittleEndian.Uint32(f.data[8:])), int32(binary.LittleEndian.Uint32(f.data[12:]))
	if width < 1 || width > layout.DLMMArrayBins || low < -dlmmLast || low > dlmmLast {
		return failCustom(dlmmInvalidBin)
	}
	if !a[3].signer {
		return failCustom(anchorNotSigner)
	}
	if err := x.makeAccount(f, a[0], a[1], dlmmPositionSize, DLMMProgram); err != nil {
		return err
	}
	d, pair, owner := x.mutable(a[1]).Data, x.key(a[2]), x.key(a[3])
	copy(d, dlmmPositionDisc[:])
	copy(d[dlmmPositionPair:], pair[:])
	copy(d[dlmmPositionOwner:], owner[:])
	binary.LittleEndian.PutUint32(d[dlmmPositionLow:], uint32(low))
	binary.LittleEndian.PutUint32(d[dlmmPositionHigh:], uint32(low+width-1))
	return nil
}

// dlmmPosition checks a position, its pool and its owner, and returns its lowest and highest bin.
// The first accounts of adding and removing are: position, pool, bitmap extension, the user's x and
// y, reserve x and y, mint x and y, user, program of x, program of y.
func dlmmPosition(x *machine, a []ref) (low, high int32, err error) {
	d, pool := x.acc(a[0]), x.acc(a[1])
	if d.Owner != DLMMProgram || len(d.Data) != dlmmPositionSize || pool.Owner != DLMMProgram || len(pool.Data) != layout.DLMMPairSize {
		return 0, 0, failCustom(anchorWrongOwner)
	}
	if !a[9].signer || keyAt(d.Data, dlmmPositionPair) != x.key(a[1]) || keyAt(d.Data, dlmmPositionOwner) != x.key(a[9]) {
		return 0, 0, failCustom(dlmmInvalidPosition)
	}
	for side := range 2 {
		if x.key(a[5+side]) != keyAt(pool.Data, layout.DLMMReserves+32*side) || x.key(a[7+side]) != keyAt(pool.Data, layout.DLMMMints+32*side) {
			return 0, 0, failCustom(anchorConstraintRaw)
		}
	}
	return int32(binary.LittleEndian.Uint32(d.Data[dlmmPositionLow:])), int32(binary.LittleEndian.Uint32(d.Data[dlmmPositionHigh:])), nil
}

// dlmmBin returns a bin's bytes for writing; nil without its array.
func dlmmBin(x *machine, arrays []ref, pool Key, bin int32) []byte {
	n := dlmmNumber(bin)
	r, ok := dlmmArray(x, arrays, pool, n)
	if !ok {
		return nil
	}
	return x.mutable(r).Data[layout.DLMMBins+layout.DLMMBinSize*int(bin-n*layout.DLMMArrayBins):]
}

// dlmmMark notes in the pool whether an array holds something.
func dlmmMark(x *machine, pool ref, arrays []ref, number int32) {
	r, _ := dlmmArray(x, arrays, x.key(pool), number)
	holds := false
	for d := x.acc(r).Data[layout.DLMMBins:]; len(d) >= layout.DLMMBinSize; d = d[layout.DLMMBinSize:] {
		holds = holds || !getWide(d).IsZero()
	}
	bit := number + dlmmWindow
	word := x.mutable(pool).Data[layout.DLMMBitmap+bit/8:]
	if word[0] &^= 1 << (bit % 8); holds {
		word[0] |= 1 << (bit % 8)
	}
}

// dlmmShare is a position's share of a bin, and that of all positions in a bin.
func dlmmShare(position []byte, low, bin int32) []byte { return position[72+16*(bin-low):] }

func dlmmSupply(bin []byte) []byte { return bin[32:] }

// dlmmAddLiquidity runs add_liquidity_by_strategy2(amount x, amount y, active bin, slippage, lowest
// bin, highest bin, strategy). Here it spreads x evenly over the bins from the active one up and y
// over those down from it, into bins that hold nothing: a bin has one owner. Behind the accounts of
// dlmmPosition: event authority, program, then bin arrays.
func dlmmAddLiquidity(x *machine, f *frame) error {
	const fixed = 14
	x.log("Program log: Instruction: AddLiquidityByStrategy2")
	a := f.accs
	lowest, highest, err := dlmmPosition(x, a)
	if err != nil {
		return err
	}
	number := func(at int) int32 { return int32(binary.LittleEndian.Uint32(f.data[at:])) }
	low, high := number(32), number(36)
	active := int32(binary.LittleEndian.Uint32(x.acc(a[1]).Data[layout.DLMMActive:]))
	if low < lowest || high > highest || active < low || active > high {
		return failCustom(dlmmInvalidBin)
	}
	each := [2]uint64{binary.LittleEndian.Uint64(f.data[8:]) / uint64(high-active+1), binary.LittleEndian.Uint64(f.data[16:]) / uint64(active-low+1)}
	for bin := low; bin <= high; bin++ {
		raw := dlmmBin(x, a[fixed:], x.key(a[1]), bin)
		if raw == nil || !getWide(raw).IsZero() || !getWide(dlmmSupply(raw)).IsZero() {
			return failCustom(dlmmInvalidBin)
		}
		putWide(raw[16:], dlmmPriceAt(bin, dlmmStep))
		binary.LittleEndian.PutUint64(dlmmSupply(raw), 1)
		binary.LittleEndian.PutUint64(dlmmShare(x.mutable(a[0]).Data, lowest, bin), 1)
		if bin >= active {
			binary.LittleEndian.PutUint64(raw, each[0])
		}
		if bin <= active {
			binary.LittleEndian.PutUint64(raw[8:], each[1])
		}
	}
	for n := dlmmNumber(low); n <= dlmmNumber(high); n++ {
		dlmmMark(x, a[1], a[fixed:], n)
	}
	amounts := [2]uint64{each[0] * uint64(high-active+1), each[1] * uint64(active-low+1)}
	for side, amount := range amounts {
		if err := cpmmTransfer(x, f, a[3+side], a[5+side], a[9], a[10+side], a[7+side], amount); err != nil {
			return err
		}
	}
	return dlmmTell(x, f, dlmmAdded, amounts, a[12])
}

// dlmmTell emits AddLiquidity or RemoveLiquidity: pool, user, position, amounts, active bin.
func dlmmTell(x *machine, f *frame, event [8]byte, amounts [2]uint64, authority ref) error {
	a := f.accs
	data := append(append([]byte(nil), anchorEventPrefix[:]...), event[:]...)
	for _, r := range []ref{a[1], a[9], a[0]} {
		key := x.key(r)
		data = append(data, key[:]...)
	}
	data = layout.AppendU64(layout.AppendU64(data, amounts[0]), amounts[1])
	data = append(data, x.acc(a[1]).Data[layout.DLMMActive:][:4]...)
	if x.key(authority) != dlmmEvents {
		return failCustom(anchorConstraintSeeds)
	}
	return x.call(f, DLMMProgram, []ref{{idx: authority.idx, signer: true}}, data)
}

// dlmmRemoveLiquidity runs remove_liquidity_by_range2(lowest bin, highest bin, 10,000: all of it).
// Behind the accounts of dlmmPosition: memo, event authority, program, then bin arrays.
func dlmmRemoveLiquidity(x *machine, f *frame) error {
	const fixed = 15
	x.log("Program log: Instruction: RemoveLiquidityByRange2")
	a := f.accs
	lowest, highest, err := dlmmPosition(x, a)
	if err != nil {
		return err
	}
	low, high := int32(binary.LittleEndian.Uint32(f.data[8:])), int32(binary.LittleEndian.Uint32(f.data[12:]))
	if low != lowest || high != highest || binary.LittleEndian.Uint16(f.data[16:]) != 10_000 {
		return failCustom(dlmmInvalidBin)
	}
	var sums [2]uint64
	for bin := low; bin <= high; bin++ {
		raw := dlmmBin(x, a[fixed:], x.key(a[1]), bin)
		if raw == nil {
			return failCustom(dlmmInvalidBin)
		}
		share := dlmmShare(x.mutable(a[0]).Data, low, bin)
		if getWide(share).IsZero() {
			continue
		}
		for side := range sums {
			sums[side] += binary.LittleEndian.Uint64(raw[8*side:])
		}
		clear(share[:16])
		clear(raw[:16])
		clear(dlmmSupply(raw)[:16])
	}
	for n := dlmmNumber(low); n <= dlmmNumber(high); n++ {
		dlmmMark(x, a[1], a[fixed:], n)
	}
	for side, sum := range sums {
		if err := cpmmTransfer(x, f, a[5+side], a[3+side], ref{idx: a[1].idx, signer: true}, a[10+side], a[7+side], sum); err != nil {
			return err
		}
	}
	return dlmmTell(x, f, dlmmRemoved, sums, a[13])
}
