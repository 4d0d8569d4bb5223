package dbc

import (
	"fmt"

	"github.com/holiman/uint256"

	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// Liquidity L and square root prices √P are Q64.64; P is the price of the coin in the quote token.
//
//	Δbase = L·(√P₁−√P₀)/(√P₀·√P₁)    Δquote = L·(√P₁−√P₀)/2¹²⁸
//
// What the pool takes is rounded up, and what it gives is rounded down, in each segment.

// move is a swap without fees.
type move struct {
	in, out uint64
	price   uint256.Int
}

var (
	errEnd   = fmt.Errorf("%w: the order goes beyond the end of the curve", venue.ErrNoLiquidity)
	errLarge = fmt.Errorf("%w: it would move more than 64 bits", venue.ErrTooLarge)
)

// base returns Δbase between two prices, rounded up if up is set, else down. ok is false if it
// exceeds 64 bits.
func base(low, high, liquidity *uint256.Int, up bool) (amount uint64, ok bool) {
	var n, d uint256.Int
	n.Sub(high, low)
	n.Mul(&n, liquidity)
	d.Mul(low, high)
	return quotient(&n, &d, up)
}

// quote returns Δquote between two prices, rounded up if up is set, else down. ok is false if it
// exceeds 64 bits.
func quote(low, high, liquidity *uint256.Int, up bool) (amount uint64, ok bool) {
	var n uint256.Int
	n.Sub(high, low)
	n.Mul(&n, liquidity)
	if amount, ok = n[2], n[3] == 0; up && n[0]|n[1] != 0 {
		amount++
		ok = ok && amount != 0
	}
	return amount, ok
}

// quotient returns n/d, rounded up if up is set, else down. ok is false if it exceeds 64 bits.
func quotient(n, d *uint256.Int, up bool) (amount uint64, ok bool) {
	var q uint256.Int
	if arith.Divide(&q, n, d) && up {
		q.AddUint64(&q, 1)
	}
	return q.Uint64(), q.IsUint64()
}

// sold returns what a sale of the coin that moves the price from high down to low takes, or what it
// gives if gives is set.
func sold(low, high, liquidity *uint256.Int, gives bool) (amount uint64, ok bool) {
	if gives {
		return quote(low, high, liquidity, false)
	}
	return base(low, high, liquidity, true)
}

// bought returns what a purchase of the coin that moves the price from low up to high takes, or
// what it gives if gives is set.
func bought(low, high, liquidity *uint256.Int, gives bool) (amount uint64, ok bool) {
	if gives {
		return base(low, high, liquidity, false)
	}
	return quote(low, high, liquidity, true)
}

// add adds a segment to a swap. exact is the amount that the order fixes: what the segment takes,
// or what it gives if exactOut. other is the other amount, which has 64 bits only if fits is set.
// next is the price after the segment.
func (m *move) add(exact, other uint64, exactOut, fits bool, next *uint256.Int) error {
	in, out := exact, other
	if exactOut {
		in, out = other, exact
	}
	if !fits || m.in+in < in || m.out+out < out {
		return errLarge
	}
	m.in, m.out, m.price = m.in+in, m.out+out, *next
	return nil
}

// sell computes a sale of the coin without fees: of amount of the coin, or for amount of the quote
// token if exactOut. The price falls segment by segment, down to the start of the curve.
func (c *config) sell(price *uint256.Int, amount uint64, exactOut bool) (m move, err error) {
	m.price = *price
	for i := c.count - 1; i >= 0 && amount > 0; i-- {
		low := &c.start
		if i > 0 {
			low = &c.curve[i-1].price
		}
		if !low.Lt(&m.price) {
			continue
		}
		liquidity := &c.curve[i].liquidity
		var next uint256.Int
		if !exactOut && belowForBase(&next, &m.price, liquidity, amount) && next.Gt(low) {
			// next is above low if and only if amount < Δbase. To compare prices saves the division
			// for Δbase.
			given, fits := quote(&next, &m.price, liquidity, false)
			return m, m.add(amount, given, false, fits, &next)
		}
		whole, fits := sold(low, &m.price, liquidity, exactOut)
		// In the last segment the program computes the price from the amount, even if the amount is
		// all that the segment has.
		last := i == 0 && exactOut
		if fits && (amount > whole || amount == whole && !last) {
			other, fits := sold(low, &m.price, liquidity, !exactOut)
			if err = m.add(whole, other, exactOut, fits, low); err != nil {
				return m, err
			}
			amount -= whole
			continue
		}
		if exactOut {
			err = belowForQuote(&next, &m.price, liquidity, amount)
		}
		if err != nil || next.Lt(low) {
			return m, errEnd
		}
		other, fits := sold(&next, &m.price, liquidity, !exactOut)
		return m, m.add(amount, other, exactOut, fits, &next)
	}
	if amount > 0 {
		return m, errEnd
	}
	return m, nil
}

// buy computes a purchase of the coin without fees: for amount of the quote token, or of amount of
// the coin if exactOut. The price rises segment by segment, up to the price of the migration.
func (c *config) buy(price *uint256.Int, amount uint64, exactOut bool) (m move, err error) {
	m.price = *price
	for i := 0; i < c.count && amount > 0; i++ {
		high, liquidity := &c.curve[i].price, &c.curve[i].liquidity
		if !exactOut && high.Gt(&c.migrationPrice) {
			high = &c.migrationPrice
		}
		if !high.Gt(&m.price) {
			continue
		}
		whole, fits := bought(&m.price, high, liquidity, exactOut)
		if fits && amount >= whole {
			other, fits := bought(&m.price, high, liquidity, !exactOut)
			if err = m.add(whole, other, exactOut, fits, high); err != nil {
				return m, err
			}
			amount -= whole
			continue
		}
		var next uint256.Int
		if exactOut {
			if err = aboveForBase(&next, &m.price, liquidity, amount); err != nil {
				return m, err
			}
		} else {
			aboveForQuote(&next, &m.price, liquidity, amount)
		}
		other, fits := bought(&m.price, &next, liquidity, !exactOut)
		if err = m.add(amount, other, exactOut, fits, &next); err != nil {
			return m, err
		}
		amount = 0
	}
	if amount > 0 || m.price.Gt(&c.migrationPrice) {
		return m, errEnd
	}
	return m, nil
}

// belowForBase sets next to the price after the pool took amount of the coin: ⌈L·√P/(L+amount·√P)⌉.
// If amount·√P exceeds 128 bits, the program computes ⌊L/(⌊L/√P⌋+amount)⌋, and exact is false.
func belowForBase(next, price, liquidity *uint256.Int, amount uint64) (exact bool) {
	var n, d uint256.Int
	n.SetUint64(amount)
	d.Mul(&n, price)
	if d.BitLen() > 128 {
		d.Div(liquidity, price)
		d.Add(&d, &n)
		next.Div(liquidity, &d)
		return false
	}
	d.Add(&d, liquidity)
	n.Mul(liquidity, price)
	arith.DivideUp(next, &n, &d)
	return true
}

// belowForQuote sets next to the price after the pool gave amount of the quote token:
// √P−⌈amount·2¹²⁸/L⌉.
func belowForQuote(next, price, liquidity *uint256.Int, amount uint64) error {
	var n, q uint256.Int
	n.SetUint64(amount)
	n.Lsh(&n, 128)
	arith.DivideUp(&q, &n, liquidity)
	if q.Gt(price) {
		return errEnd
	}
	next.Sub(price, &q)
	return nil
}

// aboveForQuote sets next to the price after the pool took amount of the quote token:
// √P+⌊amount·2¹²⁸/L⌋.
func aboveForQuote(next, price, liquidity *uint256.Int, amount uint64) {
	var n uint256.Int
	n.SetUint64(amount)
	n.Lsh(&n, 128)
	arith.Divide(&n, &n, liquidity)
	next.Add(price, &n)
}

// aboveForBase sets next to the price after the pool gave amount of the coin: ⌈L·√P/(L−amount·√P)⌉.
func aboveForBase(next, price, liquidity *uint256.Int, amount uint64) error {
	var n, d uint256.Int
	n.SetUint64(amount)
	n.Mul(&n, price)
	if !n.Lt(liquidity) {
		return errEnd
	}
	d.Sub(liquidity, &n)
	n.Mul(liquidity, price)
	arith.DivideUp(next, &n, &d)
	return nil
}
