package chain

import (
	"encoding/binary"

	"github.com/holiman/uint256"

	"github.com/mintlake/mintlake/testworld/layout"
)

// Orca Whirlpool: places of a pool's keys, instructions and events, errors (whirlpools,
// state/whirlpool.rs, events, errors.rs). The chain's pools have no adaptive fee.
const (
	whirlMints  = layout.WhirlpoolMintA
	whirlVaults = layout.WhirlpoolMintA + 32
	whirlSide   = layout.WhirlpoolMintB - layout.WhirlpoolMintA

	whirlArrays = 3 // that a swap reads

	whirlZero      = 6035 // ZeroTradableAmount
	whirlTooLittle = 6036 // AmountOutBelowMinimum
	whirlTooMuch   = 6037 // AmountInAboveMaximum
	whirlNoArray   = 6038 // TickArraySequenceInvalidIndex
)

var whirlTraded = [8]byte{0xe1, 0xca, 0x49, 0xaf, 0x93, 0x2b, 0xa0, 0x96}

// whirlTick is an initialized tick, and what the liquidity gains where the price rises over it.
type whirlTick struct {
	index int32
	net   *uint256.Int
}

// whirlNumber returns the number of the array of a tick.
func whirlNumber(tick, spacing int32) int32 {
	width := layout.WhirlpoolArrayTicks * spacing
	if tick < 0 {
		return -((-tick-1)/width + 1)
	}
	return tick / width
}

// whirlSequence returns the numbers of the three arrays of a swap. A rising price looks for ticks
// from one spacing above on.
func whirlSequence(pool []byte, in int) (numbers []int32) {
	spacing := int32(binary.LittleEndian.Uint16(pool[layout.WhirlpoolSpacing:]))
	tick, step := int32(binary.LittleEndian.Uint32(pool[layout.WhirlpoolTickAt:])), int32(-1)
	if in == 1 {
		tick, step = tick+spacing, 1
	}
	for n := whirlNumber(tick, spacing); len(numbers) < whirlArrays; n += step {
		if n < whirlNumber(-whirlLast, spacing) || n > whirlNumber(whirlLast, spacing) {
			break
		}
		numbers = append(numbers, n)
	}
	return numbers
}

// whirlWay is the ticks that a swap may meet, in their order: the initialized ones of its arrays,
// and the last of these arrays' ticks.
func whirlWay(pool []byte, in int, array func(number int32) (ticks []whirlTick, named bool)) (way []whirlTick) {
	spacing := int32(binary.LittleEndian.Uint16(pool[layout.WhirlpoolSpacing:]))
	tick := int32(binary.LittleEndian.Uint32(pool[layout.WhirlpoolTickAt:]))
	end, some := int32(0), false
	for _, n := range whirlSequence(pool, in) {
		ticks, named := array(n)
		if !named {
			break
		}
		if end, some = n*layout.WhirlpoolArrayTicks*spacing, true; in == 1 {
			end += layout.WhirlpoolArrayTicks*spacing - 1
		}
		for i := range ticks {
			t := ticks[i]
			if in == 0 {
				t = ticks[len(ticks)-1-i]
			}
			if (in == 0) == (t.index <= tick) {
				way = append(way, t)
			}
		}
	}
	if end = min(max(end, -whirlLast), whirlLast); some && (len(way) == 0 || way[len(way)-1].index != end) {
		way = append(way, whirlTick{end, new(uint256.Int)})
	}
	return way
}

// whirlSwap computes a swap on a pool along a way. The steps are those of CLMM. The code is 0, or
// the program's error.
func whirlSwap(pool []byte, in int, amount uint64, exactIn bool, way []whirlTick) (t clmmTrade, code uint32) {
	t = clmmTrade{
		in: in, exactIn: exactIn, rate: uint64(binary.LittleEndian.Uint16(pool[layout.WhirlpoolRate:])), rest: amount,
		price: getWide(pool[layout.WhirlpoolPrice:]), liquidity: getWide(pool[layout.WhirlpoolLiquidity:]),
		tick: int32(binary.LittleEndian.Uint32(pool[layout.WhirlpoolTickAt:])),
	}
	if amount == 0 {
		return t, whirlZero
	}
	for ; t.rest > 0; way = way[1:] {
		if len(way) == 0 {
			return t, whirlNoArray
		}
		target, from := whirlPriceAt(way[0].index), t.price
		switch t.step(target); {
		case t.price.Eq(target):
			net := way[0].net
			if t.tick = way[0].index; in == 0 {
				t.tick--
				net = new(uint256.Int).Neg(net)
			}
			t.liquidity = new(uint256.Int).Add(t.liquidity, net)
		case !t.price.Eq(from):
			t.tick = whirlTickAt(t.price)
		}
	}
	return t, 0
}

// whirlTicks reads the ticks of an array; none of one that does not exist, which the program takes
// for one without ticks.
func whirlTicks(a *Account, spacing int32) (ticks []whirlTick) {
	if a == nil || a.Owner != WhirlpoolProgram {
		return nil
	}
	start, read, ok := layout.WhirlpoolTicks(a.Data)
	if !ok {
		return nil
	}
	for _, t := range read {
		net := &uint256.Int{t.Net[0], t.Net[1]}
		if net[1]>>63 == 1 {
			net[2], net[3] = ^uint64(0), ^uint64(0)
		}
		ticks = append(ticks, whirlTick{start + int32(t.Place)*spacing, net})
	}
	return ticks
}

