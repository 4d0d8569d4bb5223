package launchlab

import (
	"fmt"
	"math/bits"

	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// computeUnits is how many compute units a swap may use. A sale of April 2026 used 72,720. A swap
// that opens both accounts for fees takes more.
const computeUnits = 150_000

// accountsOfSwap is how many accounts an instruction names, the program among them.
const accountsOfSwap = 19

// rateDenominator is 100 % as a fee rate: rates are in millionths.
const rateDenominator = 1_000_000

// statusFunding is the status of a curve that trades. With a later status the coin waits to move to
// a pool, or has moved.
const statusFunding = 0

// Discriminators: sha256("global:buy_exact_in")[:8], and so on.
var (
	buyExactIn   = [8]byte{0xfa, 0xea, 0x0d, 0x7b, 0xd5, 0x9c, 0x13, 0xec}
	buyExactOut  = [8]byte{0x18, 0xd3, 0x74, 0x28, 0x69, 0x03, 0x99, 0x38}
	sellExactIn  = [8]byte{0x95, 0x27, 0xde, 0x9b, 0xd3, 0x7c, 0x98, 0x1a}
	sellExactOut = [8]byte{0x5f, 0xc8, 0x47, 0x22, 0x08, 0x09, 0x0b, 0xa6}
)

// Pool is a curve's state at one slot.
type Pool struct {
	address  venue.Key
	state    state
	config   *config
	platform *platform
	mints    [2]*mint.Mint
}

// check refuses what the arithmetic does not cover.
func (p *Pool) check() error {
	if p.config.quoteMint != p.state.mints[quote] {
		return fmt.Errorf("%w: its config is of another token", venue.ErrMalformed)
	}
	if p.state.programs>>2 != 0 {
		return fmt.Errorf("%w: token programs %d", venue.ErrUnverified, p.state.programs)
	}
	for side, m := range p.mints {
		switch {
		case (p.state.programs>>side&1 == 1) != (m.Program == mint.Token2022):
			return fmt.Errorf("%w: a mint of another program", venue.ErrMalformed)
		case m.Taxed():
			// It is not documented whether an order's limits include the transfer fee.
			return fmt.Errorf("%w: a mint with a transfer fee", venue.ErrUnverified)
		}
	}
	_, err := p.rate()
	return err
}

// rate returns the sum of the fee rates of the program, the site and the creator, in millionths.
func (p *Pool) rate() (uint64, error) {
	rate := uint64(0)
	for _, r := range []uint64{p.config.tradeRate, p.platform.rate, p.platform.creatorRate} {
		sum, over := bits.Add64(rate, r, 0)
		if rate = sum; over != 0 || rate >= rateDenominator {
			return 0, fmt.Errorf("%w: fees of all or more", venue.ErrClosed)
		}
	}
	return rate, nil
}

// Address implements venue.Pool.
func (p *Pool) Address() venue.Key { return p.address }

// Mints implements venue.Pool.
func (p *Pool) Mints() [2]venue.Key { return p.state.mints }

// result is the result of a swap. in reaches the pool and out leaves it. fee is in the quote token:
// in includes it in a purchase, and out is without it in a sale.
type result struct {
	side    int
	in, out uint64
	fee     uint64
	impact  uint64
}

// swap computes an order. The fee is in the quote token. It is ⌈amount·rate⌉ of an amount that
// includes it. If the amount without the fee is given, ⌈amount/(1−rate)⌉ is the amount that
// includes it.
func (p *Pool) swap(o venue.Order) (r result, err error) {
	if r.side, err = venue.Side(p.state.mints, o.In); err != nil {
		return r, err
	}
	if p.state.status != statusFunding {
		return r, fmt.Errorf("%w: the curve is complete", venue.ErrClosed)
	}
	rate, err := p.rate()
	if err != nil {
		return r, err
	}
	amount, err := p.pair(r.side).AtPool(o)
	if err != nil {
		return r, err
	}
	buys := r.side == quote
	if r.in, r.out, r.fee, r.impact, err = p.exchange(amount, rate, o.ExactOut, buys); err != nil {
		return r, err
	}
	return r, p.bounds(&r, buys)
}

// exchange adds the fees to a trade on the curve.
func (p *Pool) exchange(amount, rate uint64, exactOut, buys bool) (in, out, fee, impact uint64, err error) {
	onCurve, ok := amount, true
	switch {
	case buys && !exactOut:
		fee, ok = arith.MulDivUp(amount, rate, rateDenominator)
		onCurve -= fee
	case !buys && exactOut:
		onCurve, ok = arith.MulDivUp(amount, rateDenominator, rateDenominator-rate)
		fee = onCurve - amount
	}
	if !ok {
		return 0, 0, 0, 0, errLarge
	}
	m, err := p.state.trade(p.config.kind, onCurve, exactOut, buys)
	if err != nil {
		return 0, 0, 0, 0, err
	}
	in, out = m.in, m.out
	switch {
	case buys && !exactOut:
		in = amount
	case buys:
		in, ok = arith.MulDivUp(m.in, rateDenominator, rateDenominator-rate)
		fee = in - m.in
	case !exactOut:
		fee, ok = arith.MulDivUp(m.out, rate, rateDenominator)
		out = m.out - fee
	default:
		out = amount
	}
	if !ok {
		return 0, 0, 0, 0, errLarge
	}
	return in, out, fee, m.impact, nil
}

// bounds refuses a swap of more than the curve has. The program fills a purchase beyond the end of
// the curve in part, which a quote cannot express.
func (p *Pool) bounds(r *result, buys bool) error {
	s := &p.state
	switch {
	case r.in == 0 || r.out == 0:
		return venue.ErrTooSmall
	case buys && r.out > s.totalSell-s.realBase:
		return errEnd
	case buys && r.in > ^uint64(0)-s.realQuote:
		return errLarge
	case !buys && (r.in > s.realBase || sum(r.out, r.fee) > s.realQuote):
		return fmt.Errorf("%w: the curve never sold so much", venue.ErrNoLiquidity)
	}
	return nil
}

func (p *Pool) pair(side int) venue.Pair { return venue.Pair{In: p.mints[side], Out: p.mints[1-side]} }

// Quote implements venue.Pool.
func (p *Pool) Quote(o venue.Order) (venue.Quote, error) {
	r, err := p.swap(o)
	if err != nil {
		return venue.Quote{}, err
	}
	q, err := p.pair(r.side).Settle(o, r.in, r.out)
	if err != nil {
		return venue.Quote{}, err
	}
	sells, creator := r.side == base, uint64(0)
	if rate, _ := p.rate(); rate > 0 {
		creator, _ = arith.MulDiv(r.fee, p.platform.creatorRate, rate)
	}
	q.Fees.Add(venue.FeePool, sells, r.fee-creator)
	q.Fees.Add(venue.FeeCreator, sells, creator)
	q.ImpactBps, q.ComputeUnits, q.Accounts = r.impact, computeUnits, accountsOfSwap
	q.Features = q.Features.With(featureExactOut, o.ExactOut).With(featureSale, sells).With(featureFixed, p.config.kind == kindFixed).
		With(featureLinear, p.config.kind == kindLinear).With(featureCreatorFee, p.platform.creatorRate != 0)
	return q, nil
}

// Instructions implements venue.Pool: buy_exact_in(amount, limit, share), and so on. share is the
// fee rate of a referrer. It is 0 here.
func (p *Pool) Instructions(q venue.Quote, limit uint64, user venue.UserAccounts) ([]venue.Instruction, error) {
	side, err := venue.Side(p.state.mints, q.Order.In)
	if err != nil {
		return nil, err
	}
	discriminator := [2][2][8]byte{base: {sellExactIn, sellExactOut}, quote: {buyExactIn, buyExactOut}}[side]
	data, users := discriminator[0], [2]venue.Key{user.Source, user.Destination}
	if q.Order.ExactOut {
		data = discriminator[1]
	}
	if side == quote {
		users = [2]venue.Key{user.Destination, user.Source}
	}
	vaults, err := p.feeVaults()
	if err != nil {
		return nil, err
	}
	s := &p.state
	return []venue.Instruction{{Program: Program, Data: venue.InstructionData(data[:], q.Order.Amount, limit, 0), Accounts: []venue.Meta{
		{Key: user.Owner, Signer: true, Writable: true}, {Key: Authority}, {Key: s.config}, {Key: s.platform}, {Key: p.address, Writable: true},
		{Key: users[base], Writable: true}, {Key: users[quote], Writable: true}, {Key: s.vaults[base], Writable: true}, {Key: s.vaults[quote], Writable: true},
		{Key: s.mints[base]}, {Key: s.mints[quote]}, {Key: p.mints[base].Program}, {Key: p.mints[quote].Program}, {Key: eventAuthority}, {Key: Program},
		{Key: venue.SystemProgram}, {Key: vaults[0], Writable: true}, {Key: vaults[1], Writable: true},
	}}}, nil
}

// feeVaults returns the token accounts for the fees of the site and of the creator.
func (p *Pool) feeVaults() (vaults [2]venue.Key, err error) {
	token := p.state.mints[quote]
	for i, of := range [2]venue.Key{p.state.platform, p.state.creator} {
		if vaults[i], err = venue.Derive(Program, of[:], token[:]); err != nil {
			return vaults, err
		}
	}
	return vaults, nil
}

var _ venue.Opener = (*Pool)(nil)

// Opens implements venue.Opener. It returns the token accounts for fees: the user of the first swap
// that needs them pays for them.
func (p *Pool) Opens(venue.Quote, venue.Key) ([]venue.Opening, error) {
	vaults, err := p.feeVaults()
	if err != nil {
		return nil, err
	}
	const size = 165 // of a token account
	program := p.mints[quote].Program
	return []venue.Opening{{Account: vaults[0], Owner: program, Size: size}, {Account: vaults[1], Owner: program, Size: size}}, nil
}
