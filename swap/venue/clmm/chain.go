package clmm

import (
	"fmt"

	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
)

// swapRouter is sha256("global:swap_router_base_in")[:8]. The instruction swaps over several pools:
// all that a pool pays into the user's account is sold to the next pool.
var swapRouter = [8]byte{0x45, 0x7d, 0x73, 0xda, 0xf5, 0xba, 0xf2, 0xc4}

var _ venue.Chained = (*Pool)(nil)

var errChain = fmt.Errorf("%w: the program chains two different pools of its own", venue.ErrUnverified)

// Opens implements venue.Opener.
func (p *Pool) Opens(venue.Quote, venue.Key) ([]venue.Opening, error) { return nil, nil }

// ChainOpens implements venue.Chained.
func (p *Pool) ChainOpens(venue.Quote, venue.Key) ([]venue.Opening, error) { return nil, nil }

// NeedsMiddle implements venue.Chained: each pool pays into the user's account.
func (p *Pool) NeedsMiddle() bool { return true }

// QuoteFirst implements venue.Chained.
func (p *Pool) QuoteFirst(o venue.Order) (venue.Quote, error) {
	if o.ExactOut {
		return venue.Quote{}, fmt.Errorf("%w: only exact-in orders are chained", venue.ErrUnverified)
	}
	q, err := p.Quote(o)
	q.Features |= featureTwoHop
	return q, err
}

// QuoteNext implements venue.Chained. A transfer fee on the token in the middle is taken twice: on
// the way to the user's account, and from there.
func (p *Pool) QuoteNext(first venue.Quote, next venue.Pool) (venue.Quote, error) {
	last, err := p.last(next)
	if err != nil {
		return venue.Quote{}, err
	}
	return last.QuoteFirst(venue.Order{In: first.Out, Amount: first.AmountOut, Clock: first.Order.Clock})
}

// last returns next as the second pool of a chain that begins with p.
func (p *Pool) last(next venue.Pool) (*Pool, error) {
	last, ok := next.(*Pool)
	if !ok || last.program != p.program || last.address == p.address {
		return nil, errChain
	}
	return last, nil
}

// ChainInstructions implements venue.Chained: swap_router_base_in(amount_in, amount_out_minimum).
// The program requires that the sold mint is writable.
func (p *Pool) ChainInstructions(first, second venue.Quote, next venue.Pool, limit uint64, user venue.UserAccounts) ([]venue.Instruction, error) {
	last, err := p.last(next)
	if err != nil {
		return nil, err
	}
	metas := append(make([]venue.Meta, 0, first.Accounts+second.Accounts),
		venue.Meta{Key: user.Owner, Signer: true}, venue.Meta{Key: user.Source, Writable: true}, venue.Meta{Key: first.Order.In, Writable: true},
		venue.Meta{Key: mint.Token}, venue.Meta{Key: mint.Token2022}, venue.Meta{Key: memoProgram},
	)
	if metas, err = p.appendHop(metas, first.Order, user.Middle); err != nil {
		return nil, err
	}
	if metas, err = last.appendHop(metas, second.Order, user.Destination); err != nil {
		return nil, err
	}
	return []venue.Instruction{{Program: p.program, Data: venue.InstructionData(swapRouter[:], first.Order.Amount, limit), Accounts: metas}}, nil
}

// appendHop appends the accounts of one pool of a chain. to is the user's account into which the
// pool pays.
func (p *Pool) appendHop(metas []venue.Meta, o venue.Order, to venue.Key) ([]venue.Meta, error) {
	r, err := p.swap(o)
	if err != nil {
		return nil, err
	}
	s, in, out := &p.state, r.side, 1-r.side
	metas = append(metas,
		venue.Meta{Key: s.config}, venue.Meta{Key: p.address, Writable: true}, venue.Meta{Key: to, Writable: true},
		venue.Meta{Key: s.vaults[in], Writable: true}, venue.Meta{Key: s.vaults[out], Writable: true}, venue.Meta{Key: s.mints[out]},
		venue.Meta{Key: s.observation, Writable: true},
	)
	return append(metas, p.arrayMetas(&r)...), nil
}
