package guard

import (
	"errors"
	"fmt"

	"github.com/mintlake/mintlake/swap/venue"
)

// openerPool is a guarded venue.Opener.
type openerPool struct {
	*pool
	opener venue.Opener
}

// Opens implements venue.Opener.
func (p *openerPool) Opens(quote venue.Quote, user venue.Key) (list []venue.Opening, err error) {
	defer p.venue.caught(placeInstructions, &err)
	return p.opener.Opens(quote, user)
}

var _ venue.Chained = (*chainedPool)(nil)

// chainedPool is a guarded venue.Chained. It chains only with guarded pools of the same venue.
type chainedPool struct {
	*openerPool
	chained venue.Chained
}

var errOther = fmt.Errorf("%w: only pools of one venue are chained", venue.ErrUnverified)

// next returns the inner pool of next, the second pool of a chain.
func (p *chainedPool) next(next venue.Pool) (venue.Pool, error) {
	last := guardedOf(next)
	if last == nil || last.venue.guarded != p.venue.guarded {
		return nil, errOther
	}
	return last.inner, nil
}

// ask makes a quote by a call of the inner pool, with the checks of pool.Quote. pool.Quote repeats
// them without a function value, as a search for a route calls it hundreds of times.
func (p *chainedPool) ask(call func() (venue.Quote, error)) (quote venue.Quote, err error) {
	if stop := p.venue.stopped(); stop != nil {
		return venue.Quote{}, stop
	}
	defer p.venue.caught(placeQuote, &err)
	if quote, err = call(); err == nil {
		err = p.venue.refuses(quote.Features)
	}
	if err != nil {
		return venue.Quote{}, err
	}
	return quote, nil
}

// NeedsMiddle implements venue.Chained.
func (p *chainedPool) NeedsMiddle() bool { return p.chained.NeedsMiddle() }

// QuoteFirst implements venue.Chained. It refuses as Quote does.
func (p *chainedPool) QuoteFirst(order venue.Order) (quote venue.Quote, err error) {
	return p.ask(func() (venue.Quote, error) { return p.chained.QuoteFirst(order) })
}

// QuoteNext implements venue.Chained. It refuses as Quote does.
func (p *chainedPool) QuoteNext(first venue.Quote, next venue.Pool) (quote venue.Quote, err error) {
	last, err := p.next(next)
	if err != nil {
		return venue.Quote{}, err
	}
	return p.ask(func() (venue.Quote, error) { return p.chained.QuoteNext(first, last) })
}

// ChainInstructions implements venue.Chained. It refuses as Instructions does.
func (p *chainedPool) ChainInstructions(first, second venue.Quote, next venue.Pool, limit uint64, user venue.UserAccounts) (list []venue.Instruction, err error) {
	if stop := p.venue.stopped(); stop != nil {
		return nil, stop
	}
	if err := errors.Join(p.venue.refuses(first.Features), p.venue.refuses(second.Features)); err != nil {
		return nil, err
	}
	last, err := p.next(next)
	if err != nil {
		return nil, err
	}
	defer p.venue.caught(placeInstructions, &err)
	return p.chained.ChainInstructions(first, second, last, limit, user)
}

// ChainOpens implements venue.Chained.
func (p *chainedPool) ChainOpens(first venue.Quote, user venue.Key) (list []venue.Opening, err error) {
	defer p.venue.caught(placeInstructions, &err)
	return p.chained.ChainOpens(first, user)
}
