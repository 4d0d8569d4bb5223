package arith

import (
	"encoding/binary"
	"math/bits"

	"github.com/holiman/uint256"
)

// U128 is a number of 128 bits, in the form in which accounts and pools keep it. Arithmetic is done
// with uint256.Int.
type U128 struct{ Lo, Hi uint64 }

// Read128 reads a number in little endian. data has at least 16 bytes.
func Read128(data []byte) U128 {
	return U128{binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[8:])}
}

// Append appends the number in little endian.
func (u U128) Append(data []byte) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(data, u.Lo), u.Hi)
}

// Negative returns 2^128-u. If u is a negative number in two's complement, that is its absolute
// value.
func (u U128) Negative() U128 {
	lo, borrow := bits.Sub64(0, u.Lo, 0)
	hi, _ := bits.Sub64(0, u.Hi, borrow)
	return U128{lo, hi}
}

// Wide returns the number as a uint256.Int, for arithmetic.
func (u U128) Wide() uint256.Int { return uint256.Int{u.Lo, u.Hi} }

// Narrow returns the low 128 bits of a number.
func Narrow(n *uint256.Int) U128 { return U128{n[0], n[1]} }

// IsZero returns whether the number is 0.
func (u U128) IsZero() bool { return u == U128{} }

// Less returns whether u is below v.
func (u U128) Less(v U128) bool { return u.Hi < v.Hi || u.Hi == v.Hi && u.Lo < v.Lo }

// Shortfall returns by how much out is less than spot, in basis points of spot, rounded up; 0 if it
// is not less. spot is the amount that the price before a trade would give.
func Shortfall(spot *uint256.Int, out uint64) (bps uint64) {
	var less, result uint256.Int
	less.SetUint64(out)
	if !less.Lt(spot) {
		return 0
	}
	less.Sub(spot, &less)
	if _, over := result.MulOverflow(&less, uint256.NewInt(10_000)); over {
		return 10_000 // out is nothing beside such a spot
	}
	DivideUp(&result, &result, spot)
	return result.Uint64()
}

// RootImpact returns by how much an execution at the price √P₀·√P₁ is worse than the price √P₀², in
// basis points, rounded up. before is √P₀ and after is √P₁, each of 128 bits at most.
func RootImpact(before, after *uint256.Int) (bps uint64) {
	less, more := before, after
	if more.Lt(less) {
		less, more = more, less
	}
	var result uint256.Int
	result.Sub(more, less)
	result.Mul(&result, uint256.NewInt(10_000))
	DivideUp(&result, &result, more)
	return result.Uint64()
}
