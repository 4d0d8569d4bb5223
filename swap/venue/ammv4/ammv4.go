// Package ammv4 knows Raydium's first constant-product venue (AMM v4), without its order book.
//
// In: accounts of the chain, hostile. Out: quotes that equal the program's own arithmetic, and its
// instructions.
// Guarantees: decoding and arithmetic are pure and never panic; a pool with tokens in an order book
// is refused.
//
// The code is written from the layouts and formulas of raydium-io/raydium-amm@27f461d (Apache-2.0),
// and checked against runs of the program (the test vectors).
package ammv4

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// Name is the name of the venue in the swaps table.
const Name = "raydium_amm_v4"

var (
	// Program is the program id of AMM v4.
	Program = pubkey.MustParse("675kPX9MHTjS2zt1qfr1NYHuzeLXfQM9H24wFSUt1Mp8")
	// Authority is the authority over all vaults: the program derived address of "amm authority"
	// and a nonce.
	Authority = pubkey.MustParse("5Q544fKrFoe6tsEbD7S8EmxGTJYAKtTVhAW5Q5pge4j1")
)

// computeUnits is how many compute units a swap may use. 23,000 to 26,000 were measured.
const computeUnits = 35_000

// accountsOfSwap is how many accounts an instruction names, the program among them.
const accountsOfSwap = 9

// Layout of AmmInfo (state.rs). The account has no discriminator: its size and its owner tell what
// it is. Side 0 is the coin, side 1 the price currency.
const (
	// PoolSize is the length of a pool account.
	PoolSize = 752

	poolStatus        = 0
	poolFeeNumerator  = 176
	poolFeeDivisor    = 184
	poolNeedTakePnL   = 192
	poolOpenTime      = 224
	poolVaults        = 336
	poolMints         = 400
	poolOpenOrders    = 496
	poolMarketProgram = 560
	poolLPAmount      = 720
)

// Values of status with which swaps are allowed (AmmStatus::swap_permission). With
// statusWaitingTrade they are allowed from the opening time on.
const (
	statusInitialized  = 1
	statusSwapOnly     = 6
	statusWaitingTrade = 7
)

// Layout of the order book's OpenOrders account. The fields before these offsets are "serum",
// flags, market and owner.
const (
	ordersCoinTotal  = 85
	ordersPriceTotal = 101
	ordersPrefix     = 109
)

// Tags of the instructions that name no accounts of the order book (raydium-amm, commit 3b087ad).
const (
	tagSwapBaseIn  = 16
	tagSwapBaseOut = 17
)

// Venue is AMM v4.
type Venue struct{}

// Name implements venue.Venue.
func (Venue) Name() string { return Name }

// Program implements venue.Venue.
func (Venue) Program() venue.Key { return Program }

// Lookup implements venue.Venue. Either mint may be the coin.
func (Venue) Lookup(a, b venue.Key) venue.Lookup {
	filter := func(coin, price venue.Key) venue.Filter {
		return venue.Filter{Size: PoolSize, MintsAt: [2]int{poolMints, poolMints + 32}, Parts: []venue.Part{{Offset: poolMints, Bytes: append(coin[:], price[:]...)}}}
	}
	return venue.Lookup{Filters: []venue.Filter{filter(a, b), filter(b, a)}}
}

// Open implements venue.Venue.
func (Venue) Open(address venue.Key, data []byte, _ ...venue.Key) (venue.Ref, error) {
	if _, err := decodeState(data); err != nil {
		return nil, err
	}
	return &ref{address, data}, nil
}

// state is an AmmInfo account.
type state struct {
	status, openTime     uint64
	feeNumerator, feeDiv uint64
	needTakePnL          [2]uint64
	vaults, mints        [2]venue.Key
	openOrders           venue.Key
	marketProgram        venue.Key
}

func decodeState(data []byte) (state, error) {
	if len(data) < PoolSize {
		return state{}, fmt.Errorf("%w: a pool of %d bytes", venue.ErrMalformed, len(data))
	}
	number := func(at int) uint64 { return binary.LittleEndian.Uint64(data[at:]) }
	key := func(at int) venue.Key { return venue.Key(data[at : at+32]) }
	s := state{
		status: number(poolStatus), openTime: number(poolOpenTime), feeNumerator: number(poolFeeNumerator), feeDiv: number(poolFeeDivisor),
		needTakePnL: [2]uint64{number(poolNeedTakePnL), number(poolNeedTakePnL + 8)},
		vaults:      [2]venue.Key{key(poolVaults), key(poolVaults + 32)}, mints: [2]venue.Key{key(poolMints), key(poolMints + 32)},
		openOrders: key(poolOpenOrders), marketProgram: key(poolMarketProgram),
	}
	if s.mints[0] == s.mints[1] || s.feeNumerator >= s.feeDiv {
		return state{}, fmt.Errorf("%w: fee of %d/%d", venue.ErrMalformed, s.feeNumerator, s.feeDiv)
	}
	return s, nil
}