// runWhirlpool runs swap_v2, two_hop_swap_v2, and what makes and ends pools.
func runWhirlpool(x *machine, f *frame) error {
	x.used += 45_000
	if len(f.data) < 8 {
		return failCustom(anchorFallbackNotFound)
	}
	if err, ok := whirlPool(x, f); ok {
		return err
	}
	switch [8]byte(f.data[:8]) {
	case layout.WhirlpoolSwapV2:
		return whirlSwapV2(x, f)
	case whirlTwoHopV2:
		return whirlTwoHops(x, f)
	}
	return failCustom(anchorFallbackNotFound)
}

// whirlSwapV2 runs swap_v2(amount, threshold, price limit, exact in, a to b, further accounts)
// without a price limit and further accounts. Accounts: program of a, program of b, memo, user,
// pool, mint a, mint b, the user's a, vault a, the user's b, vault b, three tick arrays, oracle.
func whirlSwapV2(x *machine, f *frame) error {
	const accounts, exactIn, aToB, size = 15, 40, 41, 43
	if len(f.data) < size || !getWide(f.data[24:]).IsZero() {
		return failCustom(anchorFallbackNotFound)
	}
	if err := f.need(accounts); err != nil {
		return failCustom(anchorNotEnoughKeys)
	}
	x.log("Program log: Instruction: SwapV2")
	a := f.accs
	if !a[3].signer {
		return failCustom(anchorNotSigner)
	}
	in := whirlIn(f.data[aToB])
	hop := whirlHop{pool: a[4], in: in, mints: [2]ref{a[5], a[6]}, programs: [2]ref{a[0], a[1]}, vaults: [2]ref{a[8], a[10]}, arrays: a[11:14]}
	amount, threshold := binary.LittleEndian.Uint64(f.data[8:]), binary.LittleEndian.Uint64(f.data[16:])
	t, err := hop.trade(x, amount, f.data[exactIn] != 0)
	switch {
	case err != nil:
		return err
	case t.exactIn && t.sends < threshold:
		return failCustom(whirlTooLittle)
	case !t.exactIn && t.pays > threshold:
		return failCustom(whirlTooMuch)
	}
	hop.move(x, &t)
	if err := hop.transfer(x, f, in, a[7+2*in], hop.vaults[in], a[3], t.pays); err != nil {
		return err
	}
	return hop.transfer(x, f, 1-in, hop.vaults[1-in], a[9-2*in], hop.signer(), t.sends)
}

// whirlIn is the side that is sold: a if the flag a_to_b is set.
func whirlIn(aToB byte) int {
	if aToB != 0 {
		return 0
	}
	return 1
}

// whirlHop is a swap on one pool: its accounts by side, and the side that is sold.
type whirlHop struct {
	pool                    ref
	in                      int
	mints, programs, vaults [2]ref
	arrays                  []ref
}

// trade checks the accounts and computes the swap.
func (h *whirlHop) trade(x *machine, amount uint64, exactIn bool) (t clmmTrade, err error) {
	pool := x.acc(h.pool)
	if pool.Owner != WhirlpoolProgram || len(pool.Data) != layout.WhirlpoolSize {
		return t, failCustom(anchorWrongOwner)
	}
	for side := range 2 {
		if x.key(h.mints[side]) != keyAt(pool.Data, whirlMints+whirlSide*side) || x.key(h.vaults[side]) != keyAt(pool.Data, whirlVaults+whirlSide*side) ||
			x.key(h.programs[side]) != x.acc(h.mints[side]).Owner {
			return t, failCustom(anchorConstraintAddress)
		}
	}
	way := whirlWay(pool.Data, h.in, func(number int32) ([]whirlTick, bool) {
		key := x.derived.array(x.key(h.pool), number, whirlArrayKey)
		for _, r := range h.arrays {
			if x.key(r) == key {
				return whirlTicks(x.acc(r), whirlSpacing), true
			}
		}
		return nil, false
	})
	t, code := whirlSwap(pool.Data, h.in, amount, exactIn, way)
	if code != 0 {
		return t, failCustom(code)
	}
	return t, nil
}

// move moves the price, and logs Traded: pool, direction, the square roots of both prices, amounts,
// transfer fees, the fee.
func (h *whirlHop) move(x *machine, t *clmmTrade) {
	pool := x.key(h.pool)
	event := append(append(append([]byte(nil), whirlTraded[:]...), pool[:]...), byte(1-t.in))
	event = append(event, x.acc(h.pool).Data[layout.WhirlpoolPrice:layout.WhirlpoolPrice+16]...)
	d := x.mutable(h.pool).Data
	putWide(d[layout.WhirlpoolLiquidity:], t.liquidity)
	putWide(d[layout.WhirlpoolPrice:], t.price)
	binary.LittleEndian.PutUint32(d[layout.WhirlpoolTickAt:], uint32(t.tick))
	event = layout.AppendU64(layout.AppendU64(event, t.price[0]), t.price[1])
	for _, n := range []uint64{t.pays, t.sends, 0, 0, t.fee, 0} {
		event = layout.AppendU64(event, n)
	}
	x.log("Program data: " + base64Std(event))
}

// signer is the pool, which owns its vaults.
func (h *whirlHop) signer() ref { return ref{idx: h.pool.idx, signer: true} }

// transfer moves tokens of one side.
func (h *whirlHop) transfer(x *machine, f *frame, side int, from, to, authority ref, amount uint64) error {
	return cpmmTransfer(x, f, from, to, authority, h.programs[side], h.mints[side], amount)
}
