package whirlpool

import (
	"fmt"

	"github.com/mintlake/mintlake/swap/venue"
)

// twoHopV2 is the discriminator of two_hop_swap_v2, which swaps over two pools. The token in the
// middle goes from vault to vault, so a transfer fee on it is taken once.
var twoHopV2 = [8]byte{0xba, 0x8f, 0xd1, 0x1d, 0xfe, 0x02, 0xc2, 0x75}

var _ venue.Chained = (*Pool)(nil)

var errChain = fmt.Errorf("%w: the program chains two different pools of its own", venue.ErrUnverified)

// Opens implements venue.Opener.
func (p *Pool) Opens(venue.Quote, venue.Key) ([]venue.Opening, error) { return nil, nil }

// ChainOpens implements venue.Chained.
func (p *Pool) ChainOpens(venue.Quote, venue.Key) ([]venue.Opening, error) { return nil, nil }

// NeedsMiddle implements venue.Chained: the token in the middle goes from vault to vault.
func (p *Pool) NeedsMiddle() bool { return false }

// QuoteFirst implements venue.Chained.
func (p *Pool) QuoteFirst(o venue.Order) (venue.Quote, error) {
	if o.ExactOut {
		return venue.Quote{}, fmt.Errorf("%w: only exact-in orders are chained", venue.ErrUnverified)
	}
	return chained(p.Quote(o))
}

// chained marks a quote as one of a chain. It clears Accounts, as the instruction of a chain has
// more than venue.MostData bytes.
func chained(q venue.Quote, err error) (venue.Quote, error) {
	q.Features |= featureTwoHop
	q.Accounts = 0
	return q, err
}

// QuoteNext implements venue.Chained.
func (p *Pool) QuoteNext(first venue.Quote, next venue.Pool) (venue.Quote, error) {
	last, ok := next.(*Pool)
	if !ok || last.program != p.program || last.address == p.address {
		return venue.Quote{}, errChain
	}
	// The transfer fee of the token in the middle is taken once, by the quote of the second swap.
	sent := first.AmountOut
	for _, fee := range first.Fees.List() {
		if fee.Kind == venue.FeeTransfer && fee.OnOutput {
			sent += fee.Amount
		}
	}
	return chained(last.Quote(venue.Order{In: first.Out, Amount: sent, Clock: first.Order.Clock}))
}

// ChainInstructions implements venue.Chained: two_hop_swap_v2(amount, minimum, exact in, a to b in
// each pool, no price limits, no further accounts).
func (p *Pool) ChainInstructions(first, second venue.Quote, next venue.Pool, limit uint64, user venue.UserAccounts) ([]venue.Instruction, error) {
	last, ok := next.(*Pool)
	if !ok || last.program != p.program || last.address == p.address {
		return nil, errChain
	}
	hops := [2]hop{{pool: p}, {pool: last}}
	for i, in := range [2]venue.Key{first.Order.In, second.Order.In} {
		if err := hops[i].locate(in); err != nil {
			return nil, err
		}
	}
	data := venue.InstructionData(twoHopV2[:], first.Order.Amount, limit)
	data = append(data, 1, flag(hops[0].side == 0), flag(hops[1].side == 0))
	data = append(data, make([]byte, 16+16+1)...)
	from, to := hops[0], hops[1]
	metas := []venue.Meta{
		{Key: p.address, Writable: true}, {Key: last.address, Writable: true},
		{Key: first.Order.In}, {Key: first.Out}, {Key: second.Out},
		{Key: p.mints[from.side].Program}, {Key: p.mints[1-from.side].Program}, {Key: last.mints[1-to.side].Program},
		{Key: user.Source, Writable: true}, {Key: p.state.vaults[from.side], Writable: true}, {Key: p.state.vaults[1-from.side], Writable: true},
		{Key: last.state.vaults[to.side], Writable: true}, {Key: last.state.vaults[1-to.side], Writable: true}, {Key: user.Destination, Writable: true},
		{Key: user.Owner, Signer: true},
	}
	metas = append(append(metas, from.arrays...), to.arrays...)
	metas = append(metas, venue.Meta{Key: from.oracle, Writable: true}, venue.Meta{Key: to.oracle, Writable: true}, venue.Meta{Key: memoProgram})
	return []venue.Instruction{{Program: p.program, Data: data, Accounts: metas}}, nil
}

// hop is one swap of a chain. side is the index of the mint that is sold.
type hop struct {
	pool   *Pool
	side   int
	arrays []venue.Meta
	oracle venue.Key
}

// locate sets the side and the accounts of a hop that sells the mint in.
func (h *hop) locate(in venue.Key) (err error) {
	if h.side, err = venue.Side(h.pool.state.mints, in); err != nil {
		return err
	}
	if h.arrays, err = h.pool.arrayMetas(h.side == 0); err != nil {
		return err
	}
	h.oracle, err = oracleOf(h.pool.program, h.pool.address)
	return err
}
