package clmm

import (
	"math"
	"math/bits"

	"github.com/holiman/uint256"

	"github.com/mintlake/mintlake/swap/venue/arith"
)

// Ticks number the prices: √P at a tick is 1.0001^(tick/2), in Q64.64. minTick has the lowest price
// and maxTick the highest (raydium-clmm, libraries/tick_math.rs).
const (
	minTick = -443_636
	maxTick = 443_636
)

// minPrice and maxPrice are √P at minTick and maxTick.
var minPrice, maxPrice = priceAt(minTick), priceAt(maxTick)

// tickFactors are 2^64/1.0001^(2^(i-1)), rounded as in the program (libraries/tick_math.rs,
// get_sqrt_price_at_tick).
var tickFactors = [19]uint64{
	0xfffcb933bd6fb800, 0xfff97272373d4000, 0xfff2e50f5f657000, 0xffe5caca7e10f000, 0xffcb9843d60f7000, 0xff973b41fa98e800, 0xff2ea16466c9b000,
	0xfe5dee046a9a3800, 0xfcbe86c7900bb000, 0xf987a7253ac65800, 0xf3392b0822bb6000, 0xe7159475a2caf000, 0xd097f3bdfd2f2000, 0xa9f746462d9f8000,
	0x70d869a156f31c00, 0x31be135f97ed3200, 0x09aa508b5b85a500, 0x005d6af8dedc582c, 0x00002216e584f5fa,
}

// priceAt returns √P at a tick from minTick to maxTick. For a negative tick it is the product of
// the factors for the bits of -tick, each multiplication rounded down. For a positive tick it is
// (2^128-1) divided by that product for tick.
func priceAt(tick int32) arith.U128 {
	ratio := arith.U128{Hi: 1}
	for i, rest := 0, uint32(max(tick, -tick)); rest != 0; i, rest = i+1, rest>>1 {
		if rest&1 == 0 {
			continue
		}
		carry, _ := bits.Mul64(ratio.Lo, tickFactors[i])
		hi, lo := bits.Mul64(ratio.Hi, tickFactors[i])
		lo, over := bits.Add64(lo, carry, 0)
		ratio = arith.U128{Lo: lo, Hi: hi + over}
	}
	if tick <= 0 {
		return ratio
	}
	all, divisor := uint256.Int{math.MaxUint64, math.MaxUint64}, ratio.Wide()
	return arith.Narrow(all.Div(&all, &divisor))
}

// tickAt returns the highest tick whose price is not above price, which is from minPrice to
// maxPrice. A logarithm of floating-point numbers gives an estimate, and comparisons of whole
// numbers correct it.
func tickAt(price arith.U128) int32 {
	ratio := float64(price.Hi) + float64(price.Lo)*0x1p-64
	tick := min(max(int32(2*math.Log(ratio)/math.Log(1.0001)), minTick), maxTick)
	for tick > minTick && price.Less(priceAt(tick)) {
		tick--
	}
	for tick < maxTick && !price.Less(priceAt(tick+1)) {
		tick++
	}
	return tick
}

// floorDiv returns a/b rounded down. b is above 0.
func floorDiv(a, b int32) int32 {
	if q := a / b; a%b >= 0 {
		return q
	}
	return a/b - 1
}
