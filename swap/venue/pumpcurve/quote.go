package pumpcurve

import (
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/pumpfees"
)

// computeUnits is how many compute units a swap may use. At most 117,000 were measured, with
// version 2.
const computeUnits = 150_000

// Discriminators of the instructions by version: sha256("global:buy_v2")[:8] and so on.
var (
	buyOutV2 = [8]byte{0xb8, 0x17, 0xee, 0x61, 0x67, 0xc5, 0xd3, 0x3d}
	buyInV2  = [8]byte{0xc2, 0xab, 0x1c, 0x46, 0x68, 0x4d, 0x5b, 0x2f}
	sellV2   = [8]byte{0x5d, 0xf6, 0x82, 0x3c, 0xe7, 0xe9, 0x40, 0xb2}
	buyOutV3 = [8]byte{0x07, 0x05, 0x1d, 0xc4, 0xf5, 0x17, 0x65, 0x50}
	buyInV3  = [8]byte{0xe1, 0xf7, 0x50, 0x1e, 0xd5, 0xb3, 0x84, 0x88}
	sellV3   = [8]byte{0x1c, 0x92, 0xde, 0x77, 0x26, 0xc4, 0x69, 0xd5}
)

// Quote implements venue.Pool.
func (p *Pool) Quote(o venue.Order) (venue.Quote, error) {
	r, err := p.swap(o)
	if err != nil {
		return venue.Quote{}, err
	}
	q := venue.Quote{
		Order: o, Out: p.mints[1-r.side], AmountIn: r.in, AmountOut: r.out, ImpactBps: r.impact, ComputeUnits: computeUnits,
		Native: p.state.quoteMint == venue.Key{},
	}
	q.Fees.Add(venue.FeePool, r.side != quote, r.fees.Protocol)
	q.Fees.Add(venue.FeeCreator, r.side != quote, r.fees.Creator)
	q.Features = p.features(o, r.side)
	return q, nil
}

// Instructions implements venue.Pool: buy_exact_quote_in(spendable, minimum), buy(amount, maximum)
// or sell(amount, minimum). It uses version 3 if the curve's account keeps its fees itself, else
// version 2. Two cases always take version 2: coins with cashback, which version 3 does not take,
// and an exact-in purchase of all that the curve has left, as version 3 would go on buying from the
// coin's future pool. An exact-out sale sells the amount of the quote, with the amount asked for as
// minimum.
func (p *Pool) Instructions(q venue.Quote, limit uint64, user venue.UserAccounts) ([]venue.Instruction, error) {
	side, err := venue.Side(p.mints, q.Order.In)
	if err != nil {
		return nil, err
	}
	partial := side == quote && !q.Order.ExactOut && q.AmountOut == p.state.realTokens
	v3 := p.state.buckets && !p.state.cashback && !partial
	pick := func(two, three [8]byte) [8]byte {
		if v3 {
			return three
		}
		return two
	}
	var data []byte
	put := func(discriminator [8]byte, a, b uint64, more ...byte) {
		data = append(venue.InstructionData(discriminator[:], a, b), more...)
	}
	var fill byte
	if partial {
		fill = 1
	}
	switch {
	case side == coin && q.Order.ExactOut:
		put(pick(sellV2, sellV3), q.AmountIn, q.Order.Amount)
	case side == coin:
		put(pick(sellV2, sellV3), q.Order.Amount, limit)
	case q.Order.ExactOut:
		put(pick(buyOutV2, buyOutV3), q.Order.Amount, limit, fill)
	default:
		put(pick(buyInV2, buyInV3), q.Order.Amount, limit, fill)
	}
	keys := p.derive(user, side == quote)
	metas := keys.v2(side == quote)
	if v3 {
		metas = keys.v3()
	}
	if keys.err != nil {
		return nil, keys.err
	}
	return []venue.Instruction{{Program: Program, Data: data, Accounts: metas}}, nil
}

var (
	eventAuthority = venue.MustDerive(Program, []byte("__event_authority"))
	globalVolume   = venue.MustDerive(Program, []byte("global_volume_accumulator"))
)