// hasOrders returns whether the program may count tokens in the order book.
func (s *state) hasOrders() bool {
	return s.status != statusSwapOnly && s.openOrders != venue.Key{}
}

// ref implements venue.Ref. data is a valid pool account. It is kept as bytes: many refs are held,
// and a decoded state would need as much memory again.
type ref struct {
	address venue.Key
	data    []byte
}

func (r *ref) keys(at int) [2]venue.Key {
	return [2]venue.Key{venue.Key(r.data[at:]), venue.Key(r.data[at+32:])}
}

// Address implements venue.Ref.
func (r *ref) Address() venue.Key { return r.address }

// Mints implements venue.Ref.
func (r *ref) Mints() [2]venue.Key { return r.keys(poolMints) }

// Rank implements venue.Ref.
func (r *ref) Rank() uint64 { return binary.LittleEndian.Uint64(r.data[poolLPAmount:]) }

// Accounts implements venue.Ref.
func (r *ref) Accounts() []venue.Key {
	keys := r.Own()
	if s, err := decodeState(r.data); err == nil && s.hasOrders() {
		keys = append(keys, s.openOrders)
	}
	return keys
}

// Own implements venue.Ref.
func (r *ref) Own() []venue.Key {
	vaults := r.keys(poolVaults)
	return []venue.Key{r.address, vaults[0], vaults[1]}
}

// Decode implements venue.Ref.
func (r *ref) Decode(accounts venue.State) (venue.Pool, error) {
	p, err := decode(r.address, accounts)
	if err != nil {
		return nil, fmt.Errorf("pool %s: %w", r.address.String(), err)
	}
	return p, nil
}

