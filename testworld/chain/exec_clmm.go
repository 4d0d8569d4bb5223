package chain

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/holiman/uint256"

	"github.com/mintlake/mintlake/testworld/layout"
)

// Raydium CLMM: places in PoolState, and errors (raydium-clmm, states/pool.rs, error.rs). The
// chain's pools are plain ones: the fee is on the input, and no limit orders wait at ticks.
const (
	clmmConfigAt = 9
	clmmMints    = 73
	clmmVaults   = 137
	clmmObserver = 201
	clmmSpaced   = 235
	clmmL        = layout.CLMMPoolLiquidity
	clmmPrice    = clmmL + 16
	clmmTick     = clmmL + 32
	clmmBitmap   = 904

	clmmNoLiquidity = 6016 // LiquidityInsufficient
	clmmTooLittle   = 6018 // TooLittleOutputReceived
	clmmTooMuch     = 6019 // TooMuchInputPaid
	clmmTooSmall    = 6022 // TooSmallInputOrOutputAmount
	clmmNoArray     = 6023 // NotEnoughTickArrayAccount

	clmmSpacing = 10
	clmmRate    = 500 // of 10⁶
	clmmWhole   = 1_000_000
	// clmmArray is how many ticks an array of the chain's pools covers.
	clmmArray = layout.CLMMArrayTicks * clmmSpacing
	// clmmArrays is how many arrays on either side of tick 0 the pool has a bit for.
	clmmArrays = 512
)

// clmmFactors are 2⁶⁴/1.0001^(2^(i-1)) as the program has them (libraries/tick_math.rs).
var clmmFactors = [19]uint64{
	0xfffcb933bd6fb800, 0xfff97272373d4000, 0xfff2e50f5f657000, 0xffe5caca7e10f000, 0xffcb9843d60f7000, 0xff973b41fa98e800, 0xff2ea16466c9b000,
	0xfe5dee046a9a3800, 0xfcbe86c7900bb000, 0xf987a7253ac65800, 0xf3392b0822bb6000, 0xe7159475a2caf000, 0xd097f3bdfd2f2000, 0xa9f746462d9f8000,
	0x70d869a156f31c00, 0x31be135f97ed3200, 0x09aa508b5b85a500, 0x005d6af8dedc582c, 0x00002216e584f5fa,
}

// clmmPriceAt returns the square root price of a tick, times 2⁶⁴.
func clmmPriceAt(tick int32) *uint256.Int {
	ratio := new(uint256.Int).Lsh(uint256.NewInt(1), 64)
	for i, rest := 0, uint32(max(tick, -tick)); rest != 0; i, rest = i+1, rest>>1 {
		if rest&1 == 1 {
			ratio.Rsh(ratio.Mul(ratio, uint256.NewInt(clmmFactors[i])), 64)
		}
	}
	if tick > 0 {
		all := new(uint256.Int).Lsh(uint256.NewInt(1), 128)
		ratio.Div(all.SubUint64(all, 1), ratio)
	}
	return ratio
}

// clmmTickAt returns the highest tick whose price is not above one, by bisection.
func clmmTickAt(price *uint256.Int) int32 {
	low, high := int32(-443_636), int32(443_636)
	for high-low > 1 {
		if middle := (low + high) >> 1; clmmPriceAt(middle).Gt(price) {
			high = middle
		} else {
			low = middle
		}
	}
	return low
}

// clmmBetween returns L·2⁶⁴·(√P₁−√P₀)/(√P₀·√P₁) of token 0, or L·(√P₁−√P₀)/2⁶⁴ of token 1; the
// highest number of 64 bits if it has more.
func clmmBetween(liquidity, from, to *uint256.Int, of0, up bool) uint64 {
	low, high := from, to
	if high.Lt(low) {
		low, high = high, low
	}
	part := new(uint256.Int).Sub(high, low)
	part.Mul(part, liquidity)
	divisor := new(uint256.Int).Lsh(uint256.NewInt(1), 64)
	if of0 {
		part.Lsh(part, 64)
		divisor.Mul(low, high)
	}
	if up {
		part = ceilDiv(part, divisor)
	} else {
		part.Div(part, divisor)
	}
	if !part.IsUint64() {
		return math.MaxUint64 // more than any order
	}
	return part.Uint64()
}

