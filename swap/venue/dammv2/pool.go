// Package dammv2 knows Meteora's DAMM v2, a venue whose pools have one price range each.
//
// In: accounts of the chain, hostile. Out: quotes that equal the program's own arithmetic, and its
// instructions.
// Guarantees: decoding and arithmetic are pure and never panic; a feature whose arithmetic nothing
// has proved is refused: base fees that depend on the amount or the price, and compounding fees.
//
// The code is written from the account layout and the formulas, and checked against runs of the
// program (the test vectors).
package dammv2

import (
	"encoding/binary"
	"fmt"

	"github.com/holiman/uint256"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
)

// Name is the name of the venue in the swaps table.
const Name = "meteora_damm_v2"

var (
	// Program is the program id of DAMM v2.
	Program = pubkey.MustParse("cpamdpZCGKUy5JxQXB4dcpGPiikHawvSWAd6mEn1sGG")
	// Authority is the authority over all vaults.
	Authority = venue.MustDerive(Program, []byte("pool_authority"))

	eventAuthority = venue.MustDerive(Program, []byte("__event_authority"))
	discriminator  = [8]byte{0xf1, 0x9a, 0x6d, 0x04, 0x11, 0xb1, 0x6d, 0xbc}
)

// Layout of a Pool account. Side 0 is token a, side 1 token b.
const (
	// PoolSize is the length of a pool account.
	PoolSize = 1112

	poolBaseFee    = 8
	poolDynamicFee = 56
	poolMints      = 168
	poolVaults     = 232
	poolLiquidity  = 360
	poolLow        = 424
	poolHigh       = 440
	poolPrice      = 456
	poolActivation = 472
	poolByTime     = 480
	poolStatus     = 481
	poolCollect    = 484
	poolFeeVersion = 486
)

// Values of the mode of collecting fees. collectBoth takes the fee in the token that a swap buys,
// collectOnlyB always in token b. Higher values are modes with compounding.
const (
	collectBoth  = 0
	collectOnlyB = 1
)

// Venue is DAMM v2.
type Venue struct{}

// Name implements venue.Venue.
func (Venue) Name() string { return Name }

// Program implements venue.Venue.
func (Venue) Program() venue.Key { return Program }

// Lookup implements venue.Venue. Either mint may be token a.
func (Venue) Lookup(a, b venue.Key) venue.Lookup {
	filter := func(a, b venue.Key) venue.Filter {
		return venue.Filter{Size: PoolSize, MintsAt: [2]int{poolMints, poolMints + 32}, Parts: []venue.Part{{Offset: 0, Bytes: discriminator[:]}, {Offset: poolMints, Bytes: append(a[:], b[:]...)}}}
	}
	return venue.Lookup{Filters: []venue.Filter{filter(a, b), filter(b, a)}}
}

// Open implements venue.Venue.
func (Venue) Open(address venue.Key, data []byte, _ ...venue.Key) (venue.Ref, error) {
	s, err := decodeState(data)
	if err != nil {
		return nil, err
	}
	return &ref{address, s.mints, s.liquidity[1]}, nil
}

// state is a Pool account. low, high and price are √P in Q64.64. feeVersion is the index of the
// pool's highest fee in maxFee.
type state struct {
	mints, vaults               [2]venue.Key
	base                        baseFee
	dynamic                     dynamicFee
	liquidity, low, high        uint256.Int
	price                       uint256.Int
	activation                  uint64
	byTime                      bool
	status, collect, feeVersion byte
}

func decodeState(data []byte) (state, error) {
	if len(data) < PoolSize || [8]byte(data) != discriminator {
		return state{}, fmt.Errorf("%w: a pool of %d bytes", venue.ErrMalformed, len(data))
	}
	key := func(at int) venue.Key { return venue.Key(data[at : at+32]) }
	s := state{
		mints: [2]venue.Key{key(poolMints), key(poolMints + 32)}, vaults: [2]venue.Key{key(poolVaults), key(poolVaults + 32)},
		base: decodeBaseFee(data[poolBaseFee:]), dynamic: decodeDynamicFee(data[poolDynamicFee:]),
		liquidity: wide(data[poolLiquidity:]), low: wide(data[poolLow:]), high: wide(data[poolHigh:]), price: wide(data[poolPrice:]),
		activation: binary.LittleEndian.Uint64(data[poolActivation:]), byTime: data[poolByTime] != 0,
		status: data[poolStatus], collect: data[poolCollect], feeVersion: data[poolFeeVersion],
	}
	if s.mints[0] == s.mints[1] {
		return state{}, fmt.Errorf("%w: one mint on both sides", venue.ErrMalformed)
	}
	return s, nil
}

