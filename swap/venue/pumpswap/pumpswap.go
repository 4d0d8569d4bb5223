// Package pumpswap knows pump's constant-product venue (PumpSwap).
//
// In: accounts of the chain, hostile. Out: quotes that equal the program's own arithmetic, and its
// instructions.
// Guarantees: decoding and arithmetic are pure and never panic; what is not proved is refused.
//
// A pool has a base mint, side 0, and a quote mint, side 1; fees are always in the quote mint. Its
// price may count virtual quote reserves (a boost) that it does not hold. Fees depend on who made
// the pool, on the quote mint, on the market cap before the trade and on what the coin's creator
// set (package pumpfees).
package pumpswap

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
	"github.com/mintlake/mintlake/swap/venue/pumpfees"
)

// Name is the name of the venue in the swaps table.
const Name = "pumpswap"

var (
	// Program is the program id of PumpSwap.
	Program = pubkey.MustParse("pAMMBay6oceH9fJKBRHGP5D4bD4sWpmSwMn52FMfXEA")
	// Curve is the program id of pump's bonding curve. Pools that it made have tiered fees.
	Curve = pubkey.MustParse("6EF8rrecthR5Dkzon8Nwu78hRvfCKubJ14M5uBEwF6P")
	// GlobalConfig is the program's own account, shared by all pools.
	GlobalConfig = venue.MustDerive(Program, []byte("global_config"))
	// FeeConfig is the fee program's account with the fees of PumpSwap.
	FeeConfig = venue.MustDerive(pumpfees.Program, []byte("fee_config"), Program[:])
)

// Venue is PumpSwap.
type Venue struct{}

// Name implements venue.Venue.
func (Venue) Name() string { return Name }

// Program implements venue.Venue.
func (Venue) Program() venue.Key { return Program }

// Lookup implements venue.Venue. Either mint may be the base.
func (Venue) Lookup(a, b venue.Key) venue.Lookup {
	filter := func(base, quote venue.Key) venue.Filter {
		return venue.Filter{MintsAt: [2]int{poolBaseMint, poolQuoteMint}, Parts: []venue.Part{
			{Offset: 0, Bytes: poolDiscriminator[:]}, {Offset: poolBaseMint, Bytes: append(base[:], quote[:]...)},
		}}
	}
	return venue.Lookup{Filters: []venue.Filter{filter(a, b), filter(b, a)}}
}

// Open implements venue.Venue.
func (Venue) Open(address venue.Key, data []byte, _ ...venue.Key) (venue.Ref, error) {
	s, err := decodeState(data)
	if err != nil {
		return nil, err
	}
	authority, err := venue.Derive(Curve, []byte("pool-authority"), s.base[:])
	if err != nil {
		return nil, err
	}
	return &ref{address, data, s.creator == authority}, nil
}

// ref implements venue.Ref. data is a valid pool account. It is kept as bytes: many refs are held,
// and a decoded state would need as much memory again. canonical says that pump itself made the
// pool.
type ref struct {
	address   venue.Key
	data      []byte
	canonical bool
}

func (r *ref) key(at int) venue.Key { return venue.Key(r.data[at:]) }

// Address implements venue.Ref.
func (r *ref) Address() venue.Key { return r.address }

// Mints implements venue.Ref.
func (r *ref) Mints() [2]venue.Key { return [2]venue.Key{r.key(poolBaseMint), r.key(poolQuoteMint)} }

// Rank implements venue.Ref.
func (r *ref) Rank() uint64 { return binary.LittleEndian.Uint64(r.data[poolLPSupply:]) }

// Accounts implements venue.Ref.
func (r *ref) Accounts() []venue.Key {
	return append(r.Own(), GlobalConfig, FeeConfig)
}

// Own implements venue.Ref.
func (r *ref) Own() []venue.Key {
	return []venue.Key{r.address, r.key(poolBaseVault), r.key(poolQuoteVault)}
}

// Decode implements venue.Ref.
func (r *ref) Decode(accounts venue.State) (venue.Pool, error) {
	p, err := r.decode(accounts)
	if err != nil {
		return nil, fmt.Errorf("pool %s: %w", r.address.String(), err)
	}
	return p, nil
}