// clmmTrade is a swap while it goes from tick to tick, and what it leaves.
type clmmTrade struct {
	in               int // the token that is sold
	exactIn          bool
	rate             uint64
	rest             uint64
	pays, sends, fee uint64
	price, liquidity *uint256.Int
	tick             int32
}

// clmmNextTick finds the next initialized tick in the direction, and its net liquidity. array
// returns the data of an array by its number; nil if the instruction has it not.
func (t *clmmTrade) clmmNextTick(pool []byte, array func(number int32) []byte) (next int32, net *uint256.Int, code uint32) {
	step := int32(1)
	if t.in == 0 {
		step = -1
	}
	spacing := int32(binary.LittleEndian.Uint16(pool[clmmSpaced:]))
	for n := clmmNumber(t.tick, spacing); n >= -clmmArrays && n < clmmArrays; n += step {
		bit := uint(n + clmmArrays)
		if binary.LittleEndian.Uint64(pool[clmmBitmap+8*(bit/64):])>>(bit%64)&1 == 0 {
			continue
		}
		data := array(n)
		if data == nil {
			return 0, nil, clmmNoArray
		}
		for i := range int32(layout.CLMMArrayTicks) {
			at := i
			if t.in == 0 {
				at = layout.CLMMArrayTicks - 1 - i
			}
			raw := data[44+168*at:]
			index := (n*layout.CLMMArrayTicks + at) * spacing
			if getWide(raw[20:]).IsZero() || t.in == 0 && index > t.tick || t.in == 1 && index <= t.tick {
				continue
			}
			net = getWide(raw[4:])
			if net[1]>>63 == 1 {
				net[2], net[3] = ^uint64(0), ^uint64(0)
			}
			return index, net, 0
		}
	}
	return 0, nil, clmmNoLiquidity
}

// clmmNumber returns the number of the array of a tick.
func clmmNumber(tick, spacing int32) int32 {
	if tick < 0 {
		return -((-tick-1)/(layout.CLMMArrayTicks*spacing) + 1)
	}
	return tick / (layout.CLMMArrayTicks * spacing)
}

// run makes the swap. The code is 0, or the program's error.
func (t *clmmTrade) run(pool []byte, array func(number int32) []byte) (code uint32) {
	for t.rest > 0 {
		next, net, code := t.clmmNextTick(pool, array)
		if code != 0 {
			return code
		}
		target := clmmPriceAt(next)
		if from := t.price; !from.Eq(target) {
			if t.step(target); !t.price.Eq(target) {
				if !t.price.Eq(from) {
					t.tick = clmmTickAt(t.price)
				}
				continue
			}
		}
		if t.tick = next; t.in == 0 {
			t.tick--
			net.Neg(net)
		}
		t.liquidity.Add(t.liquidity, net)
	}
	return 0
}

// step moves the price to target, or as far as what is left of the order suffices.
func (t *clmmTrade) step(target *uint256.Int) {
	in, out := clmmBetween(t.liquidity, t.price, target, t.in == 0, true), clmmBetween(t.liquidity, t.price, target, t.in == 1, false)
	need, have := out, t.rest
	if t.exactIn {
		need = in
		hi, lo := bits.Mul64(t.rest, clmmWhole-t.rate)
		have, _ = bits.Div64(hi, lo, clmmWhole)
	}
	whole := have >= need
	if whole {
		t.price = target
	} else {
		from := t.price
		t.price = t.moved(have)
		in, out = clmmBetween(t.liquidity, from, t.price, t.in == 0, true), clmmBetween(t.liquidity, from, t.price, t.in == 1, false)
	}
	fee, _ := mulDivUp(in, t.rate, clmmWhole-t.rate)
	switch {
	case t.exactIn && !whole:
		fee = t.rest - in
		fallthrough
	case t.exactIn:
		t.rest -= in + fee
	default:
		out = min(out, t.rest)
		t.rest -= out
	}
	t.pays, t.sends, t.fee = t.pays+in+fee, t.sends+out, t.fee+fee
}

