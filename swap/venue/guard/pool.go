package guard

import (
	"fmt"

	"github.com/mintlake/mintlake/swap/venue"
)

// ref is the guarded Ref of a pool.
type ref struct {
	venue         *gated
	inner         venue.Ref
	address       venue.Key
	mints         [2]venue.Key
	rank          uint64
	accounts, own []venue.Key
}

// Address implements venue.Ref.
func (r *ref) Address() venue.Key { return r.address }

// Mints implements venue.Ref.
func (r *ref) Mints() [2]venue.Key { return r.mints }

// Rank implements venue.Ref.
func (r *ref) Rank() uint64 { return r.rank }

// Accounts implements venue.Ref.
func (r *ref) Accounts() []venue.Key { return r.accounts }

// Own implements venue.Ref.
func (r *ref) Own() []venue.Key { return r.own }

// Decode implements venue.Ref.
func (r *ref) Decode(state venue.State) (decoded venue.Pool, err error) {
	defer r.venue.caught(placeDecode, &err)
	inner, err := r.inner.Decode(state)
	switch {
	case err != nil:
		return nil, err
	case inner == nil:
		return nil, fmt.Errorf("%w: %w", venue.ErrMalformed, errNothing)
	}
	return wrap(r.venue, inner, inner.Address(), inner.Mints()), nil
}

// pool is a guarded pool.
type pool struct {
	venue   *gated
	inner   venue.Pool
	address venue.Key
	mints   [2]venue.Key
}

// wrap returns the guarded pool of an inner pool. It implements venue.Opener and venue.Chained if,
// and only if, the inner pool does.
func wrap(v *gated, inner venue.Pool, address venue.Key, mints [2]venue.Key) venue.Pool {
	p := &pool{v, inner, address, mints}
	switch inner := inner.(type) {
	case venue.Chained:
		return &chainedPool{&openerPool{p, inner}, inner}
	case venue.Opener:
		return &openerPool{p, inner}
	}
	return p
}

// guardedOf returns the pool inside a pool that wrap made; nil if wrap did not make p.
func guardedOf(p venue.Pool) *pool {
	switch p := p.(type) {
	case *pool:
		return p
	case *openerPool:
		return p.pool
	case *chainedPool:
		return p.pool
	}
	return nil
}

// Address implements venue.Pool.
func (p *pool) Address() venue.Key { return p.address }

// Mints implements venue.Pool.
func (p *pool) Mints() [2]venue.Key { return p.mints }

// Joints implements venue.Joint.
func (p *pool) Joints() []venue.Key { return venue.JointsOf(p.inner) }

// Ungated returns a pool of this package without its gate, and any other pool unchanged. The guard
// against panics stays.
func Ungated(p venue.Pool) venue.Pool {
	if own := guardedOf(p); own != nil {
		return wrap(&gated{guarded: own.venue.guarded}, own.inner, own.address, own.mints)
	}
	return p
}

// Quote implements venue.Pool. It refuses if the venue is stopped, or if the gate refuses the
// features of the quote.
func (p *pool) Quote(order venue.Order) (quote venue.Quote, err error) {
	if stop := p.venue.stopped(); stop != nil {
		return venue.Quote{}, stop
	}
	defer p.venue.caught(placeQuote, &err)
	if quote, err = p.inner.Quote(order); err == nil {
		err = p.venue.refuses(quote.Features)
	}
	if err != nil {
		return venue.Quote{}, err
	}
	return quote, nil
}

// Instructions implements venue.Pool. It refuses if the venue was stopped since the quote, or if
// the gate refuses the quote's features by now.
func (p *pool) Instructions(quote venue.Quote, limit uint64, user venue.UserAccounts) (list []venue.Instruction, err error) {
	if stop := p.venue.stopped(); stop != nil {
		return nil, stop
	}
	if err := p.venue.refuses(quote.Features); err != nil {
		return nil, err
	}
	defer p.venue.caught(placeInstructions, &err)
	return p.inner.Instructions(quote, limit, user)
}
