package arith

import (
	"math/bits"

	"github.com/holiman/uint256"
)

// Divide sets q to n/d rounded down, or to 0 if d is 0, and returns whether there is a remainder. q
// may be n or d.
//
// Nearly all quotients in quotes have one word: amounts, basis points, moves of a price. A division
// of the leading bits finds them in less time than a long division.
func Divide(q, n, d *uint256.Int) (remains bool) {
	var left, part uint256.Int
	if d.IsUint64() {
		if n[1] < d[0] && n[2]|n[3] == 0 {
			word, remainder := bits.Div64(n[1], n[0], d[0])
			q.SetUint64(word)
			return remainder != 0
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
	// above is rounded up and is more than 2^62, so word is too small by six at most. The loop
	// below corrects that.
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

// DivideUp sets q to n/d rounded up, or to 0 if d is 0. q may be n or d.
func DivideUp(q, n, d *uint256.Int) {
	if Divide(q, n, d) {
		q.AddUint64(q, 1)
	}
}