// decode reads a pool, its mints and its vaults.
func decode(address venue.Key, accounts venue.State) (*Pool, error) {
	data, err := venue.Owned(accounts, address, Program)
	if err != nil {
		return nil, err
	}
	p := &Pool{address: address}
	if p.state, err = decodeState(data); err != nil {
		return nil, err
	}
	for side := range p.vaults {
		if p.mints[side], err = venue.Mint(accounts, p.state.mints[side]); err != nil {
			return nil, err
		}
		if p.mints[side].Program != mint.Token {
			return nil, fmt.Errorf("%w: a mint of Token-2022", venue.ErrMalformed)
		}
		if p.vaults[side], err = venue.Vault(accounts, p.state.vaults[side], p.state.mints[side], mint.Token); err != nil {
			return nil, err
		}
	}
	if p.state.hasOrders() {
		if err := checkOrders(accounts, p.state.openOrders, p.state.marketProgram); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// checkOrders refuses a pool with tokens in the order book. Builds of the program before 27f461d
// count them as reserves and move them, later builds do not. This code does not know which build
// runs.
func checkOrders(accounts venue.State, key, program venue.Key) error {
	account, held := accounts.Account(key)
	switch {
	case !held:
		return venue.ErrUnread
	case account == nil:
		return nil
	case account.Owner != program || len(account.Data) < ordersPrefix:
		return fmt.Errorf("%w: no open orders account", venue.ErrMalformed)
	case binary.LittleEndian.Uint64(account.Data[ordersCoinTotal:]) != 0 || binary.LittleEndian.Uint64(account.Data[ordersPriceTotal:]) != 0:
		return fmt.Errorf("%w: it has tokens in an order book", venue.ErrUnverified)
	}
	return nil
}

// Pool is a pool's state at one slot.
type Pool struct {
	address venue.Key
	state   state
	vaults  [2]uint64
	mints   [2]*mint.Mint
}

// Address implements venue.Pool.
func (p *Pool) Address() venue.Key { return p.address }

// Mints implements venue.Pool.
func (p *Pool) Mints() [2]venue.Key { return p.state.mints }

// result is the result of a swap. in reaches the pool, net is the part of in that buys, and out
// leaves the pool.
type result struct {
	side         int
	in, net, out uint64
	reserveIn    uint64
}

// swap computes an order (math.rs, processor.rs):
//
//	exact in : net = in − ⌈in·num/den⌉;  out = ⌊net·Ro/(Ri+net)⌋
//	exact out: net = ⌈Ri·out/(Ro−out)⌉;  in = ⌈net·den/(den−num)⌉
//
// The reserves R are the vaults less the profit that the pool's owner may still take.
func (p *Pool) swap(o venue.Order) (result, error) {
	side, err := venue.Side(p.state.mints, o.In)
	if err != nil {
		return result{}, err
	}
	if err := p.open(o.Clock); err != nil {
		return result{}, err
	}
	var reserves [2]uint64
	for i := range reserves {
		var borrow uint64
		if reserves[i], borrow = bits.Sub64(p.vaults[i], p.state.needTakePnL[i], 0); borrow != 0 || reserves[i] == 0 {
			return result{}, fmt.Errorf("%w: a reserve is empty", venue.ErrNoLiquidity)
		}
	}
	r := result{side: side, reserveIn: reserves[side]}
	if o.ExactOut {
		err = r.exactOut(o.Amount, reserves[1-side], &p.state)
	} else {
		err = r.exactIn(o.Amount, reserves[1-side], &p.state)
	}
	if err != nil {
		return result{}, err
	}
	if _, carry := bits.Add64(p.vaults[side], r.in, 0); carry != 0 {
		return result{}, fmt.Errorf("%w: the vault would hold more than 64 bits", venue.ErrTooLarge)
	}
	return r, nil
}

// open returns an error if the pool's status allows no swaps at the time of clock.
func (p *Pool) open(clock venue.Clock) error {
	switch p.state.status {
	case statusInitialized, statusSwapOnly:
		return nil
	case statusWaitingTrade:
		if clock.UnixTime >= 0 && uint64(clock.UnixTime) >= p.state.openTime {
			return nil
		}
		return fmt.Errorf("%w: it opens at %d", venue.ErrClosed, p.state.openTime)
	}
	return fmt.Errorf("%w: its status is %d", venue.ErrClosed, p.state.status)
}

// exactIn computes an order for which amount reaches the pool.
func (r *result) exactIn(amount, reserveOut uint64, s *state) error {
	fee, _ := arith.MulDivUp(amount, s.feeNumerator, s.feeDiv) // at most amount, since num < den
	r.in, r.net = amount, amount-fee
	sum, carry := bits.Add64(r.reserveIn, r.net, 0)
	if carry != 0 {
		return fmt.Errorf("%w: the pool would hold more than 64 bits", venue.ErrTooLarge)
	}
	if r.out, _ = arith.MulDiv(r.net, reserveOut, sum); r.out == 0 {
		return venue.ErrTooSmall
	}
	return nil
}

// exactOut computes an order for which amount leaves the pool.
func (r *result) exactOut(amount, reserveOut uint64, s *state) error {
	switch {
	case amount == 0:
		return venue.ErrTooSmall
	case amount >= reserveOut:
		return fmt.Errorf("%w: it holds %d", venue.ErrNoLiquidity, reserveOut)
	}
	var ok bool
	if r.net, ok = arith.MulDivUp(r.reserveIn, amount, reserveOut-amount); ok {
		r.in, ok = arith.MulDivUp(r.net, s.feeDiv, s.feeDiv-s.feeNumerator)
	}
	if !ok {
		return fmt.Errorf("%w: it would take more than 64 bits", venue.ErrTooLarge)
	}
	r.out = amount
	return nil
}

// Quote implements venue.Pool. There are no transfer fees, as the mints are of SPL Token.
func (p *Pool) Quote(o venue.Order) (venue.Quote, error) {
	r, err := p.swap(o)
	if err != nil {
		return venue.Quote{}, err
	}
	q := venue.Quote{
		Order: o, Out: p.state.mints[1-r.side], AmountIn: r.in, AmountOut: r.out,
		ImpactBps: arith.ImpactBps(r.net, r.reserveIn), ComputeUnits: computeUnits, Accounts: accountsOfSwap,
	}
	q.Fees.Add(venue.FeePool, false, r.in-r.net)
	q.Features = q.Features.With(featureExactOut, o.ExactOut)
	return q, nil
}

// Instructions implements venue.Pool: swap_base_in_v2(amount_in, minimum_amount_out) or
// swap_base_out_v2(max_amount_in, amount_out).
func (p *Pool) Instructions(q venue.Quote, limit uint64, user venue.UserAccounts) ([]venue.Instruction, error) {
	tag, first, second := byte(tagSwapBaseIn), q.Order.Amount, limit
	if q.Order.ExactOut {
		tag, first, second = tagSwapBaseOut, limit, q.Order.Amount
	}
	return []venue.Instruction{{Program: Program, Data: venue.InstructionData([]byte{tag}, first, second), Accounts: []venue.Meta{
		{Key: mint.Token},
		{Key: p.address, Writable: true},
		{Key: Authority},
		{Key: p.state.vaults[0], Writable: true},
		{Key: p.state.vaults[1], Writable: true},
		{Key: user.Source, Writable: true},
		{Key: user.Destination, Writable: true},
		{Key: user.Owner, Signer: true},
	}}}, nil
}
