package dlmm

import (
	"sync/atomic"

	"github.com/holiman/uint256"

	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// held is a bin array that a pool has read.
type held struct {
	index   int32
	address venue.Key
	array   *array
}

// side has the arrays of a direction, in the order in which swaps reach them. end is the error of
// an order that needs more arrays.
type side struct {
	arrays []held
	end    error
}

// Pool is a pool's state at one slot.
type Pool struct {
	address venue.Key
	state   state
	mints   [2]*mint.Mint
	// extension is the address of the bitmap extension. It is zero if no account is there, or if no
	// swap needs it.
	extension venue.Key
	// sides[0] has the arrays downwards, for swaps that buy y, and sides[1] the arrays upwards.
	sides [2]side
	// ladders has the ladders of both directions, by the regime of the fee. The indexes of
	// directions are those of sides. The first quote that needs a ladder makes it.
	ladders [2][regimes]atomic.Pointer[ladder]
}

// Address implements venue.Pool.
func (p *Pool) Address() venue.Key { return p.address }

// Mints implements venue.Pool.
func (p *Pool) Mints() [2]venue.Key { return p.state.mints }

// side returns the arrays of a direction. forY says that y is bought.
func (p *Pool) side(forY bool) *side {
	if forY {
		return &p.sides[0]
	}
	return &p.sides[1]
}

// ladder returns the ladder of a direction for swaps at the time of clock.
func (p *Pool) ladder(forY bool, clock venue.Clock) (*ladder, error) {
	if err := p.state.check(clock); err != nil {
		return nil, err
	}
	r, err := p.state.fee.regimeAt(clock.UnixTime)
	if err != nil {
		return nil, err
	}
	at := &p.ladders[1][r]
	if forY {
		at = &p.ladders[0][r]
	}
	if l := at.Load(); l != nil {
		return l, nil
	}
	// Two concurrent quotes may both make the ladder. They make the same one.
	l := p.climb(forY, r)
	at.Store(l)
	return l, nil
}

// Quote implements venue.Pool.
func (p *Pool) Quote(o venue.Order) (venue.Quote, error) {
	from, err := venue.Side(p.state.mints, o.In)
	if err != nil {
		return venue.Quote{}, err
	}
	l, err := p.ladder(from == 0, o.Clock)
	if err != nil {
		return venue.Quote{}, err
	}
	pair := p.pair(from)
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
	p.describe(&q, l, &r, pair.Taxed())
	return q, nil
}

// describe sets what a quote tells besides its amounts.
func (p *Pool) describe(q *venue.Quote, l *ladder, r *result, taxed bool) {
	q.Fees.Add(venue.FeePool, !l.onInput, r.fee)
	q.ImpactBps, q.Accounts = l.impact(r), uint8(fixedAccounts+p.named(l.forY, r.arrays))
	q.ComputeUnits = p.unitsOf(r)
	q.Features = q.Features.With(featureExactOut, q.Order.ExactOut).With(featureFeeOnOutput, !l.onInput).
		With(featureOrders, p.state.orders).With(featureVariableFee, p.state.fee.control != 0).With(featureTransferFee, taxed)
}

// impact returns by how much a swap without fees gives less than at the price of the first bin, in
// basis points.
func (l *ladder) impact(r *result) uint64 {
	net, gross, price := r.in, r.out, l.steps[0].price.Wide()
	if l.onInput {
		net -= r.fee
	} else {
		gross += r.fee
	}
	var spot uint256.Int
	spot.SetUint64(net)
	if l.forY {
		spot.Mul(&spot, &price)
		spot.Rsh(&spot, 64)
	} else {
		spot.Lsh(&spot, 64)
		spot.Div(&spot, &price)
	}
	return arith.Shortfall(&spot, gross)
}