// moved returns the price after an amount was sold to the pool, or bought from it: √P±n·2⁶⁴/L for
// token 1, L·2⁶⁴·√P/(L·2⁶⁴±n·√P) for token 0.
func (t *clmmTrade) moved(amount uint64) *uint256.Int {
	n, scaled := uint256.NewInt(amount), new(uint256.Int).Lsh(t.liquidity, 64)
	if (t.in == 1) == t.exactIn {
		n.Lsh(n, 64)
		if t.exactIn {
			return n.Add(t.price, n.Div(n, t.liquidity))
		}
		return new(uint256.Int).Sub(t.price, ceilDiv(n, t.liquidity))
	}
	n.Mul(n, t.price)
	divisor := new(uint256.Int)
	if t.exactIn {
		divisor.Add(scaled, n)
	} else {
		divisor.Sub(scaled, n)
	}
	// The product has more than 256 bits only for more liquidity than the chain's pools have.
	return ceilDiv(scaled.Mul(scaled, t.price), divisor)
}

// clmmSwap computes a swap on a pool.
func clmmSwap(pool []byte, rate uint32, in int, amount uint64, exactIn bool, array func(number int32) []byte) (t clmmTrade, code uint32) {
	t = clmmTrade{
		in: in, exactIn: exactIn, rate: uint64(rate), rest: amount, price: getWide(pool[clmmPrice:]), liquidity: getWide(pool[clmmL:]),
		tick: int32(binary.LittleEndian.Uint32(pool[clmmTick:])),
	}
	if code = t.run(pool, array); code == 0 && (t.pays == 0 || t.sends == 0) {
		code = clmmTooSmall
	}
	return t, code
}

// runCLMM runs swap_v2 and swap_router_base_in.
func runCLMM(x *machine, f *frame) error {
	x.used += 40_000
	if len(f.data) < 8 {
		return failCustom(anchorFallbackNotFound)
	}
	switch [8]byte(f.data[:8]) {
	case layout.CLMMSwapV2:
		return clmmSwapV2(x, f)
	case clmmRouter:
		return clmmRoute(x, f)
	}
	return failCustom(anchorFallbackNotFound)
}

// clmmSwapV2 runs swap_v2(amount, threshold, price limit, exact in) without a price limit. Its
// accounts: user, config, pool, source, destination, vault in, vault out, observation, both token
// programs, memo, mint in, mint out, then tick arrays.
func clmmSwapV2(x *machine, f *frame) error {
	const fixed = 13
	if len(f.data) < 41 || !getWide(f.data[24:]).IsZero() {
		return failCustom(anchorFallbackNotFound)
	}
	if err := f.need(fixed); err != nil {
		return failCustom(anchorNotEnoughKeys)
	}
	a := f.accs
	h := clmmHop{
		user: a[0], config: a[1], pool: a[2], source: a[3], destination: a[4], vaults: [2]ref{a[5], a[6]}, observation: a[7],
		programs: [2]ref{a[8], a[9]}, mints: [2]ref{a[11], a[12]}, arrays: a[fixed:],
	}
	amount, threshold, exactIn := binary.LittleEndian.Uint64(f.data[8:]), binary.LittleEndian.Uint64(f.data[16:]), f.data[40] != 0
	t, err := h.trade(x, amount, exactIn)
	switch {
	case err != nil:
		return err
	case exactIn && t.sends < threshold:
		return failCustom(clmmTooLittle)
	case !exactIn && t.pays > threshold:
		return failCustom(clmmTooMuch)
	}
	return h.settle(x, f, &t)
}

