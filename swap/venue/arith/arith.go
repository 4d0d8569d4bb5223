// Package arith is the integer arithmetic of venues: intermediates of 128 bits, no allocation.
//
// Guarantees: a result is exactly the stated one, rounding included, or ok is false.
package arith

import "math/bits"

// MulDiv returns a·b/d rounded down. ok is false if that exceeds 64 bits or d is 0.
func MulDiv(a, b, d uint64) (q uint64, ok bool) {
	hi, lo := bits.Mul64(a, b)
	if hi >= d {
		return 0, false
	}
	q, _ = bits.Div64(hi, lo, d)
	return q, true
}

// MulDivUp returns a·b/d rounded up. ok is false if that exceeds 64 bits or d is 0.
func MulDivUp(a, b, d uint64) (q uint64, ok bool) {
	hi, lo := bits.Mul64(a, b)
	if hi >= d {
		return 0, false
	}
	q, rest := bits.Div64(hi, lo, d)
	if rest == 0 {
		return q, true
	}
	return q + 1, q+1 != 0
}

// ImpactBps returns the price impact of a constant product: net/(reserve+net) in basis points,
// rounded up. net is the amount that is sold, without fees; reserve is the pool's reserve of the
// same token.
func ImpactBps(net, reserve uint64) uint64 {
	sum, carry := bits.Add64(reserve, net, 0)
	if carry != 0 || sum == 0 {
		return 10_000
	}
	bps, _ := MulDivUp(net, 10_000, sum)
	return bps
}
