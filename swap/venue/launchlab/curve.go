package launchlab

import (
	"fmt"
	"math/bits"

	"github.com/holiman/uint256"

	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// The kinds of curves. B and Q are the virtual amounts of the coin and of the quote token, and b is
// how much of the coin was sold so far, for q:
//
//	product: (B−b)·(Q+q) stays the same
//	fixed:   the price is Q/B
//	linear:  q = B·b²/2⁶⁵, the price grows with what was sold
//
// What the curve takes is rounded up, and what it gives is rounded down.
const (
	kindProduct = 0
	kindFixed   = 1
	kindLinear  = 2
)

// curve is what the price depends on. All amounts are raw.
type curve struct {
	virtualBase, virtualQuote uint64
	// realBase is how much of the coin was sold so far, realQuote how much the curve got for it.
	realBase, realQuote uint64
}

// move is a swap without fees. impact is in basis points.
type move struct{ in, out, impact uint64 }

var (
	errEnd   = fmt.Errorf("%w: the order goes beyond the end of the curve", venue.ErrNoLiquidity)
	errLarge = fmt.Errorf("%w: it would move more than 64 bits", venue.ErrTooLarge)
	// errRoot refuses orders that need the root of a linear curve: the documents do not tell how
	// the program rounds it.
	errRoot = fmt.Errorf("%w: how the program rounds the root of a linear curve is not known", venue.ErrUnverified)
)

// trade computes a swap without fees on a curve of a kind. amount is what is sold, or what is
// bought if exactOut. buys says that the coin is bought.
func (c *curve) trade(kind byte, amount uint64, exactOut, buys bool) (move, error) {
	switch kind {
	case kindProduct:
		return c.product(amount, exactOut, buys)
	case kindFixed:
		in, out := c.virtualBase, c.virtualQuote
		if buys {
			in, out = out, in
		}
		return fixed(in, out, amount, exactOut)
	case kindLinear:
		return c.linear(amount, exactOut, buys)
	}
	return move{}, fmt.Errorf("%w: a curve of kind %d", venue.ErrUnverified, kind)
}

// product swaps at a constant product of the reserves.
func (c *curve) product(amount uint64, exactOut, buys bool) (move, error) {
	quote, over := bits.Add64(c.virtualQuote, c.realQuote, 0)
	in, out := c.virtualBase-c.realBase, quote
	switch {
	case over != 0:
		return move{}, errLarge
	case c.virtualBase <= c.realBase || quote == 0:
		return move{}, fmt.Errorf("%w: a reserve is empty", venue.ErrNoLiquidity)
	case buys:
		in, out = out, in
	}
	var ok bool
	m := move{in: amount, out: amount}
	if exactOut {
		if amount >= out {
			return move{}, errEnd
		}
		m.in, ok = arith.MulDivUp(in, amount, out-amount)
	} else {
		sum, over := bits.Add64(in, amount, 0)
		if over != 0 {
			return move{}, errLarge
		}
		m.out, ok = arith.MulDiv(amount, out, sum)
	}
	if !ok {
		return move{}, errLarge
	}
	m.impact = arith.ImpactBps(m.in, in)
	return m, nil
}

// fixed swaps at a fixed price, which is the ratio of out to in.
func fixed(in, out, amount uint64, exactOut bool) (m move, err error) {
	if in == 0 || out == 0 {
		return m, fmt.Errorf("%w: a curve without a price", venue.ErrMalformed)
	}
	var ok bool
	m.in, m.out = amount, amount
	if exactOut {
		m.in, ok = arith.MulDivUp(in, amount, out)
	} else {
		m.out, ok = arith.MulDiv(out, amount, in)
	}
	if !ok {
		err = errLarge
	}
	return m, err
}

// linear computes a purchase or a sale of an exact amount of the coin. An order for an exact amount
// of the quote token takes a root, so it is refused.
func (c *curve) linear(amount uint64, exactOut, buys bool) (move, error) {
	if exactOut != buys {
		return move{}, errRoot
	}
	next, over := bits.Add64(c.realBase, amount, 0)
	if !buys {
		next, over = bits.Sub64(c.realBase, amount, 0)
	}
	if over != 0 {
		return move{}, errEnd
	}
	raised, ok := c.raised(next)
	switch {
	case !ok:
		return move{}, errLarge
	case buys && raised < c.realQuote, !buys && raised > c.realQuote:
		return move{}, fmt.Errorf("%w: the curve holds another amount than it should", venue.ErrMalformed)
	case buys:
		// The mean price of a purchase is the price in the middle between realBase and next.
		impact, _ := arith.MulDivUp(amount, 10_000, max(sum(c.realBase, next), 1))
		return move{raised - c.realQuote, amount, impact}, nil
	}
	impact, _ := arith.MulDivUp(amount, 10_000, max(sum(c.realBase, c.realBase), 1))
	return move{amount, c.realQuote - raised, impact}, nil
}

// sum returns a+b, or the greatest uint64 if that exceeds it.
func sum(a, b uint64) uint64 {
	if s, over := bits.Add64(a, b, 0); over == 0 {
		return s
	}
	return ^uint64(0)
}

// raised returns ⌈B·sold²/2⁶⁵⌉: what a linear curve has taken when it has sold an amount. ok is
// false if that exceeds 64 bits.
func (c *curve) raised(sold uint64) (amount uint64, ok bool) {
	var n, divisor uint256.Int
	n.SetUint64(sold)
	n.Mul(&n, &n)
	n.Mul(&n, uint256.NewInt(c.virtualBase))
	divisor.Lsh(divisor.SetOne(), 65)
	n.Add(&n, divisor.SubUint64(&divisor, 1)) // so that the shift rounds up
	n.Rsh(&n, 65)
	return n.Uint64(), n.IsUint64()
}
