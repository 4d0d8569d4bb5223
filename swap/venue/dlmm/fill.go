package dlmm

import (
	"fmt"
	"math"

	"github.com/holiman/uint256"

	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

var (
	errOverflow = fmt.Errorf("%w: a number of the program would overflow", venue.ErrTooLarge)
	errRounding = fmt.Errorf("%w: the program's roundings do not agree for this amount", venue.ErrTooLarge)
)

// offer is what a bin sells in a direction, at one price (commons/src/quote.rs).
type offer struct {
	// layers are the amounts that are sold one after the other: the bin's liquidity, limit orders
	// that are being filled, and limit orders that wait.
	layers [3]uint64
	price  arith.U128
	rate   uint64
	// forY says that y is bought. onInput says that the fee is taken from what is sold to the pool.
	forY, onInput bool
}

// filled is what a swap moves in a bin. in includes a fee on the input, and out is without a fee on
// the output.
type filled struct{ in, out, fee uint64 }

// cost returns what out costs without a fee, rounded up.
func (o *offer) cost(out uint64) (uint64, error) {
	return o.convert(out, o.forY, true)
}

// worth returns what in buys without a fee, rounded down.
func (o *offer) worth(in uint64) (uint64, error) {
	return o.convert(in, !o.forY, false)
}

// convert returns amount/price if divide is set, else amount·price. It rounds up if up is set, else
// down.
func (o *offer) convert(amount uint64, divide, up bool) (uint64, error) {
	var n uint256.Int
	price := o.price.Wide()
	if n.SetUint64(amount); divide {
		if price.IsZero() {
			return 0, errOverflow
		}
		n.Lsh(&n, 64)
		if up {
			arith.DivideUp(&n, &n, &price)
		} else {
			n.Div(&n, &price)
		}
	} else {
		n.Mul(&n, &price)
		cut := n[0]
		if n.Rsh(&n, 64); up && cut != 0 {
			n.AddUint64(&n, 1)
		}
	}
	if !n.IsUint64() {
		return 0, errOverflow
	}
	return n.Uint64(), nil
}

// take sells net, an amount without the fee, to the layers one after the other. rest is what the
// layers do not take.
func (o *offer) take(net uint64) (in, out, rest uint64, err error) {
	rest = net
	for i, layer := range o.layers {
		if layer == 0 || i > 0 && rest == 0 {
			continue
		}
		most, err := o.cost(layer)
		if err != nil {
			return 0, 0, 0, err
		}
		gives := layer
		if rest < most {
			most = rest
			if gives, err = o.worth(rest); err != nil {
				return 0, 0, 0, err
			}
		}
		if out+gives < out {
			return 0, 0, 0, errOverflow
		}
		in, out, rest = in+most, out+gives, rest-most
	}
	return in, out, rest, nil
}

// sell returns what an exact-in order moves in the bin. amount is what the order has left to sell
// when it comes to the bin.
func (o *offer) sell(amount uint64) (filled, error) {
	f, net := filled{in: amount}, amount
	if o.onInput {
		f.fee = feeOf(amount, o.rate)
		net -= f.fee
	}
	in, out, rest, err := o.take(net)
	if err != nil {
		return filled{}, err
	}
	f.out = out
	if rest > 0 {
		f.in = in
		if o.onInput {
			var ok bool
			if f.fee, ok = feeOn(in, o.rate); !ok || in+f.fee < in {
				return filled{}, errOverflow
			}
			f.in += f.fee
		}
	}
	if !o.onInput {
		f.fee = feeOf(out, o.rate)
		f.out -= f.fee
	}
	return f, nil
}

// whole returns what an order moves in the bin if it goes on to the next bin. stays is the greatest
// amount with which an exact-in order does not go on. ok is false if no order goes on, or if the
// program would fail.
func (o *offer) whole() (f filled, stays uint64, ok bool) {
	f, err := o.sell(math.MaxUint64)
	if err != nil || f.in == math.MaxUint64 {
		return filled{}, 0, false
	}
	if !o.onInput {
		return f, f.in, true
	}
	// An order goes on if ⌊amount·(1−rate)⌋ exceeds what the layers take.
	net := f.in - f.fee + 1
	more, ok := feeOn(net, o.rate)
	if stays = net - 1 + more; !ok || stays < more {
		return f, math.MaxUint64, true
	}
	return f, stays, true
}

// total returns what all layers sell together, before a fee on the output. It is the greatest
// uint64 if that exceeds 64 bits.
func (o *offer) total() uint64 {
	sum := uint64(0)
	for _, layer := range o.layers {
		if sum += layer; sum < layer {
			return math.MaxUint64
		}
	}
	return sum
}

// buy returns what an exact-out order moves in the bin. amount is what the order has left to buy
// when it comes to the bin.
func (o *offer) buy(amount uint64) (filled, error) {
	gross := amount
	if !o.onInput {
		more, ok := feeOn(amount, o.rate)
		if gross += more; !ok || gross < more {
			return filled{}, errOverflow
		}
	}
	if gross >= o.total() {
		f, err := o.sell(math.MaxUint64)
		if err == nil && f.out == 0 {
			f = filled{} // the program goes on without having taken anything
		}
		return f, err
	}
	in, rest := uint64(0), gross
	for _, layer := range o.layers {
		part := min(rest, layer)
		cost, err := o.cost(part)
		if err != nil {
			return filled{}, err
		}
		if in += cost; in < cost {
			return filled{}, errOverflow
		}
		rest -= part
	}
	// Each layer's cost is rounded up. The program fails if their sum is not the cost of gross.
	if whole, err := o.cost(gross); err != nil || whole != in {
		return filled{}, errRounding
	}
	if o.onInput {
		more, ok := feeOn(in, o.rate)
		if in += more; !ok || in < more {
			return filled{}, errOverflow
		}
	}
	f, err := o.sell(in)
	if err != nil {
		return filled{}, err
	}
	f.out = amount
	return f, nil
}
