package dlmm

import (
	"math"
	"math/bits"

	"github.com/holiman/uint256"

	"github.com/mintlake/mintlake/swap/venue/arith"
)

// powers are the powers 2^0 to 2^18 of 1/(1+step/10,000), in Q64.64, each rounded down. The price
// of a bin is a product of them (commons/src/math/{price_math,u64x64_math}.rs).
type powers [19]arith.U128

// powersOf makes the table of a bin step, which is in basis points and above 0. So all powers are
// below 1.
func powersOf(step uint16) (p powers) {
	fraction, _ := bits.Div64(uint64(step)%binWeight, 0, binWeight)
	p[0] = inverse(arith.U128{Lo: fraction, Hi: 1 + uint64(step)/binWeight})
	for i := 1; i < len(p); i++ {
		p[i] = times(p[i-1], p[i-1])
	}
	return p
}

// inverse returns (2^128-1)/u rounded down.
func inverse(u arith.U128) arith.U128 {
	all, divisor := uint256.Int{math.MaxUint64, math.MaxUint64}, u.Wide()
	return arith.Narrow(all.Div(&all, &divisor))
}

// times returns a·b/2^64 rounded down. a and b are Q64.64 numbers of at most 1.
func times(a, b arith.U128) arith.U128 {
	x, y := a.Wide(), b.Wide()
	x.Mul(&x, &y)
	return arith.Narrow(x.Rsh(&x, 64))
}

// at returns the price of a bin: how much token y one token x costs, in Q64.64. It is 0 if Q64.64
// cannot express the price.
func (p *powers) at(bin int32) arith.U128 {
	result := arith.U128{Hi: 1}
	for i, rest := 0, uint32(max(bin, -bin)); rest != 0; i, rest = i+1, rest>>1 {
		if rest&1 != 0 {
			result = times(result, p[i])
		}
	}
	if result.IsZero() {
		return arith.U128{}
	}
	if bin > 0 {
		return inverse(result)
	}
	return result
}
