package whirlpool

import (
	"fmt"

	"github.com/holiman/uint256"

	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// With liquidity L, a move of the price from √P₀ to √P₁ moves these amounts of tokens a and b:
//
//	Δa = L·2⁶⁴·(√P₁−√P₀)/(√P₀·√P₁)    Δb = L·(√P₁−√P₀)/2⁶⁴
//
// Selling a lowers the price, selling b raises it. What the pool takes is rounded up, and what it
// gives is rounded down (whirlpools, math/{swap_math,token_math}.rs).

// feeUnit is 100 % as a fee rate: rates are in millionths.
const feeUnit = 1_000_000

var errOverflow = fmt.Errorf("%w: a number of the program would overflow", venue.ErrTooLarge)

// terms are what one step of a swap depends on. The step begins at the price from, and ends at the
// price to at the latest.
type terms struct {
	liquidity, from, to arith.U128
	// rate is the fee, in millionths.
	rate uint32
	// aToB says that a is sold, so that the price falls.
	aToB bool
}

// moved is what a step moves, and the price after it. in is without the fee.
type moved struct {
	in, out, fee uint64
	price        arith.U128
}

// delta is an amount of tokens. over says that it exceeds 64 bits. The program does not fail for
// that until it needs the amount.
type delta struct {
	amount uint64
	over   bool
}

// deltaA returns Δa between the prices t.from and next, rounded up or down. The program fails if
// L·ΔP exceeds 192 bits.
func (t *terms) deltaA(next arith.U128, up bool) (delta, error) {
	low, high := t.from.Wide(), next.Wide()
	if high.Lt(&low) {
		low, high = high, low
	}
	liquidity := t.liquidity.Wide()
	var difference, product uint256.Int
	difference.Sub(&high, &low)
	difference.Mul(&difference, &liquidity)
	if difference[3] != 0 {
		return delta{}, errOverflow
	}
	difference.Lsh(&difference, 64)
	product.Mul(&low, &high)
	if up {
		arith.DivideUp(&difference, &difference, &product)
	} else {
		difference.Div(&difference, &product)
	}
	return delta{difference.Uint64(), !difference.IsUint64()}, nil
}

// deltaB returns Δb between the prices t.from and next, rounded up or down.
func (t *terms) deltaB(next arith.U128, up bool) delta {
	low, high := t.from.Wide(), next.Wide()
	if high.Lt(&low) {
		low, high = high, low
	}
	liquidity := t.liquidity.Wide()
	high.Sub(&high, &low)
	high.Mul(&high, &liquidity)
	amount := high[1]
	over := high[2]|high[3] != 0
	if up && high[0] != 0 {
		amount++
		over = over || amount == 0
	}
	return delta{amount, over}
}

// takes returns what the pool takes between the prices t.from and next, without the fee.
func (t *terms) takes(next arith.U128) (delta, error) {
	if t.aToB {
		return t.deltaA(next, true)
	}
	return t.deltaB(next, true), nil
}

// gives returns what the pool gives between the prices t.from and next.
func (t *terms) gives(next arith.U128) (delta, error) {
	if t.aToB {
		return t.deltaB(next, false), nil
	}
	return t.deltaA(next, false)
}

// whole returns what the step moves if it reaches its end. ok is false if it cannot reach it, as a
// number has too many bits.
func (t *terms) whole() (m moved, ok bool) {
	in, err := t.takes(t.to)
	if err != nil || in.over {
		return moved{}, false
	}
	out, err := t.gives(t.to)
	if err != nil || out.over {
		return moved{}, false
	}
	fee, ok := feeOn(in.amount, t.rate)
	return moved{in.amount, out.amount, fee, t.to}, ok
}

// feeOn returns the fee that comes on top of an amount. ok is false if it exceeds 64 bits.
func feeOn(in uint64, rate uint32) (fee uint64, ok bool) {
	return arith.MulDivUp(in, uint64(rate), uint64(feeUnit-rate))
}

// sell returns what the step moves if an exact-in order ends with it. rest is what the order has
// left to sell.
func (t *terms) sell(rest uint64) (moved, error) {
	net, _ := arith.MulDiv(rest, uint64(feeUnit-t.rate), feeUnit)
	in, err := t.takes(t.to)
	if err != nil {
		return moved{}, err
	}
	m := moved{price: t.to}
	if in.over || in.amount > net {
		if m.price, err = t.after(net, t.aToB, true); err != nil {
			return moved{}, err
		}
	}
	reached := m.price == t.to
	if !reached || in.over {
		if in, err = t.takes(m.price); err != nil || in.over {
			return moved{}, errOverflow
		}
	}
	out, err := t.gives(m.price)
	if err != nil || out.over {
		return moved{}, errOverflow
	}
	m.in, m.out, m.fee = in.amount, out.amount, rest-in.amount
	if reached {
		var ok bool
		if m.fee, ok = feeOn(m.in, t.rate); !ok {
			return moved{}, errOverflow
		}
	}
	if m.in > rest || m.fee > rest-m.in {
		return moved{}, errOverflow
	}
	return m, nil
}

// buy returns what the step moves if an exact-out order ends with it. rest is what the order has
// left to buy.
func (t *terms) buy(rest uint64) (moved, error) {
	out, err := t.gives(t.to)
	if err != nil {
		return moved{}, err
	}
	m := moved{price: t.to}
	if out.over || out.amount > rest {
		if m.price, err = t.after(rest, !t.aToB, false); err != nil {
			return moved{}, err
		}
	}
	if m.price != t.to || out.over {
		if out, err = t.gives(m.price); err != nil || out.over {
			return moved{}, errOverflow
		}
	}
	in, err := t.takes(m.price)
	if err != nil || in.over {
		return moved{}, errOverflow
	}
	var ok bool
	m.in, m.out = in.amount, min(out.amount, rest)
	if m.fee, ok = feeOn(m.in, t.rate); !ok {
		return moved{}, errOverflow
	}
	return m, nil
}

// after returns the price after amount was added to the pool if add is set, else after it was taken
// from the pool. The amount is of a if ofA is set, else of b. The price is rounded so that the pool
// does not lose.
func (t *terms) after(amount uint64, ofA, add bool) (arith.U128, error) {
	if amount == 0 && ofA {
		return t.from, nil
	}
	price, liquidity := t.from.Wide(), t.liquidity.Wide()
	var next, change uint256.Int
	change.SetUint64(amount)
	if ofA {
		// √P₁ = ⌈L·2⁶⁴·√P/(L·2⁶⁴±amount·√P)⌉
		change.Mul(&change, &price)
		next.Mul(&liquidity, &price)
		liquidity.Lsh(&liquidity, 64)
		if next[3] != 0 || !add && !change.Lt(&liquidity) {
			return arith.U128{}, errOverflow
		}
		next.Lsh(&next, 64)
		if add {
			liquidity.Add(&liquidity, &change)
		} else {
			liquidity.Sub(&liquidity, &change)
		}
		arith.DivideUp(&next, &next, &liquidity)
		if narrow := arith.Narrow(&next); next[2]|next[3] != 0 || narrow.Less(minPrice) || maxPrice.Less(narrow) {
			return arith.U128{}, errOverflow
		}
		return arith.Narrow(&next), nil
	}
	change.Lsh(&change, 64)
	if add {
		// √P₁ = √P+⌊amount·2⁶⁴/L⌋
		change.Div(&change, &liquidity)
		next.Add(&price, &change)
	} else {
		// √P₁ = √P−⌈amount·2⁶⁴/L⌉
		arith.DivideUp(&next, &change, &liquidity)
		if price.Lt(&next) {
			return arith.U128{}, errOverflow
		}
		next.Sub(&price, &next)
	}
	if next[2]|next[3] != 0 {
		return arith.U128{}, errOverflow
	}
	return arith.Narrow(&next), nil
}
