package pumpswap

import (
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/pumpfees"
)

// computeUnits is how many compute units a swap may use. At most 100,000 were measured, the most
// with cashback.
const computeUnits = 130_000

// Discriminators of the instructions: sha256("global:buy")[:8] and so on.
var (
	buyOut = [8]byte{0x66, 0x06, 0x3d, 0x12, 0x01, 0xda, 0xeb, 0xea}
	buyIn  = [8]byte{0xc6, 0x2e, 0x15, 0x52, 0xb4, 0xd9, 0xe8, 0x70}
	sell   = [8]byte{0x33, 0xe6, 0x85, 0xa4, 0x01, 0x7f, 0x83, 0xad}
)

// Quote implements venue.Pool.
func (p *Pool) Quote(o venue.Order) (venue.Quote, error) {
	r, err := p.swap(o)
	if err != nil {
		return venue.Quote{}, err
	}
	return p.quoteOf(o, &r), nil
}

// quoteOf returns the quote of a result.
func (p *Pool) quoteOf(o venue.Order, r *result) venue.Quote {
	q := venue.Quote{
		Order: o, Out: p.Mints()[1-r.side], AmountIn: r.in, AmountOut: r.out, ImpactBps: r.impact, ComputeUnits: computeUnits,
	}
	q.Fees.Add(venue.FeePool, r.side != quote, r.fees.LP+r.fees.Protocol)
	q.Fees.Add(venue.FeeCreator, r.side != quote, r.fees.Creator)
	q.Features = p.features(o, r.side)
	return q
}

// Instructions implements venue.Pool: buy_exact_quote_in(spendable, minimum), buy(amount, maximum)
// or sell(amount, minimum). An exact-out sale sells the amount of the quote, with the amount asked
// for as minimum.
func (p *Pool) Instructions(q venue.Quote, limit uint64, user venue.UserAccounts) ([]venue.Instruction, error) {
	side, err := venue.Side(p.Mints(), q.Order.In)
	if err != nil {
		return nil, err
	}
	var data []byte
	put := func(discriminator [8]byte, a, b uint64, more ...byte) {
		data = append(venue.InstructionData(discriminator[:], a, b), more...)
	}
	const trackVolume = 1
	switch {
	case side == base && q.Order.ExactOut:
		put(sell, q.AmountIn, q.Order.Amount)
	case side == base:
		put(sell, q.Order.Amount, limit)
	case q.Order.ExactOut:
		put(buyOut, q.Order.Amount, limit, trackVolume)
	default:
		put(buyIn, q.Order.Amount, limit, trackVolume)
	}
	metas, err := p.accounts(side == quote, paysCreator(q), user)
	if err != nil {
		return nil, err
	}
	return []venue.Instruction{{Program: Program, Data: data, Accounts: metas}}, nil
}

var (
	eventAuthority = venue.MustDerive(Program, []byte("__event_authority"))
	globalVolume   = venue.MustDerive(Program, []byte("global_volume_accumulator"))
)

// deriver derives addresses. err is the last error.
type deriver struct{ err error }

func (d *deriver) address(seeds ...[]byte) venue.Key {
	key, err := venue.Derive(Program, seeds...)
	if err != nil {
		d.err = err
	}
	return key
}

func (d *deriver) associated(owner, mint, program venue.Key) venue.Key {
	key, err := venue.AssociatedAccount(owner, mint, program)
	if err != nil {
		d.err = err
	}
	return key
}

// accounts returns the accounts of buy and sell. Behind the accounts that the interface declares
// come more, which depend on the coin (offlinePumpAmm.ts of pump-swap-sdk 1.20.0). The program
// reads those of the creator only if the swap pays a creator fee.
func (p *Pool) accounts(buys, paysCreator bool, user venue.UserAccounts) ([]venue.Meta, error) {
	s, d := &p.state, deriver{}
	programs := [2]venue.Key{p.mints[base].Program, p.mints[quote].Program}
	recipient := p.config.recipient
	if s.mayhem {
		recipient = p.config.reserved
	}
	vaultAuthority := d.address([]byte("creator_vault"), s.coinCreator[:])
	volume := d.address([]byte("user_volume_accumulator"), user.Owner[:])
	userBase, userQuote := user.Source, user.Destination
	if buys {
		userBase, userQuote = user.Destination, user.Source
	}
	list := []venue.Meta{
		{Key: p.address, Writable: true}, {Key: user.Owner, Signer: true, Writable: true}, {Key: GlobalConfig}, {Key: s.base}, {Key: s.quote},
		{Key: userBase, Writable: true}, {Key: userQuote, Writable: true}, {Key: s.baseVault, Writable: true}, {Key: s.quoteVault, Writable: true},
		{Key: recipient}, {Key: d.associated(recipient, s.quote, programs[quote]), Writable: true}, {Key: programs[base]}, {Key: programs[quote]},
		{Key: venue.SystemProgram}, {Key: venue.AssociatedProgram}, {Key: eventAuthority}, {Key: Program},
		{Key: d.associated(vaultAuthority, s.quote, programs[quote]), Writable: true}, {Key: vaultAuthority},
	}
	if buys {
		list = append(list, venue.Meta{Key: globalVolume}, venue.Meta{Key: volume, Writable: true})
	}
	list = append(list, venue.Meta{Key: FeeConfig}, venue.Meta{Key: pumpfees.Program})
	if s.cashback && paysCreator {
		list = append(list, venue.Meta{Key: d.associated(volume, s.quote, programs[quote]), Writable: true})
		if !buys {
			list = append(list, venue.Meta{Key: volume, Writable: true})
		}
	}
	if paysCreator {
		list = append(list, venue.Meta{Key: d.address([]byte("pool-v2"), s.base[:])})
	}
	if p.config.buyback != (venue.Key{}) {
		list = append(list, venue.Meta{Key: p.config.buyback}, venue.Meta{Key: d.associated(p.config.buyback, s.quote, programs[quote]), Writable: true})
	}
	return list, d.err
}