// check returns an error for a pool whose arithmetic is not proved, or whose state is impossible.
func (s *state) check() error {
	switch {
	case s.collect > collectOnlyB:
		return fmt.Errorf("%w: mode %d of collecting fees", venue.ErrUnverified, s.collect)
	case int(s.feeVersion) >= len(maxFee):
		return fmt.Errorf("%w: fee version %d", venue.ErrUnverified, s.feeVersion)
	case s.low.IsZero() || s.price.Lt(&s.low) || s.price.Gt(&s.high):
		return fmt.Errorf("%w: the price is out of the range", venue.ErrMalformed)
	}
	return s.base.check()
}

// ref implements venue.Ref. depth is the integer part of the liquidity.
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

// Accounts implements venue.Ref. All that a quote needs is in the pool account, so the vaults are
// not read.
func (r *ref) Accounts() []venue.Key { return []venue.Key{r.address} }

// Own implements venue.Ref.
func (r *ref) Own() []venue.Key { return []venue.Key{r.address} }

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
	p := &Pool{address: r.address}
	if p.state, err = decodeState(data); err != nil {
		return nil, err
	}
	if err := p.state.check(); err != nil {
		return nil, err
	}
	for side, key := range p.state.mints {
		if p.mints[side], err = venue.Mint(accounts, key); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Pool is a pool's state at one slot.
type Pool struct {
	address venue.Key
	state   state
	mints   [2]*mint.Mint
}

// Address implements venue.Pool.
func (p *Pool) Address() venue.Key { return p.address }

// Mints implements venue.Pool.
func (p *Pool) Mints() [2]venue.Key { return p.state.mints }

// result is the result of a swap.
type result struct {
	side int
	// in reaches the pool and out leaves it. in includes a fee on the input, out is without a fee
	// on the output.
	in, out, fee uint64
	feeOnInput   bool
	move         move
}

// rate returns the whole fee of a swap at the time of clock, in billionths. It returns an error if
// the pool does not trade then.
func (s *state) rate(clock venue.Clock) (uint64, error) {
	point := clock.Slot
	if s.byTime {
		point = uint64(max(clock.UnixTime, 0))
	}
	switch {
	case s.status != 0:
		return 0, fmt.Errorf("%w: its status is %d", venue.ErrClosed, s.status)
	case point < s.activation:
		return 0, fmt.Errorf("%w: it opens at %d", venue.ErrClosed, s.activation)
	case s.liquidity.IsZero():
		return 0, fmt.Errorf("%w: it has no liquidity", venue.ErrNoLiquidity)
	}
	base, ok := s.base.at(point, s.activation)
	if !ok {
		return 0, fmt.Errorf("%w: a fee below nothing", venue.ErrMalformed)
	}
	most := maxFee[s.feeVersion]
	return min(min(base, most)+s.dynamic.fee(), most), nil
}

func (p *Pool) swap(o venue.Order) (result, error) {
	side, err := venue.Side(p.state.mints, o.In)
	if err != nil {
		return result{}, err
	}
	rate, err := p.state.rate(o.Clock)
	if err != nil {
		return result{}, err
	}
	amount, err := p.pair(side).AtPool(o)
	if err != nil {
		return result{}, err
	}
	r := result{side: side, feeOnInput: p.state.collect == collectOnlyB && side == 1}
	if o.ExactOut {
		err = p.state.exactOut(&r, amount, rate)
	} else {
		err = p.state.exactIn(&r, amount, rate)
	}
	return r, err
}

func (p *Pool) pair(side int) venue.Pair {
	return venue.Pair{In: p.mints[side], Out: p.mints[1-side]}
}

// exactIn computes an order for which amount reaches the pool.
func (s *state) exactIn(r *result, amount, rate uint64) error {
	r.in = amount
	if r.feeOnInput {
		r.fee = feeOf(amount, rate)
		amount -= r.fee
	}
	if err := s.sellExact(&r.move, amount, r.side == 0); err != nil {
		return err
	}
	r.out = r.move.out
	if !r.feeOnInput {
		r.fee = feeOf(r.out, rate)
		r.out -= r.fee
	}
	if r.out == 0 {
		return venue.ErrTooSmall
	}
	return nil
}

// exactOut computes an order for which amount leaves the pool.
func (s *state) exactOut(r *result, amount, rate uint64) error {
	gross, ok := amount, true
	if !r.feeOnInput {
		gross, ok = withFee(amount, rate)
	}
	if !ok {
		return fmt.Errorf("%w: with the fee it has more than 64 bits", venue.ErrTooLarge)
	}
	if err := s.buyExact(&r.move, gross, r.side == 0); err != nil {
		return err
	}
	r.out, r.in, r.fee = amount, r.move.in, gross-amount
	if r.feeOnInput {
		if r.in, ok = withFee(r.move.in, rate); !ok {
			return fmt.Errorf("%w: with the fee it has more than 64 bits", venue.ErrTooLarge)
		}
		r.fee = r.in - r.move.in
	}
	if r.in == 0 {
		return venue.ErrTooSmall
	}
	return nil
}
