package dammv1

import (
	"errors"
	"fmt"
	"math/bits"
	"sort"

	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// computeUnits and computeUnitsStable are how many compute units a swap may use on a curve x·y and
// on a stable curve. 109,000 were measured with x·y, and up to 196,000 with a stable curve.
const computeUnits, computeUnitsStable = 150_000, 280_000

// accountsOfSwap is how many accounts the instruction names at most, its program among them.
const accountsOfSwap = 17

// swapName is sha256("global:swap")[:8].
var swapName = [8]byte{0xf8, 0xc6, 0x9e, 0x91, 0xe1, 0x75, 0x87, 0xc8}

// market is a pool at a point in time, for one direction.
type market struct {
	*Pool
	side    int
	now     uint64
	in, out holding
	trade   trade
	// read says that the price of token b is read from the stake account.
	read bool
}

// result is the result of a swap.
type result struct {
	// in leaves the user and out reaches the user. fee is a part of in. It includes the protocol's
	// part.
	in, out, fee uint64
	// traded is what the curve took, given what it gave before rounding to shares.
	traded, given uint64
	// after has the pool's holdings after the swap: of the token that is sold, then of the token
	// that is bought.
	after [2]holding
}

// open returns the market for an order. It returns an error if the pool does not trade at the
// order's time.
func (p *Pool) open(o *venue.Order) (m market, err error) {
	m.Pool = p
	if m.side, err = venue.Side(p.state.mints, o.In); err != nil {
		return m, err
	}
	point := o.Clock.Slot
	if p.state.byTime {
		point = uint64(max(o.Clock.UnixTime, 0))
	}
	switch {
	case !p.state.enabled:
		return m, fmt.Errorf("%w: it is disabled", venue.ErrClosed)
	case point < p.state.activation:
		return m, fmt.Errorf("%w: it opens at %d", venue.ErrClosed, p.state.activation)
	case !p.sides[m.side].vault.enabled:
		return m, fmt.Errorf("%w: the vault takes nothing", venue.ErrClosed)
	case o.Clock.UnixTime < 0:
		return m, fmt.Errorf("%w: at a time before 1970", venue.ErrClosed)
	}
	m.now = uint64(o.Clock.UnixTime)
	for _, one := range []struct {
		side    int
		holding *holding
		amount  *uint64
	}{{m.side, &m.in, &m.trade.in}, {1 - m.side, &m.out, &m.trade.out}} {
		half := &p.sides[one.side]
		free, ok := half.vault.free(m.now)
		if !ok {
			return m, fmt.Errorf("%w: a vault with more locked profit than tokens, or of a later time", venue.ErrMalformed)
		}
		*one.holding = holding{half.shares, half.supply, free}
		if *one.amount, ok = one.holding.amount(); !ok {
			return m, fmt.Errorf("%w: a vault without shares", venue.ErrNoLiquidity)
		}
	}
	price, read, err := p.priceAt(m.now)
	if err != nil {
		return m, err
	}
	m.read = read
	return m, p.state.curve.begin(&m.trade, m.side, price, p.kept)
}

// of returns the fee on an amount: rounded down, but at least one unit of an amount that is not 0.
func (f fraction) of(amount uint64) uint64 {
	if f.numerator == 0 || amount == 0 {
		return 0
	}
	fee, _ := arith.MulDiv(amount, f.numerator, f.denominator)
	return max(fee, 1)
}

// sell computes the sale of an amount. The protocol's part of the fee does not reach the vault. The
// rest of the fee stays with the pool: the curve does not get it.
func (m *market) sell(amount uint64) (r result, err error) {
	f := &m.state.fees
	fee := f.trade.of(amount)
	protocol := f.protocol.of(fee)
	if protocol > fee || fee > amount {
		return r, venue.ErrTooSmall
	}
	r.in, r.fee = amount, fee
	next, ok := m.in.put(amount - protocol)
	if !ok {
		return r, errLarge
	}
	grown, ok := next.amount()
	if !ok {
		return r, errLarge
	}
	came, none := bits.Sub64(grown, m.trade.in, 0)
	if none != 0 || came < fee-protocol {
		return r, venue.ErrTooSmall
	}
	r.traded = came - (fee - protocol)
	if r.given, err = m.trade.give(r.traded); err != nil {
		return r, err
	}
	left, out, ok := m.out.take(r.given)
	switch {
	case !ok:
		return r, fmt.Errorf("%w: the pool has not so many shares", venue.ErrNoLiquidity)
	case out == 0:
		return r, venue.ErrTooSmall
	case out >= m.sides[1-m.side].tokens:
		return r, fmt.Errorf("%w: the vault has lent too much", venue.ErrNoLiquidity)
	}
	if _, carry := bits.Add64(m.sides[m.side].tokens, amount-protocol, 0); carry != 0 {
		return r, errLarge
	}
	r.out, r.after = out, [2]holding{next, left}
	return r, nil
}

// buy computes the least sale that gives an amount, as the program has no exact-out orders. A
// binary search tries some 60 sales of amounts from 1 to 2⁶².
func (m *market) buy(amount uint64) (result, error) {
	if amount >= m.trade.out {
		return result{}, venue.ErrNoLiquidity
	}
	const most = 1 << 62
	in := sort.Search(most, func(i int) bool {
		r, err := m.sell(uint64(i) + 1)
		return r.out >= amount || err != nil && !errors.Is(err, venue.ErrTooSmall)
	})
	r, err := m.sell(uint64(in) + 1)
	if err == nil && r.out < amount {
		err = venue.ErrNoLiquidity
	}
	return r, err
}

func (p *Pool) swap(o venue.Order) (m market, r result, err error) {
	if m, err = p.open(&o); err != nil {
		return m, r, err
	}
	if o.Amount == 0 {
		return m, r, fmt.Errorf("%w: the order is for nothing", venue.ErrTooSmall)
	}
	if o.ExactOut {
		r, err = m.buy(o.Amount)
	} else {
		r, err = m.sell(o.Amount)
	}
	return m, r, err
}

// Quote implements venue.Pool.
func (p *Pool) Quote(o venue.Order) (venue.Quote, error) {
	m, r, err := p.swap(o)
	if err != nil {
		return venue.Quote{}, err
	}
	q := venue.Quote{
		Order: o, Out: p.state.mints[1-m.side], AmountIn: r.in, AmountOut: r.out, ImpactBps: m.trade.impact(r.traded, r.given),
		ComputeUnits: computeUnits, Accounts: accountsOfSwap,
	}
	if p.state.curve.stable {
		q.ComputeUnits = computeUnitsStable
	}
	q.Fees.Add(venue.FeePool, false, r.fee)
	d := p.state.curve.depeg
	q.Features = venue.Features(0).With(featureConstant, !p.state.curve.stable).With(featureStable, p.state.curve.stable).
		With(featureMarinade, d == depegMarinade).With(featureLido, d == depegLido).With(featureSPL, d == depegSPL).With(featurePriceRead, m.read).
		With(featureLockedProfit, p.locks(m.now))
	return q, nil
}

// locks returns whether one of the vaults has locked profit at a Unix second.
func (p *Pool) locks(now uint64) bool {
	for i := range p.sides {
		if free, ok := p.sides[i].vault.free(now); ok && free != p.sides[i].vault.total {
			return true
		}
	}
	return false
}

// Instructions implements venue.Pool: swap(in_amount, minimum_out_amount). For an exact-out order
// it sells the amount that gives it, with what was asked for as minimum. If token b has a price,
// the instruction names the account with the price after the others.
func (p *Pool) Instructions(q venue.Quote, limit uint64, user venue.UserAccounts) ([]venue.Instruction, error) {
	side, err := venue.Side(p.state.mints, q.Order.In)
	if err != nil {
		return nil, err
	}
	if user.Owner == p.state.firstBuyer && user.Owner != (venue.Key{}) {
		return nil, fmt.Errorf("%w: to the account that may buy before it opens", venue.ErrClosed)
	}
	least := limit
	if q.Order.ExactOut {
		least = q.Order.Amount
	}
	writable := func(keys ...venue.Key) (metas []venue.Meta) {
		for _, key := range keys {
			metas = append(metas, venue.Meta{Key: key, Writable: true})
		}
		return metas
	}
	s, a, b := &p.state, &p.vaults[0], &p.vaults[1]
	in := venue.Instruction{
		Program: Program, Data: venue.InstructionData(swapName[:], q.AmountIn, least),
		Accounts: append(writable(
			p.address, user.Source, user.Destination, a.vault, b.vault, a.tokens, b.tokens, a.shareMint, b.shareMint, s.shares[0], s.shares[1], s.protocol[side],
		), venue.Meta{Key: user.Owner, Signer: true}, venue.Meta{Key: VaultProgram}, venue.Meta{Key: mint.Token}),
	}
	if p.stake != (venue.Key{}) {
		in.Accounts = append(in.Accounts, venue.Meta{Key: p.stake})
	}
	return []venue.Instruction{in}, nil
}
