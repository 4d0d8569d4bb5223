package pumpcurve

import "github.com/mintlake/mintlake/swap/venue"

// After implements venuetest.Pool.
func (p *Pool) After(q venue.Quote) (venue.Pool, error) {
	r, err := p.swap(q.Order)
	if err != nil {
		return nil, err
	}
	next := *p
	s := &next.state
	if r.side == quote {
		s.tokens, s.realTokens, s.quote, s.realQuote = s.tokens-r.out, s.realTokens-r.out, s.quote+r.net, s.realQuote+r.net
		s.complete = s.realTokens == 0
	} else {
		s.tokens, s.realTokens, s.quote, s.realQuote = s.tokens+r.in, s.realTokens+r.in, s.quote-r.net, s.realQuote-r.net
	}
	return &next, nil
}
