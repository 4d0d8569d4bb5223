// Package pumpcurve knows pump's bonding curve: where a coin trades before it has a pool.
//
// In: accounts of the chain, hostile. Out: quotes that equal the program's own arithmetic, and its
// instructions.
// Guarantees: decoding and arithmetic are pure and never panic; what is not proved is refused.
//
// A curve has a coin, side 0, and a quote mint, side 1; fees are always in the quote mint. A curve
// quoted in SOL moves lamports and not wrapped SOL. The account of a curve does not name its coin:
// the curve's address is derived from the coin.
package pumpcurve

import (
	"fmt"
	"math/bits"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
	"github.com/mintlake/mintlake/swap/venue/pumpfees"
)

// Name is the name of the venue in the swaps table.
const Name = "pump_curve"

var (
	// Program is the program id of pump.
	Program = pubkey.MustParse("6EF8rrecthR5Dkzon8Nwu78hRvfCKubJ14M5uBEwF6P")
	// Global is the program's own account, shared by all curves.
	Global = venue.MustDerive(Program, []byte("global"))
	// FeeConfig is the fee program's account with the fees of the curves.
	FeeConfig = venue.MustDerive(pumpfees.Program, []byte("fee_config"), Program[:])
)

// Venue is pump's bonding curve.
type Venue struct{}

// Name implements venue.Venue.
func (Venue) Name() string { return Name }

// Program implements venue.Venue.
func (Venue) Program() venue.Key { return Program }

// Address returns the address of a coin's curve.
func Address(coin venue.Key) (venue.Key, error) {
	return venue.Derive(Program, []byte("bonding-curve"), coin[:])
}

// Lookup implements venue.Venue. Either mint may be the coin.
func (Venue) Lookup(a, b venue.Key) venue.Lookup {
	var l venue.Lookup
	for _, coin := range []venue.Key{a, b} {
		if address, err := Address(coin); err == nil {
			l.Addresses = append(l.Addresses, address)
		}
	}
	return l
}

// Open implements venue.Venue. One of mints must be the coin.
func (Venue) Open(address venue.Key, data []byte, mints ...venue.Key) (venue.Ref, error) {
	s, err := decodeState(data)
	if err != nil {
		return nil, err
	}
	for _, coin := range mints {
		if derived, err := Address(coin); err == nil && derived == address {
			return newRef(address, coin, s)
		}
	}
	return nil, fmt.Errorf("%w: the curve of another coin", venue.ErrMalformed)
}

func newRef(address, coin venue.Key, s state) (*ref, error) {
	quote := s.quoteMint
	switch quote {
	case venue.Key{}:
		quote = mint.WrappedSOL
	case mint.WrappedSOL, coin:
		return nil, fmt.Errorf("%w: quoted in wrapped SOL or in itself", venue.ErrUnverified)
	}
	return &ref{address, [2]venue.Key{coin, quote}, s.realQuote}, nil
}

// ref implements venue.Ref. depth is the quote amount that the curve holds.
type ref struct {
	address venue.Key
	mints   [2]venue.Key
	depth   uint64
}

// Address implements venue.Ref.
func (r *ref) Address() venue.Key { return r.address }

// Mints implements venue.Ref.
func (r *ref) Mints() [2]venue.Key { return r.mints }

// Rank implements venue.Ref.
func (r *ref) Rank() uint64 { return r.depth }

// Accounts implements venue.Ref.
func (r *ref) Accounts() []venue.Key { return []venue.Key{r.address, Global, FeeConfig} }

// Own implements venue.Ref.
func (r *ref) Own() []venue.Key { return []venue.Key{r.address} }

// Decode implements venue.Ref.
func (r *ref) Decode(accounts venue.State) (venue.Pool, error) {
	p, err := r.decode(accounts)
	if err != nil {
		return nil, fmt.Errorf("curve %s: %w", r.address.String(), err)
	}
	return p, nil
}