// clmmHop is a swap on one pool: its accounts, those of what is sold first.
type clmmHop struct {
	user, config, pool, source, destination, observation ref
	vaults, programs, mints                              [2]ref
	// arrays may have other accounts, too.
	arrays []ref
}

// trade checks the accounts and computes the swap.
func (h *clmmHop) trade(x *machine, amount uint64, exactIn bool) (t clmmTrade, err error) {
	pool := x.acc(h.pool)
	if pool.Owner != CLMMProgram || len(pool.Data) != layout.CLMMPoolSize || x.acc(h.config).Owner != CLMMProgram {
		return t, failCustom(anchorWrongOwner)
	}
	in := 1
	if x.key(h.mints[0]) == keyAt(pool.Data, clmmMints) {
		in = 0
	}
	if !h.user.signer || x.key(h.config) != keyAt(pool.Data, clmmConfigAt) || x.key(h.observation) != keyAt(pool.Data, clmmObserver) {
		return t, failCustom(anchorConstraintRaw)
	}
	for i, side := range [2]int{in, 1 - in} {
		if x.key(h.vaults[i]) != keyAt(pool.Data, clmmVaults+32*side) || x.key(h.mints[i]) != keyAt(pool.Data, clmmMints+32*side) {
			return t, failCustom(anchorConstraintRaw)
		}
	}
	array := func(number int32) []byte {
		for _, r := range h.arrays {
			account := x.acc(r)
			if account.Owner == CLMMProgram && len(account.Data) == layout.CLMMArraySize && keyAt(account.Data, 8) == x.key(h.pool) &&
				int32(binary.LittleEndian.Uint32(account.Data[40:])) == number*clmmArray {
				return account.Data
			}
		}
		return nil
	}
	t, code := clmmSwap(pool.Data, binary.LittleEndian.Uint32(x.acc(h.config).Data[47:]), in, amount, exactIn, array)
	if code != 0 {
		return t, failCustom(code)
	}
	return t, nil
}

// settle moves the price and the tokens, and logs SwapEvent.
func (h *clmmHop) settle(x *machine, f *frame, t *clmmTrade) error {
	d := x.mutable(h.pool).Data
	putWide(d[clmmL:], t.liquidity)
	putWide(d[clmmPrice:], t.price)
	binary.LittleEndian.PutUint32(d[clmmTick:], uint32(t.tick))
	event := append([]byte(nil), cpmmSwapEvent[:]...)
	user := [2]ref{h.source, h.destination}
	// Pool, user, his accounts of token 0 and token 1.
	for _, r := range []ref{h.pool, h.user, user[t.in], user[1-t.in]} {
		key := x.key(r)
		event = append(event, key[:]...)
	}
	amounts, fees := [2]uint64{t.pays, t.sends}, [2]uint64{t.fee}
	if t.in == 1 {
		amounts, fees = [2]uint64{t.sends, t.pays}, [2]uint64{0, t.fee}
	}
	event = layout.AppendU64(layout.AppendU64(event, amounts[0]), 0)
	event = append(layout.AppendU64(layout.AppendU64(event, amounts[1]), 0), byte(1-t.in))
	for _, n := range []*uint256.Int{t.price, t.liquidity} {
		event = layout.AppendU64(layout.AppendU64(event, n[0]), n[1])
	}
	event = binary.LittleEndian.AppendUint32(event, uint32(t.tick))
	x.log("Program data: " + base64Std(layout.AppendU64(layout.AppendU64(event, fees[0]), fees[1])))
	if err := cpmmTransfer(x, f, h.source, h.vaults[0], h.user, h.program(x, h.mints[0]), h.mints[0], t.pays); err != nil {
		return err
	}
	return cpmmTransfer(x, f, h.vaults[1], h.destination, ref{idx: h.pool.idx, signer: true}, h.program(x, h.mints[1]), h.mints[1], t.sends)
}

// program is the token program of a mint.
func (h *clmmHop) program(x *machine, mint ref) ref {
	for _, r := range h.programs {
		if x.key(r) == x.acc(mint).Owner {
			return r
		}
	}
	return h.programs[0]
}
