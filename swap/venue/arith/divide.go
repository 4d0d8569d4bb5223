package arith

import (
	"math/bits"

	"github.com/holiman/uint256"
)

// Divide sets q to n/d rounded down, to 0 if d is 0, and returns whether there is a rest. q may be
// n or d.
//
// Nearly all quotients of quotes have one word: amounts, basis points, moves of a price. A
// division of the leading bits finds them in less time than a long division.
func Divide(q, n, d *uint256.Int) (rest bool) {
	var left, part uint256.Int
	if d.IsUint64() {
		if n[1] < d[0] && n[2]|n[3] == 0 {
			word, short := bits.Div64(n[1], n[0], d[0])
			q.SetUint64(word)
			return short != 0
		}
		q.DivMod(n, d, &left)
		return !left.IsZero()
	}
	shift := uint(d.BitLen() - 63)
	above := part.Rsh(d, shift).Uint64() + 1 // the leading 63 bits of d, rounded up
	part.Rsh(n, shift)
	if part[1] >= above || part[2]|part[3] != 0 {
		q.DivMod(n, d, &left)
		return !left.IsZero()
	}
	// As d is rounded up, and has 62 bits at least, this is too small by six at most.
	word, _ := bits.Div64(part[1], part[0], above)
	part.SetUint64(word)
	left.Mul(&part, d)
	left.Sub(n, &left)
	for !left.Lt(d) {
		left.Sub(&left, d)
		part.AddUint64(&part, 1)
	}
	*q = part
	return !left.IsZero()
}

// DivideUp sets q to n/d rounded up, to 0 if d is 0. q may be n or d.
func DivideUp(q, n, d *uint256.Int) {
	if Divide(q, n, d) {
		q.AddUint64(q, 1)
	}
}
