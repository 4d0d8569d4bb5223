package venue

import (
	"bytes"
	"fmt"

	"github.com/mintlake/mintlake/swap/mint"
)

// Side returns the index of a mint in a pool's mints. The error wraps ErrNoLiquidity if the mint is
// not one of them.
func Side(mints [2]Key, in Key) (int, error) {
	for side := range mints {
		if mints[side] == in {
			return side, nil
		}
	}
	return 0, fmt.Errorf("%w: it has no %s", ErrNoLiquidity, in.String())
}

// Pair is the two mints of a swap in one direction. It computes the transfer fees that Token-2022
// withholds on the way to the pool and from it.
type Pair struct {
	In, Out *mint.Mint
}

// Taxed returns whether at least one of the mints has a transfer fee.
func (p Pair) Taxed() bool { return p.In.Taxed() || p.Out.Taxed() }

// AtPool returns an order's amount as the pool sees it: for an exact-in order the amount that
// reaches the pool, for an exact-out order the amount that must leave the pool.
func (p Pair) AtPool(o Order) (uint64, error) {
	if o.ExactOut {
		gross, ok := p.Out.Sent(o.Clock.Epoch, o.Amount)
		switch {
		case o.Amount == 0:
			return 0, fmt.Errorf("%w: the order is for nothing", ErrTooSmall)
		case !ok:
			return 0, fmt.Errorf("%w: with the transfer fee it has more than 64 bits", ErrTooLarge)
		}
		return gross, nil
	}
	withheld := p.In.TransferFee(o.Clock.Epoch, o.Amount)
	if withheld >= o.Amount {
		return 0, fmt.Errorf("%w: nothing would reach the pool", ErrTooSmall)
	}
	return o.Amount - withheld, nil
}

// Settle returns the quote of an order for which in reaches the pool and out leaves it. The quote's
// Fees are the transfer fees only.
func (p Pair) Settle(o Order, in, out uint64) (Quote, error) {
	q := Quote{Order: o, Out: p.Out.Address, AmountIn: o.Amount}
	// If the pool takes all that reaches it, the order's whole amount leaves the user's account.
	// Sent might return another amount, as the fee is rounded.
	if atPool, err := p.AtPool(o); o.ExactOut || err != nil || in != atPool {
		var ok bool
		if q.AmountIn, ok = p.In.Sent(o.Clock.Epoch, in); !ok {
			return Quote{}, fmt.Errorf("%w: with the transfer fee it takes more than 64 bits", ErrTooLarge)
		}
	}
	withheld := p.Out.TransferFee(o.Clock.Epoch, out)
	if withheld >= out {
		return Quote{}, fmt.Errorf("%w: nothing would reach the user", ErrTooSmall)
	}
	q.AmountOut = out - withheld
	if o.ExactOut && q.AmountOut < o.Amount {
		return Quote{}, fmt.Errorf("%w: less than asked for would reach the user", ErrNoLiquidity)
	}
	q.Fees.Add(FeeTransfer, false, q.AmountIn-in)
	q.Fees.Add(FeeTransfer, true, withheld)
	return q, nil
}

// Ordered returns two mints in the order of their bytes.
func Ordered(a, b Key) (first, second Key) {
	if bytes.Compare(a[:], b[:]) > 0 {
		return b, a
	}
	return a, b
}
