package whirlpool

import (
	"fmt"
	"sync/atomic"

	"github.com/holiman/uint256"

	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// held is a tick array that a pool has read. array is nil if the account does not exist: then the
// array has no initialized ticks.
type held struct {
	number  int32
	address venue.Key
	array   *array
}

// Pool is a pool's state at one slot.
type Pool struct {
	program, address venue.Key
	state            state
	mints            [2]*mint.Mint
	// oracle is nil if the fee has no adaptive part.
	oracle *oracle
	// arrays are the arrays of swaps in both directions, in the order of their numbers. The number
	// of arrays[0] is first.
	arrays [2 * arraysPerSwap]held
	first  int32
	// ladders has the ladders by the index of the mint that is sold and by the regime of the fee.
	// The first quote that needs a ladder makes it.
	ladders [2][regimes]atomic.Pointer[ladder]
}

// Address implements venue.Pool.
func (p *Pool) Address() venue.Key { return p.address }

// Mints implements venue.Pool.
func (p *Pool) Mints() [2]venue.Key { return p.state.mints }

// array returns a tick array; nil if it has no initialized ticks.
func (p *Pool) array(number int32) *array { return p.at(number).array }

func (p *Pool) at(number int32) held {
	if i := number - p.first; i >= 0 && int(i) < len(p.arrays) {
		return p.arrays[i]
	}
	return held{}
}

// ladder returns the ladder of a direction for swaps at the time of clock.
func (p *Pool) ladder(aToB bool, clock venue.Clock) (*ladder, error) {
	r, side := regimeKeep, 1
	if aToB {
		side = 0
	}
	if p.oracle != nil {
		now := uint64(max(clock.UnixTime, 0))
		if now < p.oracle.enabled {
			return nil, fmt.Errorf("%w: it trades from %d on", venue.ErrClosed, p.oracle.enabled)
		}
		var ok bool
		if r, ok = p.oracle.regimeAt(now); !ok {
			return nil, fmt.Errorf("%w: its fee is of a later time than %d", venue.ErrClosed, now)
		}
	}
	if l := p.ladders[side][r].Load(); l != nil {
		return l, nil
	}
	limit := maxPrice
	if aToB {
		limit = minPrice
	}
	// Two concurrent quotes may both make the ladder. They make the same one.
	l := p.climb(aToB, r, limit)
	p.ladders[side][r].Store(l)
	return l, nil
}

// Quote implements venue.Pool. If the price reaches the end of its range, the program fills an
// exact-in order in part. Quote refuses such an order.
func (p *Pool) Quote(o venue.Order) (venue.Quote, error) {
	side, err := venue.Side(p.state.mints, o.In)
	if err != nil {
		return venue.Quote{}, err
	}
	l, err := p.ladder(side == 0, o.Clock)
	if err != nil {
		return venue.Quote{}, err
	}
	pair := p.pair(side)
	amount, err := pair.AtPool(o)
	if err != nil {
		return venue.Quote{}, err
	}
	r, err := l.swap(amount, o.ExactOut)
	if err != nil {
		return venue.Quote{}, err
	}
	if r.in == 0 {
		return venue.Quote{}, venue.ErrTooSmall
	}
	q, err := pair.Settle(o, r.in, r.out)
	if err != nil {
		return venue.Quote{}, err
	}
	p.describe(&q, &r, side, pair.Taxed())
	return q, nil
}

// describe sets what a quote tells besides its amounts.
func (p *Pool) describe(q *venue.Quote, r *result, side int, taxed bool) {
	q.Fees.Add(venue.FeePool, false, r.fee)
	q.ImpactBps, q.Accounts = p.impact(r, side), accountsOfSwap
	q.ComputeUnits = p.unitsOf(r.steps)
	q.Features = q.Features.With(featureExactOut, q.Order.ExactOut).With(featureAdaptiveFee, p.oracle != nil).With(featureTransferFee, taxed)
}

// impact returns by how much a swap without fees gives less than the price before it would give, in
// basis points.
func (p *Pool) impact(r *result, side int) uint64 {
	price := p.state.price.Wide()
	var spot uint256.Int
	spot.SetUint64(r.in - r.fee)
	if side == 0 {
		spot.Mul(&spot, &price)
		spot.Mul(spot.Rsh(&spot, 64), &price)
		spot.Rsh(&spot, 64)
	} else {
		spot.Div(spot.Lsh(&spot, 128), &price)
		spot.Div(spot.Lsh(&spot, 64), &price)
		spot.Rsh(&spot, 64)
	}
	return arith.Shortfall(&spot, r.out)
}