func (r *ref) decode(accounts venue.State) (*Pool, error) {
	data, err := venue.Owned(accounts, r.address, Program)
	if err != nil {
		return nil, err
	}
	p := &Pool{ref: *r}
	if p.state, err = decodeState(data); err != nil {
		return nil, err
	}
	if p.global, err = venue.Config(accounts, Global, Program, decodeGlobal); err != nil {
		return nil, err
	}
	if p.fees, err = venue.Config(accounts, FeeConfig, pumpfees.Program, pumpfees.Decode); err != nil {
		return nil, err
	}
	for side, key := range r.mints {
		m, err := venue.Mint(accounts, key)
		if err != nil {
			return nil, err
		}
		if m.Taxed() {
			return nil, fmt.Errorf("%w: a mint with a transfer fee", venue.ErrUnverified)
		}
		p.programs[side] = m.Program
		if side == coin {
			p.supply = m.Supply
		}
	}
	if p.state.mayhem {
		p.supply = p.state.supply
	}
	return p, nil
}

// Pool is a curve's state at one slot. Arrays are by side.
type Pool struct {
	ref
	state    state
	global   *global
	fees     *pumpfees.Config
	programs [2]venue.Key
	// supply is the coin's supply for the market cap.
	supply uint64
}

const coin, quote = 0, 1

// result is the result of a swap. net is the quote amount that moves on the curve: without the fees
// of a buy, with the fees of a sale.
type result struct {
	side         int
	in, out, net uint64
	fees         pumpfees.Fees
	impact       uint64
}

// rates returns the fee rates of a trade at the curve's present state. A curve has no liquidity
// providers to pay. A coin without a creator pays no creator fee.
func (p *Pool) rates() (pumpfees.Rates, error) {
	rates, err := p.fees.Rates(pumpfees.Coin{
		Canonical: true, Quote: p.state.quoteMint, QuoteReserve: p.state.quote, Supply: p.supply, BaseReserve: p.state.tokens,
	})
	rates.LP = 0
	if p.global.creatorConfigurable && p.state.creatorRate != 0 {
		rates.Creator = min(p.state.creatorRate, pumpfees.Whole)
	}
	if p.state.creator == (venue.Key{}) {
		rates.Creator = 0
	}
	return rates, err
}

// swap computes an order.
func (p *Pool) swap(o venue.Order) (result, error) {
	side, err := venue.Side(p.mints, o.In)
	if err != nil {
		return result{}, err
	}
	switch {
	case p.state.complete:
		return result{}, fmt.Errorf("%w: the curve is complete", venue.ErrClosed)
	case p.state.tokens == 0 || p.state.quote == 0:
		return result{}, fmt.Errorf("%w: a reserve is empty", venue.ErrNoLiquidity)
	case o.Amount == 0:
		return result{}, venue.ErrTooSmall
	}
	rates, err := p.rates()
	if err != nil {
		return result{}, err
	}
	r := result{side: side}
	switch {
	case side == quote && o.ExactOut:
		err = p.buyOut(&r, o.Amount, rates)
	case side == quote:
		err = p.buyIn(&r, o.Amount, rates)
	case o.ExactOut:
		err = p.sellOut(&r, o.Amount, rates)
	default:
		err = p.sellIn(&r, o.Amount, rates)
	}
	return r, err
}

// buyIn computes buy_exact_quote_in. The net amount and the fees are those of pumpfees.Rates.Split.
// With i = net−1 and the virtual reserves vt of the coin and vq of the quote mint,
//
//	out = ⌊i·vt/(vq+i)⌋
//
// If that is more than the curve has left, the order is filled in part, at the price of buying
// exactly what is left.
func (p *Pool) buyIn(r *result, spend uint64, rates pumpfees.Rates) error {
	net, fees, ok := rates.Split(spend)
	if !ok {
		return venue.ErrTooSmall
	}
	sum, carry := bits.Add64(p.state.quote, net-1, 0)
	if carry != 0 {
		return fmt.Errorf("%w: the curve would hold more than 64 bits", venue.ErrTooLarge)
	}
	r.out, _ = arith.MulDiv(net-1, p.state.tokens, sum)
	switch {
	case r.out == 0:
		return venue.ErrTooSmall
	case r.out > p.state.realTokens:
		return p.buyRest(r, spend, rates)
	}
	paid, _ := fees.Sum() // fits 64 bits, as net and the fees are at most spend
	r.in, r.net, r.fees, r.impact = net+paid, net, fees, arith.ImpactBps(net, p.state.quote)
	return p.checkHeld(r)
}