// keys are the accounts of a trade.
type keys struct {
	*Pool
	user                           venue.Key
	userCoin, userQuote            venue.Key
	recipient, vault, volume       venue.Key
	sharing, curveCoin, curveQuote venue.Key
	err                            error
}

// derive derives the addresses of the accounts of a trade, for both versions of the instructions.
func (p *Pool) derive(user venue.UserAccounts, buys bool) *keys {
	k := &keys{Pool: p, user: user.Owner, userCoin: user.Source, userQuote: user.Destination, recipient: p.global.recipient}
	if buys {
		k.userCoin, k.userQuote = k.userQuote, k.userCoin
	}
	if p.state.mayhem {
		k.recipient = p.global.reserved
	}
	derive := func(program venue.Key, seed string, of venue.Key) venue.Key {
		address, err := venue.Derive(program, []byte(seed), of[:])
		if err != nil {
			k.err = err
		}
		return address
	}
	k.vault = derive(Program, "creator-vault", p.state.creator)
	k.volume = derive(Program, "user_volume_accumulator", user.Owner)
	k.sharing = derive(pumpfees.Program, "sharing-config", p.mints[coin])
	k.curveCoin, k.curveQuote = k.account(p.address, coin), k.account(p.address, quote)
	return k
}

// account returns an owner's associated token account for the mint of a side.
func (k *keys) account(owner venue.Key, side int) venue.Key {
	address, err := venue.AssociatedAccount(owner, k.mints[side], k.programs[side])
	if err != nil {
		k.err = err
	}
	return address
}

// v2 returns the accounts of an instruction of version 2, in the instruction's order.
func (k *keys) v2(buys bool) []venue.Meta {
	buyback := k.global.buyback
	list := []venue.Meta{
		{Key: Global}, {Key: k.mints[coin]}, {Key: k.mints[quote]}, {Key: k.programs[coin]}, {Key: k.programs[quote]}, {Key: venue.AssociatedProgram},
		{Key: k.recipient, Writable: true}, {Key: k.account(k.recipient, quote), Writable: true},
		{Key: buyback, Writable: true}, {Key: k.account(buyback, quote), Writable: true},
		{Key: k.address, Writable: true}, {Key: k.curveCoin, Writable: true}, {Key: k.curveQuote, Writable: true},
		{Key: k.user, Signer: true, Writable: true}, {Key: k.userCoin, Writable: true}, {Key: k.userQuote, Writable: true},
		{Key: k.vault, Writable: true}, {Key: k.account(k.vault, quote), Writable: true}, {Key: k.sharing},
	}
	if buys {
		list = append(list, venue.Meta{Key: globalVolume})
	}
	return append(list, []venue.Meta{
		{Key: k.volume, Writable: true}, {Key: k.account(k.volume, quote), Writable: true}, {Key: FeeConfig}, {Key: pumpfees.Program},
		{Key: venue.SystemProgram}, {Key: eventAuthority}, {Key: Program},
	}...)
}

// v3 returns the accounts of an instruction of version 3, in the instruction's order.
func (k *keys) v3() []venue.Meta {
	// Lamports go to the recipient's wallet, tokens to its token account.
	buyback := k.global.buyback
	if k.state.quoteMint != (venue.Key{}) {
		buyback = k.account(buyback, quote)
	}
	return []venue.Meta{
		{Key: Global}, {Key: k.mints[coin]}, {Key: k.mints[quote]}, {Key: k.programs[coin]}, {Key: k.programs[quote]},
		{Key: k.address, Writable: true}, {Key: k.curveCoin, Writable: true}, {Key: k.curveQuote, Writable: true},
		{Key: k.user, Signer: true, Writable: true}, {Key: k.userCoin, Writable: true}, {Key: k.userQuote, Writable: true},
		{Key: k.volume, Writable: true}, {Key: FeeConfig}, {Key: buyback, Writable: true}, {Key: venue.SystemProgram},
		{Key: eventAuthority}, {Key: Program},
	}
}
