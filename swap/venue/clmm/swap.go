package clmm

import (
	"fmt"

	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// result is the result of a swap.
type result struct {
	amounts
	// side is the index of the mint that is sold. onInput says that the fee is taken from it.
	side    int
	onInput bool
	// steps are the steps of the swap, of which the last one may be made in part. They belong to
	// the pool, so they must not be changed.
	steps []step
	// price is √P after the swap. sold is what the limit orders of the last step sold.
	price arith.U128
	sold  uint64
	phase phase
}

// swap answers an order.
func (p *Pool) swap(o venue.Order) (result, error) {
	side, err := venue.Side(p.state.mints, o.In)
	if err != nil {
		return result{}, err
	}
	now := uint64(max(o.Clock.UnixTime, 0))
	switch {
	case p.state.status&statusNoSwap != 0:
		return result{}, fmt.Errorf("%w: its swaps are off", venue.ErrClosed)
	case now <= p.state.openTime:
		return result{}, fmt.Errorf("%w: it opens after second %d", venue.ErrClosed, p.state.openTime)
	}
	amount, err := p.pair(side).AtPool(o)
	if err != nil {
		return result{}, err
	}
	r := result{side: side, onInput: p.state.feeFromInput(side), phase: p.state.dynamic.phaseAt(now)}
	w := p.reach(side, r.phase, amount, o.ExactOut)
	if err = r.finish(w, amount, o.ExactOut); err == nil && (r.in == 0 || r.out == 0) {
		err = venue.ErrTooSmall
	}
	return r, err
}

// last returns the step with which the swap ends.
func (r *result) last() *step { return &r.steps[len(r.steps)-1] }

// finish computes the result of an order of amount with the steps of w. It returns w.stopped if the
// order goes beyond them.
func (r *result) finish(w *walk, amount uint64, exactOut bool) (err error) {
	n := w.count(amount, exactOut)
	if n > len(w.steps) {
		return w.stopped
	}
	r.steps = w.steps[:n]
	s := r.last()
	var part amounts
	switch rest := amount - s.before.in; { // rest is for exact-in orders alone
	case exactOut && s.orders > 0:
		part, r.sold, err = s.offer(s.orders).buy(amount - s.before.out)
		r.price = s.to
	case exactOut:
		part, r.price, err = s.buy(amount - s.before.out)
	case s.orders > 0:
		part, r.sold = s.offer(s.orders).sell(rest)
		r.price = s.to
	default:
		part, r.price, err = s.sell(rest)
	}
	if err != nil {
		return err
	}
	var fits bool
	if r.amounts, fits = s.before.plus(part); !fits {
		return errOverflow
	}
	return nil
}
