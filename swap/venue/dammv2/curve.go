package dammv2

import (
	"fmt"

	"github.com/holiman/uint256"

	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// A pool has one price range. Liquidity L and square root prices √P are Q64.64; P is the price of
// token a in token b. Selling a lowers the price, selling b raises it.
//
//	Δa = L·(√P₁−√P₀)/(√P₀·√P₁)    Δb = L·(√P₁−√P₀)/2¹²⁸
//
// What the pool takes is rounded up, and what it gives is rounded down.

// move is a swap without fees.
type move struct {
	// in and out are amounts. price is the square root price after the swap.
	in, out uint64
	price   uint256.Int
}

var errRange = fmt.Errorf("%w: the price would leave the range", venue.ErrNoLiquidity)

// sellExact computes a sale of an exact amount to the pool: of a if aToB, else of b.
func (s *state) sellExact(m *move, amount uint64, aToB bool) error {
	var next, change uint256.Int
	change.SetUint64(amount)
	if aToB {
		// √P₁ = ⌈L·√P/(L+amount·√P)⌉
		change.Mul(&change, &s.price)
		change.Add(&change, &s.liquidity)
		var product uint256.Int
		arith.DivideUp(&next, product.Mul(&s.liquidity, &s.price), &change)
		if next.Lt(&s.low) {
			return errRange
		}
	} else {
		// √P₁ = √P+⌊amount·2¹²⁸/L⌋
		change.Lsh(&change, 128)
		arith.Divide(&change, &change, &s.liquidity)
		next.Add(&s.price, &change)
		if next.Gt(&s.high) {
			return errRange
		}
	}
	m.in, m.price = amount, next
	return s.amounts(&m.out, &next, !aToB, false)
}

// buyExact computes a purchase of an exact amount from the pool: of b if aToB, else of a.
func (s *state) buyExact(m *move, amount uint64, aToB bool) error {
	var next, change uint256.Int
	change.SetUint64(amount)
	if aToB {
		// √P₁ = √P−⌈amount·2¹²⁸/L⌉
		change.Lsh(&change, 128)
		var quotient uint256.Int
		arith.DivideUp(&quotient, &change, &s.liquidity)
		if !quotient.Lt(&s.price) {
			return errRange
		}
		next.Sub(&s.price, &quotient)
		if next.Lt(&s.low) {
			return errRange
		}
	} else {
		// √P₁ = ⌈L·√P/(L−amount·√P)⌉
		change.Mul(&change, &s.price)
		if !change.Lt(&s.liquidity) {
			return errRange
		}
		change.Sub(&s.liquidity, &change)
		var product uint256.Int
		arith.DivideUp(&next, product.Mul(&s.liquidity, &s.price), &change)
		if next.Gt(&s.high) {
			return errRange
		}
	}
	m.out, m.price = amount, next
	return s.amounts(&m.in, &next, aToB, true)
}

// amounts sets amount to Δa if ofA is set, else to Δb, between the pool's price and next, rounded
// up or down.
func (s *state) amounts(amount *uint64, next *uint256.Int, ofA, up bool) error {
	var difference, result uint256.Int
	if next.Lt(&s.price) {
		difference.Sub(&s.price, next)
	} else {
		difference.Sub(next, &s.price)
	}
	difference.Mul(&difference, &s.liquidity)
	var divisor uint256.Int
	if ofA {
		divisor.Mul(&s.price, next)
	} else {
		divisor.Lsh(divisor.SetOne(), 128)
	}
	if up {
		arith.DivideUp(&result, &difference, &divisor)
	} else {
		arith.Divide(&result, &difference, &divisor)
	}
	if !result.IsUint64() {
		return fmt.Errorf("%w: it would move more than 64 bits", venue.ErrTooLarge)
	}
	*amount = result.Uint64()
	return nil
}
