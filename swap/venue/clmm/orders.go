package clmm

import (
	"math"

	"github.com/holiman/uint256"

	"github.com/mintlake/mintlake/swap/venue/arith"
)

// The limit orders of a tick sell at its price P, before the liquidity beyond the tick is used
// (raydium-clmm, states/tick_array.rs, match_limit_order_with_sqrt_price).

// offer is the limit orders of one tick, for a swap in one direction.
type offer struct {
	terms
	// amount is what the limit orders sell in all.
	amount uint64
	// price is P in Q64.64, rounded in favour of the orders.
	price uint256.Int
}

// offer returns the limit orders at the price t.from that sell amount.
func (t terms) offer(amount uint64) *offer {
	o := &offer{terms: t, amount: amount}
	root := t.from.Wide()
	o.price.Mul(&root, &root)
	if t.up {
		o.price.Add(&o.price, uint256.NewInt(math.MaxUint64))
	}
	o.price.Rsh(&o.price, 64)
	return o
}

// ratio returns two numbers: for an amount, the limit orders give amount·multiply/divide.
func (o *offer) ratio() (multiply, divide uint256.Int) {
	one := uint256.Int{0, 1}
	if o.up {
		return one, o.price
	}
	return o.price, one
}

// cost returns what the limit orders take for giving amount, without a fee. ok is false if it
// exceeds 64 bits.
func (o *offer) cost(amount uint64) (taken uint64, ok bool) {
	var cost uint256.Int
	multiply, divide := o.ratio()
	arith.DivideUp(&cost, divide.Mul(&divide, uint256.NewInt(amount)), &multiply)
	return cost.Uint64(), cost.IsUint64()
}

// gives returns what the limit orders give for an amount without a fee, as if they had enough to
// give.
func (o *offer) gives(amount uint64) uint256.Int {
	multiply, divide := o.ratio()
	multiply.Mul(&multiply, uint256.NewInt(amount))
	return *multiply.Div(&multiply, &divide)
}

// whole returns what moves if the limit orders sell their whole amount. ok is false if it exceeds
// 64 bits.
func (o *offer) whole() (a amounts, ok bool) {
	a.out = o.amount
	if a.in, ok = o.cost(o.amount); !ok {
		return amounts{}, false
	}
	return a, o.charge(&a)
}

// most returns the greatest rest of an exact-in order with which the order ends at these limit
// orders: for one unit more they would have to give more than their amount.
func (o *offer) most() uint64 {
	multiply, divide := o.ratio()
	var net uint256.Int
	next := uint256.NewInt(o.amount)
	next.AddUint64(next, 1)
	arith.DivideUp(&net, divide.Mul(&divide, next), &multiply) // the least for which they give more
	if o.onInput {
		// The fee leaves ⌊rest·(feeUnit−rate)/feeUnit⌋ of a rest.
		arith.DivideUp(&net, net.Mul(&net, uint256.NewInt(feeUnit)), uint256.NewInt(uint64(feeUnit-o.rate)))
	}
	net.SubUint64(&net, 1)
	if !net.IsUint64() {
		return math.MaxUint64
	}
	return net.Uint64()
}

// sell returns what moves if an exact-in order, of which rest is left to sell, ends at these limit
// orders. given is what they sold, before a fee on the output.
func (o *offer) sell(rest uint64) (a amounts, given uint64) {
	net := rest
	if o.onInput {
		a.fee, _ = arith.MulDivUp(rest, uint64(o.rate), feeUnit)
		net -= a.fee
	}
	out := o.gives(net)
	given = out.Uint64()
	a.in, a.out = rest, given
	if !o.onInput {
		o.charge(&a)
	}
	return a, given
}

// buy returns what moves if an exact-out order, of which rest is left to buy, ends at these limit
// orders. given is what they sold, before a fee on the output.
func (o *offer) buy(rest uint64) (a amounts, given uint64, err error) {
	var ok bool
	if given = min(rest, o.amount); !o.onInput {
		if given, ok = arith.MulDivUp(given, feeUnit, uint64(feeUnit-o.rate)); !ok {
			return amounts{}, 0, errOverflow
		}
		given = min(given, o.amount)
	}
	if a.in, ok = o.cost(given); !ok {
		return amounts{}, 0, errOverflow
	}
	a.out = given
	if !o.charge(&a) {
		return amounts{}, 0, errOverflow
	}
	return a, given, nil
}
