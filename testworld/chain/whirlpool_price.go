package chain

import (
	"math/big"

	"github.com/holiman/uint256"
)

// whirlLast is the highest tick of a Whirlpool; the lowest is its opposite.
const whirlLast = 443_636

// whirlUp are 2⁹⁶·1.0001^(2^(i-1)), and whirlDown are 2⁶⁴/1.0001^(2^(i-1)), rounded down: those of
// the program (whirlpools, math/tick_math.rs).
var whirlUp, whirlDown = whirlFactors()

func whirlFactors() (up, down [19]*uint256.Int) {
	const precision = 512 // bits; squaring 18 times loses fewer than 20 of them
	float := func() *big.Float { return new(big.Float).SetPrec(precision) }
	factor := float().Quo(float().SetInt64(10_001), float().SetInt64(10_000))
	factor.Sqrt(factor)
	whole := func(f *big.Float, shift int) *uint256.Int {
		n, _ := float().SetMantExp(f, shift).Int(nil)
		return uint256.MustFromBig(n)
	}
	for i := range up {
		up[i], down[i] = whole(factor, 96), whole(float().Quo(float().SetInt64(1), factor), 64)
		factor = float().Mul(factor, factor)
	}
	return up, down
}

// whirlPriceAt returns the square root price of a tick, times 2⁶⁴.
func whirlPriceAt(tick int32) *uint256.Int {
	factors, shift := &whirlUp, uint(96)
	if tick < 0 {
		factors, shift = &whirlDown, 64
	}
	ratio := new(uint256.Int).Lsh(uint256.NewInt(1), shift)
	for i, rest := 0, uint32(max(tick, -tick)); rest != 0; i, rest = i+1, rest>>1 {
		if rest&1 == 1 {
			ratio.Rsh(ratio.Mul(ratio, factors[i]), shift)
		}
	}
	return ratio.Rsh(ratio, shift-64)
}

// whirlTickAt returns the highest tick whose price is not above one, by bisection.
func whirlTickAt(price *uint256.Int) int32 {
	low, high := int32(-whirlLast), int32(whirlLast+1)
	for high-low > 1 {
		if middle := (low + high) >> 1; whirlPriceAt(middle).Gt(price) {
			high = middle
		} else {
			low = middle
		}
	}
	return low
}
