package guard

import (
	"errors"
	"fmt"

	"github.com/mintlake/mintlake/swap/venue"
)

// ref is the guarded Ref of a pool.
type ref struct {
	venue              *gated
	inner              venue.Ref
	address            venue.Key
	mints              [2]venue.Key
	rank               uint64
	accounts, together []venue.Key
}

// Address implements venue.Ref.
func (r *ref) Address() venue.Key { return r.address }

// Mints implements venue.Ref.
func (r *ref) Mints() [2]venue.Key { return r.mints }

// Rank implements venue.Ref.
func (r *ref) Rank() uint64 { return r.rank }

// Accounts implements venue.Ref.
func (r *ref) Accounts() []venue.Key { return r.accounts }

// Together implements venue.Ref.
func (r *ref) Together() []venue.Key { return r.together }

// Decode implements venue.Ref.
func (r *ref) Decode(state venue.State) (decoded venue.Pool, err error) {
	defer r.venue.caught(placeDecode, &err)
	inner, err := r.inner.Decode(state)
	switch {
	case err != nil:
		return nil, err
	case inner == nil:
		return nil, fmt.Errorf("%w: %w", venue.ErrMalformed, errNoRef)
	}
	return &pool{venue: r.venue, inner: inner, address: inner.Address(), mints: inner.Mints()}, nil
}

var (
	_ venue.Chained = (*pool)(nil)
	_ venue.Opener  = (*pool)(nil)
)

// pool is a guarded pool.
type pool struct {
	venue   *gated
	inner   venue.Pool
	address venue.Key
	mints   [2]venue.Key
}

// Address implements venue.Pool.
func (p *pool) Address() venue.Key { return p.address }

// Mints implements venue.Pool.
func (p *pool) Mints() [2]venue.Key { return p.mints }

// Ungated returns a pool of this package without its gate, and any other pool unchanged.
func Ungated(p venue.Pool) venue.Pool {
	if own, ok := p.(*pool); ok {
		return &pool{&gated{guarded: own.venue.guarded}, own.inner, own.address, own.mints}
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
	if quote, err = p.inner.Quote(order); err != nil {
		return venue.Quote{}, err
	}
	if err = p.venue.refuses(quote.Features); err != nil {
		return venue.Quote{}, err
	}
	return quote, nil
}

// QuoteChain implements venue.Chained. Only pools of one venue are chained.
func (p *pool) QuoteChain(order venue.Order, next venue.Pool) (first, second venue.Quote, err error) {
	if stop := p.venue.stopped(); stop != nil {
		return first, second, stop
	}
	chained, last, err := p.chain(next)
	if err != nil {
		return first, second, err
	}
	defer p.venue.caught(placeQuote, &err)
	if first, second, err = chained.QuoteChain(order, last); err != nil {
		return first, second, err
	}
	return first, second, errors.Join(p.venue.refuses(first.Features), p.venue.refuses(second.Features))
}

// chain returns the inner pools of a chain.
func (p *pool) chain(next venue.Pool) (venue.Chained, venue.Pool, error) {
	chained, ok := p.inner.(venue.Chained)
	last, guarded := next.(*pool)
	if !ok || !guarded || last.venue.guarded != p.venue.guarded {
		return nil, nil, fmt.Errorf("%w: the venue does not chain these pools", venue.ErrUnverified)
	}
	return chained, last.inner, nil
}

// ChainInstructions implements venue.Chained. It refuses as Instructions does.
func (p *pool) ChainInstructions(first, second venue.Quote, next venue.Pool, limit uint64, user venue.UserAccounts) (list []venue.Instruction, err error) {
	if stop := p.venue.stopped(); stop != nil {
		return nil, stop
	}
	if err := errors.Join(p.venue.refuses(first.Features), p.venue.refuses(second.Features)); err != nil {
		return nil, err
	}
	chained, last, err := p.chain(next)
	if err != nil {
		return nil, err
	}
	defer p.venue.caught(placeInstructions, &err)
	return chained.ChainInstructions(first, second, last, limit, user)
}

// Opens implements venue.Opener. A pool that opens nothing returns an empty list.
func (p *pool) Opens(quote venue.Quote, user venue.Key) (list []venue.Opening, err error) {
	opener, ok := p.inner.(venue.Opener)
	if !ok {
		return nil, nil
	}
	defer p.venue.caught(placeInstructions, &err)
	return opener.Opens(quote, user)
}

// ChainOpens implements venue.Chained.
func (p *pool) ChainOpens(first venue.Quote, user venue.Key) (list []venue.Opening, err error) {
	chained, ok := p.inner.(venue.Chained)
	if !ok {
		return nil, nil
	}
	defer p.venue.caught(placeInstructions, &err)
	return chained.ChainOpens(first, user)
}

// After implements venue.Pool.
func (p *pool) After(quote venue.Quote) (next venue.Pool, err error) {
	defer p.venue.caught(placeAfter, &err)
	inner, err := p.inner.After(quote)
	switch {
	case err != nil:
		return nil, err
	case inner == nil:
		return nil, fmt.Errorf("%w: %w", venue.ErrMalformed, errNoRef)
	}
	return &pool{p.venue, inner, p.address, p.mints}, nil
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
