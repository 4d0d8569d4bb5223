package chain

import "math/bits"

// isqrt is floor(sqrt(a·b)), the liquidity that a new pool mints.
func isqrt(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	var root uint64
	for bit := uint64(1) << 63; bit > 0; bit >>= 1 {
		try := root | bit
		h, l := bits.Mul64(try, try)
		if h < hi || h == hi && l <= lo {
			root = try
		}
	}
	return root
}

// mulDiv is floor(a·b/c); c must exceed the high half of a·b.
func mulDiv(a, b, c uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	q, _ := bits.Div64(hi, lo, c)
	return q
}

// mulDivUp is ceil(a·b/c); ok is false if c is 0 or the result does not fit 64 bits.
func mulDivUp(a, b, c uint64) (q uint64, ok bool) {
	hi, lo := bits.Mul64(a, b)
	if c == 0 || hi >= c {
		return 0, false
	}
	q, rem := bits.Div64(hi, lo, c)
	if rem > 0 {
		q++
	}
	return q, q > 0 || rem == 0
}
