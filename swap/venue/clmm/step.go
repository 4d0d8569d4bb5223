package clmm

import (
	"fmt"

	"github.com/holiman/uint256"

	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// With liquidity L, a move of the price from √P₀ to √P₁ moves these amounts of token 0 and token 1:
//
//	Δ₀ = L·2⁶⁴·(√P₁−√P₀)/(√P₀·√P₁)    Δ₁ = L·(√P₁−√P₀)/2⁶⁴
//
// Selling token 0 lowers the price, selling token 1 raises it. What the pool takes is rounded up,
// and what it gives is rounded down (raydium-clmm,
// libraries/{swap_math,liquidity_math,sqrt_price_math}.rs).

var (
	errOverflow = fmt.Errorf("%w: it would move more than 64 bits", venue.ErrTooLarge)
	errRounding = fmt.Errorf("%w: the price would leave the step", venue.ErrTooLarge)
)

// terms are what one step of a swap depends on.
type terms struct {
	liquidity arith.U128
	// from and to are √P in Q64.64. The step begins at from and ends at to at the latest.
	from, to arith.U128
	// rate is the fee, in millionths.
	rate uint32
	// up says that the price rises, as token 1 is sold.
	up bool
	// onInput says that the fee is taken from what is sold.
	onInput bool
}

// amounts are what a step moves.
type amounts struct {
	// in is what the pool takes, its fee included; out is what it gives, without its fee.
	in, out, fee uint64
}

// between returns the amounts that move between the prices t.from and next, without fees. ok is
// false if one of them exceeds 64 bits.
func (t *terms) between(next arith.U128) (in, out uint64, ok bool) {
	low, high := t.from.Wide(), next.Wide()
	if high.Lt(&low) {
		low, high = high, low
	}
	var difference, product, token0, token1, rest uint256.Int
	difference.Sub(&high, &low)
	liquidity := t.liquidity.Wide()
	difference.Mul(&difference, &liquidity) // below 2^256, as both are below 2^128
	if difference[3] != 0 {
		return 0, 0, false // token 1 alone exceeds 128 bits
	}
	token1.Rsh(&difference, 64)
	product.Mul(&low, &high)
	token0.DivMod(difference.Lsh(&difference, 64), &product, &rest)
	takes, gives := &token0, &token1
	if t.up {
		takes, gives = &token1, &token0
		rest = uint256.Int{difference[1]} // the low word, which Rsh cut off and Lsh moved up
	}
	if !rest.IsZero() {
		takes.AddUint64(takes, 1)
	}
	return takes.Uint64(), gives.Uint64(), takes.IsUint64() && gives.IsUint64()
}

// whole returns what the step moves if it reaches its end. ok is false if that exceeds 64 bits.
func (t *terms) whole() (a amounts, ok bool) {
	if a.in, a.out, ok = t.between(t.to); !ok {
		return amounts{}, false
	}
	return a, t.charge(&a)
}

// charge adds the fee to amounts without a fee. ok is false if in then exceeds 64 bits.
func (t *terms) charge(a *amounts) (ok bool) {
	if t.onInput {
		a.fee, ok = arith.MulDivUp(a.in, uint64(t.rate), uint64(feeUnit-t.rate))
		a.in += a.fee
		return ok && a.in >= a.fee
	}
	a.fee, _ = arith.MulDivUp(a.out, uint64(t.rate), feeUnit)
	a.out -= a.fee
	return true
}

// sell returns what the step moves, and the price after it, if an exact-in order ends with the
// step. rest is what the order has left to sell.
func (t *terms) sell(rest uint64) (a amounts, price arith.U128, err error) {
	net := rest
	if t.onInput {
		net, _ = arith.MulDiv(rest, uint64(feeUnit-t.rate), feeUnit)
	}
	in, out, ok := t.between(t.to)
	if price = t.to; !ok || net < in {
		if price, err = t.after(net, t.up, true); err != nil {
			return amounts{}, arith.U128{}, err
		}
		if in, out, ok = t.between(price); !ok || t.beyond(price) || price == t.to {
			return amounts{}, arith.U128{}, errRounding
		}
	}
	a = amounts{in: in, out: out}
	switch reached := price == t.to; {
	case reached:
		t.charge(&a) // fits 64 bits, as net suffices for in
	case t.onInput:
		a.in, a.fee = rest, rest-in
	default:
		t.charge(&a)
		a.in = rest
	}
	return a, price, nil
}

// buy returns what the step moves, and the price after it, if an exact-out order ends with the
// step. rest is what the order has left to buy.
func (t *terms) buy(rest uint64) (a amounts, price arith.U128, err error) {
	gross := rest
	if !t.onInput {
		var ok bool
		if gross, ok = arith.MulDivUp(rest, feeUnit, uint64(feeUnit-t.rate)); !ok {
			return amounts{}, arith.U128{}, errOverflow
		}
	}
	in, out, ok := t.between(t.to)
	if price = t.to; !ok || gross < out {
		if price, err = t.after(gross, !t.up, false); err != nil {
			return amounts{}, arith.U128{}, err
		}
		if in, out, ok = t.between(price); !ok || t.beyond(price) {
			return amounts{}, arith.U128{}, errRounding
		}
	}
	a = amounts{in: in, out: out}
	if !t.charge(&a) {
		return amounts{}, arith.U128{}, errOverflow
	}
	if a.out < rest {
		return amounts{}, arith.U128{}, errRounding
	}
	if !t.onInput { // the pool keeps what the roundings give above rest
		a.fee += a.out - rest
	}
	a.out = rest
	return a, price, nil
}

// beyond returns whether a price lies beyond the end of the step.
func (t *terms) beyond(price arith.U128) bool {
	if t.up {
		return t.to.Less(price)
	}
	return price.Less(t.to)
}

// after returns the price after amount was added to the pool if add is set, else after it was taken
// from the pool. The amount is of token 1 if of1 is set, else of token 0. The price is rounded so
// that the pool does not lose.
func (t *terms) after(amount uint64, of1, add bool) (arith.U128, error) {
	if amount == 0 {
		return t.from, nil
	}
	if t.liquidity.IsZero() {
		return arith.U128{}, fmt.Errorf("%w: it has no liquidity", venue.ErrNoLiquidity)
	}
	price, liquidity := t.from.Wide(), t.liquidity.Wide()
	var next, change uint256.Int
	change.SetUint64(amount)
	if of1 {
		change.Lsh(&change, 64)
		if add {
			// √P₁ = √P+⌊amount·2⁶⁴/L⌋
			change.Div(&change, &liquidity)
			next.Add(&price, &change)
		} else {
			// √P₁ = √P−⌈amount·2⁶⁴/L⌉
			var quotient uint256.Int
			arith.DivideUp(&quotient, &change, &liquidity)
			if price.Lt(&quotient) {
				return arith.U128{}, errRounding
			}
			next.Sub(&price, &quotient)
		}
	} else {
		// √P₁ = ⌈L·2⁶⁴·√P/(L·2⁶⁴±amount·√P)⌉
		change.Mul(&change, &price)
		liquidity.Lsh(&liquidity, 64)
		var divisor uint256.Int
		if add {
			divisor.Add(&liquidity, &change)
		} else if divisor.Sub(&liquidity, &change); !change.Lt(&liquidity) {
			return arith.U128{}, errRounding
		}
		mulDivUp256(&next, &liquidity, &price, &divisor)
	}
	if next[2]|next[3] != 0 {
		return arith.U128{}, errRounding
	}
	return arith.Narrow(&next), nil
}

// mulDivUp256 sets q to ⌈a·b/d⌉. If that has more than 256 bits, it sets q to the greatest number,
// which callers refuse as no price.
func mulDivUp256(q, a, b, d *uint256.Int) {
	if _, over := q.MulDivOverflow(a, b, d); over {
		q.SetAllOne()
		return
	}
	// a·b exceeds q·d by less than d, so their low 256 bits tell whether they are equal.
	var product, back uint256.Int
	if !product.Mul(a, b).Eq(back.Mul(q, d)) {
		q.AddUint64(q, 1)
	}
}