// buyRest buys all that the curve has left, which must not cost more than spend.
func (p *Pool) buyRest(r *result, spend uint64, rates pumpfees.Rates) error {
	if p.state.realTokens == 0 {
		return fmt.Errorf("%w: nothing is left to sell", venue.ErrNoLiquidity)
	}
	if err := p.buyOut(r, p.state.realTokens, rates); err != nil {
		return err
	}
	if r.in > spend {
		return fmt.Errorf("%w: the rest of the curve costs %d", venue.ErrTooLarge, r.in)
	}
	return nil
}

// buyOut computes buy: net = ⌊out·vq/(vt−out)⌋+1, with the fees on top. vt and vq are as in buyIn.
func (p *Pool) buyOut(r *result, want uint64, rates pumpfees.Rates) error {
	if want > p.state.realTokens || want >= p.state.tokens {
		return fmt.Errorf("%w: %d are left to sell", venue.ErrNoLiquidity, p.state.realTokens)
	}
	net, ok := arith.MulDiv(want, p.state.quote, p.state.tokens-want)
	net, carry := bits.Add64(net, 1, 0)
	fees := rates.On(net)
	paid, alsoOK := fees.Sum()
	in, more := bits.Add64(net, paid, 0)
	if !ok || !alsoOK || carry+more != 0 {
		return fmt.Errorf("%w: it would take more than 64 bits", venue.ErrTooLarge)
	}
	r.in, r.out, r.net, r.fees, r.impact = in, want, net, fees, arith.ImpactBps(net, p.state.quote)
	return p.checkHeld(r)
}

// checkHeld refuses a buy after which a quote reserve would exceed 64 bits.
func (p *Pool) checkHeld(r *result) error {
	_, a := bits.Add64(p.state.quote, r.net, 0)
	_, b := bits.Add64(p.state.realQuote, r.net, 0)
	if a+b != 0 {
		return fmt.Errorf("%w: the curve would hold more than 64 bits", venue.ErrTooLarge)
	}
	return nil
}

// sellIn computes sell: net = ⌊in·vq/(vt+in)⌋, less the fees. vt and vq are as in buyIn.
func (p *Pool) sellIn(r *result, amount uint64, rates pumpfees.Rates) error {
	sum, a := bits.Add64(p.state.tokens, amount, 0)
	_, b := bits.Add64(p.state.realTokens, amount, 0)
	if a+b != 0 {
		return fmt.Errorf("%w: the curve would hold more than 64 bits", venue.ErrTooLarge)
	}
	net, _ := arith.MulDiv(amount, p.state.quote, sum)
	fees := rates.On(net)
	paid, ok := fees.Sum()
	switch {
	case !ok || paid >= net:
		return fmt.Errorf("%w: the fees exceed it", venue.ErrTooSmall)
	case net > p.state.realQuote:
		return fmt.Errorf("%w: it holds %d", venue.ErrNoLiquidity, p.state.realQuote)
	}
	r.in, r.out, r.net, r.fees, r.impact = amount, net-paid, net, fees, arith.ImpactBps(amount, p.state.tokens)
	return nil
}

// sellTries bounds the search of sellOut.
const sellTries = 4

// sellOut finds an amount of the coin whose sale gives at least want, as the program has no
// exact-out sale.
func (p *Pool) sellOut(r *result, want uint64, rates pumpfees.Rates) error {
	gross, ok := rates.Gross(want)
	if !ok {
		return fmt.Errorf("%w: it would take more than 64 bits", venue.ErrTooLarge)
	}
	// The fees of the sale may round up further than those on gross. Then the next try is for a
	// little more.
	for range sellTries {
		if gross >= p.state.quote {
			return fmt.Errorf("%w: it holds %d", venue.ErrNoLiquidity, p.state.realQuote)
		}
		amount, ok := arith.MulDivUp(gross, p.state.tokens, p.state.quote-gross)
		if !ok {
			return fmt.Errorf("%w: it would take more than 64 bits", venue.ErrTooLarge)
		}
		if err := p.sellIn(r, amount, rates); err != nil {
			return err
		}
		if r.out >= want {
			return nil
		}
		gross = r.net + 1
	}
	return fmt.Errorf("%w: the fees round it away", venue.ErrTooSmall)
}