func (r *ref) decode(accounts venue.State) (*Pool, error) {
	data, err := venue.Owned(accounts, r.address, Program)
	if err != nil {
		return nil, err
	}
	p := &Pool{address: r.address, canonical: r.canonical}
	if p.state, err = decodeState(data); err != nil {
		return nil, err
	}
	if p.state.base != r.key(poolBaseMint) || p.state.creator != r.key(poolCreator) {
		return nil, fmt.Errorf("%w: it became another pool", venue.ErrMalformed)
	}
	if p.config, err = venue.Config(accounts, GlobalConfig, Program, decodeConfig); err != nil {
		return nil, err
	}
	if p.fees, err = venue.Config(accounts, FeeConfig, pumpfees.Program, pumpfees.Decode); err != nil {
		return nil, err
	}
	vaults := [2]venue.Key{p.state.baseVault, p.state.quoteVault}
	for side, key := range r.Mints() {
		if p.mints[side], err = venue.Mint(accounts, key); err != nil {
			return nil, err
		}
		if p.mints[side].Taxed() {
			return nil, fmt.Errorf("%w: a mint with a transfer fee", venue.ErrUnverified)
		}
		if p.vaults[side], err = venue.Vault(accounts, vaults[side], key, p.mints[side].Program); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Pool is a pool's state at one slot. Arrays are by side.
type Pool struct {
	address   venue.Key
	state     state
	canonical bool
	config    *config
	fees      *pumpfees.Config
	vaults    [2]uint64
	mints     [2]*mint.Mint
}

// Address implements venue.Pool.
func (p *Pool) Address() venue.Key { return p.address }

// Mints implements venue.Pool.
func (p *Pool) Mints() [2]venue.Key { return [2]venue.Key{p.state.base, p.state.quote} }

const base, quote = 0, 1

// result is the result of a swap.
type result struct {
	side    int
	in, out uint64
	// gross is the quote amount that moves on the curve: without the fees of a buy, with the fees
	// of a sale.
	gross  uint64
	fees   pumpfees.Fees
	impact uint64
}

// mayhemSupply is the supply that counts for the market cap of a mayhem coin, whatever was minted
// since.
const mayhemSupply = 1_000_000_000_000_000

// rates returns the fee rates of a trade at the pool's present state. reserve is the quote reserve
// that makes the price, which includes virtual reserves.
func (p *Pool) rates(reserve uint64) (pumpfees.Rates, error) {
	coin := pumpfees.Coin{Canonical: p.canonical, Quote: p.state.quote, QuoteReserve: reserve, Supply: p.mints[base].Supply, BaseReserve: p.vaults[base]}
	if p.state.mayhem {
		coin.Supply = mayhemSupply
	}
	rates, err := p.fees.Rates(coin)
	if err != nil {
		return pumpfees.Rates{}, err
	}
	if p.config.creatorConfigurable && p.state.creatorRate != 0 {
		rates.Creator = min(p.state.creatorRate, pumpfees.Whole)
	}
	if p.state.coinCreator == (venue.Key{}) {
		rates.Creator = 0
	}
	return rates, nil
}

// swap computes an order. For an exact-out sale it computes the sale of an exact amount that gives
// enough.
func (p *Pool) swap(o venue.Order) (result, error) {
	side, err := venue.Side(p.Mints(), o.In)
	if err != nil {
		return result{}, err
	}
	reserve, rates, err := p.open(side, o.Amount)
	if err != nil {
		return result{}, err
	}
	r := result{side: side}
	switch {
	case side == quote && o.ExactOut:
		err = p.buyOut(&r, o.Amount, reserve, rates)
	case side == quote:
		err = p.buyIn(&r, o.Amount, reserve, rates, false)
	case o.ExactOut:
		err = p.sellOut(&r, o.Amount, reserve, rates)
	default:
		err = p.sellIn(&r, o.Amount, reserve, rates)
	}
	if err != nil {
		return result{}, err
	}
	return r, p.checkHeld(&r)
}

// open returns the quote reserve that makes the price, and the fee rates of a trade. side is the
// side that is sold. It returns an error if the pool does not trade now, or if amount is 0.
func (p *Pool) open(side int, amount uint64) (reserve uint64, rates pumpfees.Rates, err error) {
	reserve, ok := p.state.priced(p.vaults[quote])
	switch {
	case side == base && p.config.flags&disabledSell != 0, side == quote && p.config.flags&disabledBuy != 0:
		return 0, rates, fmt.Errorf("%w: the venue is disabled", venue.ErrClosed)
	case p.vaults[base] == 0 || !ok:
		return 0, rates, fmt.Errorf("%w: a reserve is empty", venue.ErrNoLiquidity)
	case amount == 0:
		return 0, rates, venue.ErrTooSmall
	}
	rates, err = p.rates(reserve)
	return reserve, rates, err
}

// checkHeld refuses a swap after which a vault would hold more than 64 bits.
func (p *Pool) checkHeld(r *result) error {
	if _, carry := bits.Add64(p.vaults[r.side], r.in, 0); carry != 0 {
		return fmt.Errorf("%w: the vault would hold more than 64 bits", venue.ErrTooLarge)
	}
	return nil
}

// buyIn computes buy_exact_quote_in. The net amount and the fees are those of pumpfees.Rates.Split.
// With i = net−1, the base vault B and the quote reserve Q that makes the price,
//
//	out = ⌊B·i/(Q+i)⌋
//
// If spendAll is set, it computes a hop of multi_hop_swap: net is all of spend but the fees, so the
// rest that Rates.Split leaves buys too.
func (p *Pool) buyIn(r *result, spend, reserve uint64, rates pumpfees.Rates, spendAll bool) error {
	net, fees, ok := rates.Split(spend)
	if !ok {
		return venue.ErrTooSmall
	}
	paid, _ := fees.Sum() // fits 64 bits, as net and the fees are at most spend
	if spendAll {
		net = spend - paid
	}
	sum, carry := bits.Add64(reserve, net-1, 0)
	if carry != 0 {
		return fmt.Errorf("%w: the pool would hold more than 64 bits", venue.ErrTooLarge)
	}
	if r.out, _ = arith.MulDiv(p.vaults[base], net-1, sum); r.out == 0 {
		return venue.ErrTooSmall
	}
	r.in, r.gross, r.fees, r.impact = net+paid, net, fees, arith.ImpactBps(net, reserve)
	return nil
}

// buyOut computes buy: gross = ⌈Q·out/(B−out)⌉, with the fees on top. B and Q are as in buyIn.
func (p *Pool) buyOut(r *result, want, reserve uint64, rates pumpfees.Rates) error {
	if want >= p.vaults[base] {
		return fmt.Errorf("%w: it holds %d", venue.ErrNoLiquidity, p.vaults[base])
	}
	gross, ok := arith.MulDivUp(reserve, want, p.vaults[base]-want)
	fees := rates.On(gross)
	paid, alsoOK := fees.Sum()
	in, carry := bits.Add64(gross, paid, 0)
	if !ok || !alsoOK || carry != 0 {
		return fmt.Errorf("%w: it would take more than 64 bits", venue.ErrTooLarge)
	}
	r.in, r.out, r.gross, r.fees, r.impact = in, want, gross, fees, arith.ImpactBps(gross, reserve)
	return nil
}

// sellIn computes sell: gross = ⌊Q·in/(B+in)⌋, less the fees. B and Q are as in buyIn. The quote
// vault must hold what is paid out of it, which is all but the fee of the liquidity providers.
func (p *Pool) sellIn(r *result, amount, reserve uint64, rates pumpfees.Rates) error {
	sum, carry := bits.Add64(p.vaults[base], amount, 0)
	if carry != 0 {
		return fmt.Errorf("%w: the pool would hold more than 64 bits", venue.ErrTooLarge)
	}
	gross, _ := arith.MulDiv(reserve, amount, sum)
	fees := rates.On(gross)
	paid, ok := fees.Sum()
	if !ok || paid >= gross {
		return fmt.Errorf("%w: the fees exceed it", venue.ErrTooSmall)
	}
	owed, carry := bits.Add64(p.state.protocolOwed, p.state.creatorOwed, 0)
	held, borrow := bits.Sub64(p.vaults[quote], owed, carry)
	if borrow != 0 || held < gross-fees.LP {
		return fmt.Errorf("%w: the reserves that count are in part virtual", venue.ErrNoLiquidity)
	}
	r.in, r.out, r.gross, r.fees, r.impact = amount, gross-paid, gross, fees, arith.ImpactBps(amount, p.vaults[base])
	return nil
}

// sellTries bounds the search of sellOut.
const sellTries = 4

// sellOut finds an amount of the base mint whose sale gives at least want, as the program has no
// exact-out sale.
func (p *Pool) sellOut(r *result, want, reserve uint64, rates pumpfees.Rates) error {
	gross, ok := rates.Gross(want)
	if !ok {
		return fmt.Errorf("%w: it would take more than 64 bits", venue.ErrTooLarge)
	}
	// The amount sold is a whole number, so more than gross may come out, and the fees on that may
	// round up further. Then the next try is for a little more.
	for range sellTries {
		if gross >= reserve {
			return fmt.Errorf("%w: it holds %d", venue.ErrNoLiquidity, reserve)
		}
		amount, ok := arith.MulDivUp(gross, p.vaults[base], reserve-gross)
		if !ok {
			return fmt.Errorf("%w: it would take more than 64 bits", venue.ErrTooLarge)
		}
		if err := p.sellIn(r, amount, reserve, rates); err != nil {
			return err
		}
		if r.out >= want {
			return nil
		}
		gross = r.gross + 1
	}
	return fmt.Errorf("%w: the fees round it away", venue.ErrTooSmall)
}
