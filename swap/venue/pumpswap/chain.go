package pumpswap

import (
	"fmt"

	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/pumpfees"
)

// multiHop is the discriminator of multi_hop_swap (pump_amm.json and math/amm.rs of
// pump-rust-client 0.5.0), which swaps over several pools that pump made itself. All hops buy, or
// all sell: a coin may be quoted in another coin, which is quoted in SOL. The hop that trades the
// user's currency pays the protocol's fee. The hop that trades the coin at the other end pays the
// fees of the creator and the liquidity providers.
var multiHop = [8]byte{0x2b, 0x64, 0x49, 0x13, 0xe9, 0xf6, 0x6f, 0x94}

// chainUnits is how many compute units each hop of multi_hop_swap may use.
const chainUnits = 90_000

// The accounts of pump's curve program that multi_hop_swap always names.
var (
	curveGlobal = venue.MustDerive(Curve, []byte("global"))
	curveFees   = venue.MustDerive(pumpfees.Program, []byte("fee_config"), Curve[:])
	curveEvents = venue.MustDerive(Curve, []byte("__event_authority"))
)

// hop is one swap of a chain.
type hop struct {
	pool *Pool
	// currency says that the hop trades the user's currency, target that it trades the coin at the
	// other end of the chain.
	currency, target bool
}

var _ venue.Chained = (*Pool)(nil)

// NeedsMiddle implements venue.Chained: the token in the middle goes from vault to vault.
func (p *Pool) NeedsMiddle() bool { return false }

// QuoteFirst implements venue.Chained.
func (p *Pool) QuoteFirst(o venue.Order) (venue.Quote, error) {
	side, err := venue.Side(p.Mints(), o.In)
	if err != nil {
		return venue.Quote{}, err
	}
	if o.ExactOut {
		return venue.Quote{}, fmt.Errorf("%w: only exact-in orders are chained", venue.ErrUnverified)
	}
	// A chain that buys begins with the user's currency, a chain that sells with the coin.
	h := hop{p, side == quote, side != quote}
	if err := h.check(); err != nil {
		return venue.Quote{}, err
	}
	return h.quote(o)
}

// QuoteNext implements venue.Chained.
func (p *Pool) QuoteNext(first venue.Quote, next venue.Pool) (venue.Quote, error) {
	last, ok := next.(*Pool)
	if !ok {
		return venue.Quote{}, errOther
	}
	hops, err := chainOf(p, last, first.Order.In)
	if err != nil {
		return venue.Quote{}, err
	}
	return hops[1].quote(venue.Order{In: first.Out, Amount: first.AmountOut, Clock: first.Order.Clock})
}

var errOther = fmt.Errorf("%w: only pools of PumpSwap are chained", venue.ErrUnverified)

// chainOf returns the two hops of a chain whose first pool is sold the mint in.
func chainOf(first, last *Pool, in venue.Key) ([2]hop, error) {
	from, err := venue.Side(first.Mints(), in)
	if err != nil {
		return [2]hop{}, err
	}
	to, err := venue.Side(last.Mints(), first.Mints()[1-from])
	if err != nil {
		return [2]hop{}, err
	}
	buys := from == quote
	hops := [2]hop{{first, buys, !buys}, {last, !buys, buys}}
	if from != to || first.address == last.address {
		return hops, fmt.Errorf("%w: a chain buys twice or sells twice", venue.ErrUnverified)
	}
	for _, h := range hops {
		if err := h.check(); err != nil {
			return hops, err
		}
	}
	return hops, nil
}

// check refuses a pool that the program does not chain, or for which the user would pay more than
// the fees of the trade.
func (h hop) check() error {
	s := &h.pool.state
	switch {
	case !h.pool.canonical:
		return fmt.Errorf("%w: a chain is over pools that pump made", venue.ErrUnverified)
	case s.mayhem, s.cashback && h.target:
		return fmt.Errorf("%w: a chain does not take mayhem pools, nor cashback where the creator is paid", venue.ErrUnverified)
	case s.short:
		return fmt.Errorf("%w: the program would make the pool's account longer, at the user's expense", venue.ErrUnverified)
	case h.pool.config.buyback == (venue.Key{}):
		return fmt.Errorf("%w: nobody is named to whom the chain's fee is paid", venue.ErrUnverified)
	}
	return nil
}

// quote answers an exact-in order to the hop's pool.
func (h hop) quote(o venue.Order) (venue.Quote, error) {
	p := h.pool
	side, err := venue.Side(p.Mints(), o.In)
	if err != nil {
		return venue.Quote{}, err
	}
	reserve, rates, err := p.open(side, o.Amount)
	if err != nil {
		return venue.Quote{}, err
	}
	if !h.currency {
		rates.Protocol = 0
	}
	if !h.target {
		rates.LP, rates.Creator = 0, 0
	}
	r := result{side: side}
	if side == quote {
		err = p.buyIn(&r, o.Amount, reserve, rates, true)
	} else {
		err = p.sellIn(&r, o.Amount, reserve, rates)
	}
	if err != nil {
		return venue.Quote{}, err
	}
	if err := p.checkHeld(&r); err != nil {
		return venue.Quote{}, err
	}
	q := p.quoteOf(o, &r)
	q.ComputeUnits = chainUnits
	q.Features |= FeatureMultiHop
	return q, nil
}

// ChainInstructions implements venue.Chained: the creation of the account to which a part of the
// protocol's fee is paid, if it is missing, and multi_hop_swap(amount, minimum).
func (p *Pool) ChainInstructions(first, _ venue.Quote, next venue.Pool, limit uint64, user venue.UserAccounts) ([]venue.Instruction, error) {
	last, ok := next.(*Pool)
	if !ok {
		return nil, errOther
	}
	hops, err := chainOf(p, last, first.Order.In)
	if err != nil {
		return nil, err
	}
	// The user's currency is the quote mint of the hop that trades it.
	paying := hops[0].pool
	if hops[1].currency {
		paying = hops[1].pool
	}
	d := deriver{}
	recipient, currency, program := paying.config.buyback, paying.state.quote, paying.mints[quote].Program
	account := d.associated(recipient, currency, program)
	metas := []venue.Meta{
		{Key: user.Owner, Signer: true, Writable: true}, {Key: user.Source, Writable: true}, {Key: user.Destination, Writable: true},
		{Key: GlobalConfig}, {Key: FeeConfig}, {Key: d.address([]byte("user_volume_accumulator"), user.Owner[:]), Writable: true},
		{Key: account, Writable: true}, {Key: mint.Token}, {Key: mint.Token2022}, {Key: venue.SystemProgram}, {Key: eventAuthority}, {Key: Program},
		{Key: Curve}, {Key: curveGlobal}, {Key: curveFees}, {Key: curveEvents},
	}
	for _, h := range hops {
		s := &h.pool.state
		metas = append(metas, venue.Meta{Key: s.base}, venue.Meta{Key: s.quote}, venue.Meta{Key: h.pool.address, Writable: true},
			venue.Meta{Key: s.baseVault, Writable: true}, venue.Meta{Key: s.quoteVault, Writable: true})
	}
	// The program refuses a minimum of 0.
	data := venue.InstructionData(multiHop[:], first.Order.Amount, max(limit, 1))
	return []venue.Instruction{
		venue.CreateAssociated(user.Owner, recipient, account, currency, program),
		{Program: Program, Data: data, Accounts: metas},
	}, d.err
}
