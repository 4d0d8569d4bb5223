// Package dbc knows Meteora's dynamic bonding curves, on which new coins trade until they move to
// another pool.
//
// In: accounts of the chain, hostile. Out: quotes that equal the program's own arithmetic, and its
// instructions.
// Guarantees: decoding and arithmetic are pure and never panic; a feature whose arithmetic nothing
// has proved is refused.
//
// The code is written from the account layout (IDL 0.2.1, whose pools without transfer hooks are
// those of 0.1.10) and the formulas, and checked against runs of the program 0.1.10 (the test
// vectors).
package dbc

import (
	"encoding/binary"
	"fmt"

	"github.com/holiman/uint256"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
)

// Name is the name of the venue in the swaps table.
const Name = "meteora_dbc"

var (
	// Program is the program id of the dynamic bonding curves.
	Program = pubkey.MustParse("dbcij3LWUppWqq96dh6gJWwBifmcGfLSB5D4DuSMaqN")
	// Authority is the authority over all vaults.
	Authority = venue.MustDerive(Program, []byte("pool_authority"))

	eventAuthority = venue.MustDerive(Program, []byte("__event_authority"))
	// instructionsSysvar is the account that shows the program the transaction's other
	// instructions. A pool whose fee grows with the amount needs it, as it allows one purchase in a
	// transaction.
	instructionsSysvar = pubkey.MustParse("Sysvar1nstructions1111111111111111111111111")

	poolDiscriminator   = [8]byte{0xd5, 0xe0, 0x05, 0xd1, 0x62, 0x45, 0x77, 0x5c}
	configDiscriminator = [8]byte{0x1a, 0x6c, 0x0e, 0x7b, 0x74, 0xe6, 0x81, 0x2b}
	// The accounts of coins with a transfer hook have the same layout as the others, as far as they
	// are read here.
	hookPoolDiscriminator   = [8]byte{0xed, 0xdb, 0xb8, 0x17, 0x2a, 0xbd, 0xa9, 0x23}
	hookConfigDiscriminator = [8]byte{0x28, 0xdc, 0xc2, 0xfb, 0x29, 0xc7, 0x7b, 0xfd}
)

// Layout of a VirtualPool, and of a TransferHookPool.
const (
	poolSize = 424

	poolAccumulator  = 40
	poolConfig       = 72
	poolBaseMint     = 136
	poolVaults       = 168
	poolBaseReserve  = 232
	poolQuoteReserve = 240
	poolPrice        = 280
	poolActivation   = 296
	poolMigrated     = 305
)

// Layout of a PoolConfig. A ConfigWithTransferHook is longer.
const (
	configSize = 1048

	configQuoteMint      = 8
	configBaseFee        = 104
	configDynamicFee     = 136
	configCollect        = 232
	configActivationType = 234
	configThreshold      = 264
	configMigrationPrice = 280
	configStartPrice     = 392
	configCurve          = 408
	pointSize            = 32
	points               = 20
)

// Values of the mode of collecting fees. collectQuote takes the fee in the quote token,
// collectOutput in the token that a swap buys.
const (
	collectQuote  = 0
	collectOutput = 1
)

// Venue is the dynamic bonding curves.
type Venue struct{}

// Name implements venue.Venue.
func (Venue) Name() string { return Name }

// Program implements venue.Venue.
func (Venue) Program() venue.Key { return Program }

// Lookup implements venue.Venue. A pool names its coin; only its config names the token in which
// the coin is quoted. Pools with and without transfer hooks have the coin at the same offset, so
// one filter finds both.
func (Venue) Lookup(a, b venue.Key) venue.Lookup {
	filter := func(coin venue.Key) venue.Filter {
		return venue.Filter{Size: poolSize, Parts: []venue.Part{{Offset: poolBaseMint, Bytes: coin[:]}}}
	}
	return venue.Lookup{Filters: []venue.Filter{filter(a), filter(b)}}
}

// Open implements venue.Venue. mints must be two, and one of them the coin.
func (Venue) Open(address venue.Key, data []byte, mints ...venue.Key) (venue.Ref, error) {
	s, err := decodeState(data)
	if err != nil {
		return nil, err
	}
	for i, coin := range mints {
		if coin == s.coin && len(mints) == 2 && mints[1-i] != coin {
			return &ref{address, s.config, [2]venue.Key{coin, mints[1-i]}, s.quoteReserve, s.hooked}, nil
		}
	}
	return nil, fmt.Errorf("%w: the curve of another coin", venue.ErrMalformed)
}

// state is a VirtualPool, or a TransferHookPool if hooked is set. price is √P in Q64.64.
type state struct {
	hooked                    bool
	config, coin              venue.Key
	vaults                    [2]venue.Key
	baseReserve, quoteReserve uint64
	accumulator, price        uint256.Int
	activation                uint64
	migrated                  bool
}

func decodeState(data []byte) (state, error) {
	if len(data) < poolSize || [8]byte(data) != poolDiscriminator && [8]byte(data) != hookPoolDiscriminator {
		return state{}, fmt.Errorf("%w: a pool of %d bytes", venue.ErrMalformed, len(data))
	}
	key := func(at int) venue.Key { return venue.Key(data[at : at+32]) }
	number := func(at int) uint64 { return binary.LittleEndian.Uint64(data[at:]) }
	return state{
		hooked: [8]byte(data) == hookPoolDiscriminator, config: key(poolConfig), coin: key(poolBaseMint), vaults: [2]venue.Key{key(poolVaults), key(poolVaults + 32)},
		baseReserve: number(poolBaseReserve), quoteReserve: number(poolQuoteReserve),
		accumulator: wide(data[poolAccumulator:]), price: wide(data[poolPrice:]), activation: number(poolActivation), migrated: data[poolMigrated] != 0,
	}, nil
}

// config is a PoolConfig.
type config struct {
	quoteMint venue.Key
	base      baseFee
	dynamic   dynamicFee
	collect   byte
	byTime    bool
	// threshold is the quote reserve with which the curve is complete.
	threshold             uint64
	start, migrationPrice uint256.Int
	// curve has count segments in ascending order of their prices. The first begins at start.
	curve [points]segment
	count int
}

// segment is a part of a curve: it has a liquidity up to a price.
type segment struct{ price, liquidity uint256.Int }

func decodeConfig(data []byte) (*config, error) {
	if len(data) < configSize || [8]byte(data) != configDiscriminator {
		return nil, fmt.Errorf("%w: a config of %d bytes", venue.ErrMalformed, len(data))
	}
	c := &config{
		quoteMint: venue.Key(data[configQuoteMint : configQuoteMint+32]), base: decodeBaseFee(data[configBaseFee:]), dynamic: decodeDynamicFee(data[configDynamicFee:]),
		collect: data[configCollect], byTime: data[configActivationType] != 0, threshold: binary.LittleEndian.Uint64(data[configThreshold:]),
		start: wide(data[configStartPrice:]), migrationPrice: wide(data[configMigrationPrice:]),
	}
	last := &c.start
	for i := range c.curve {
		at := data[configCurve+i*pointSize:]
		s := segment{wide(at), wide(at[16:])}
		if s.price.IsZero() || s.liquidity.IsZero() {
			break
		}
		if !s.price.Gt(last) {
			return nil, fmt.Errorf("%w: a curve whose prices do not rise", venue.ErrMalformed)
		}
		c.curve[i] = s
		c.count, last = i+1, &c.curve[i].price
	}
	switch {
	case c.count == 0 || c.start.IsZero() || c.migrationPrice.Lt(&c.start):
		return nil, fmt.Errorf("%w: a curve without a segment", venue.ErrMalformed)
	case c.collect > collectOutput:
		return nil, fmt.Errorf("%w: mode %d of collecting fees", venue.ErrUnverified, c.collect)
	}
	return c, c.base.check()
}

// hookConfig is a ConfigWithTransferHook.
type hookConfig struct{ quoteMint venue.Key }

func decodeHookConfig(data []byte) (*hookConfig, error) {
	if len(data) < configSize || [8]byte(data) != hookConfigDiscriminator {
		return nil, fmt.Errorf("%w: a config of %d bytes", venue.ErrMalformed, len(data))
	}
	return &hookConfig{venue.Key(data[configQuoteMint : configQuoteMint+32])}, nil
}

// wide reads a u128.
func wide(data []byte) uint256.Int {
	return uint256.Int{binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[8:])}
}

// ref implements venue.Ref. depth is the quote amount that the curve holds. hooked says that the
// pool is a TransferHookPool.
type ref struct {
	address, config venue.Key
	mints           [2]venue.Key
	depth           uint64
	hooked          bool
}

// Address implements venue.Ref.
func (r *ref) Address() venue.Key { return r.address }

// Mints implements venue.Ref.
func (r *ref) Mints() [2]venue.Key { return r.mints }

// Rank implements venue.Ref.
func (r *ref) Rank() uint64 { return r.depth }

// Accounts implements venue.Ref.
func (r *ref) Accounts() []venue.Key { return []venue.Key{r.address, r.config} }

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

// errHook refuses a coin whose transfers call another program. Its swaps are another instruction,
// which no run of the program has proved.
var errHook = fmt.Errorf("%w: a coin with a transfer hook", venue.ErrUnverified)

// refuseHooked returns the error of Decode for a TransferHookPool: errHook, or what is wrong with
// its config.
func (r *ref) refuseHooked(accounts venue.State) error {
	c, err := venue.Config(accounts, r.config, Program, decodeHookConfig)
	switch {
	case err != nil:
		return err
	case c.quoteMint != r.mints[1]:
		return fmt.Errorf("%w: %w", venue.ErrMalformed, venue.ErrAnotherPair)
	}
	return errHook
}

func (r *ref) decode(accounts venue.State) (*Pool, error) {
	if r.hooked {
		return nil, r.refuseHooked(accounts)
	}
	data, err := venue.Owned(accounts, r.address, Program)
	if err != nil {
		return nil, err
	}
	p := &Pool{address: r.address, keys: r.mints}
	if p.state, err = decodeState(data); err != nil {
		return nil, err
	}
	if p.config, err = venue.Config(accounts, r.config, Program, decodeConfig); err != nil {
		return nil, err
	}
	switch {
	case p.state.hooked:
		return nil, errHook
	case p.state.config != r.config || p.state.coin != r.mints[0] || p.config.quoteMint != r.mints[1]:
		return nil, fmt.Errorf("%w: %w", venue.ErrMalformed, venue.ErrAnotherPair)
	case p.state.price.Lt(&p.config.start) || p.state.price.Gt(&p.config.curve[p.config.count-1].price):
		return nil, fmt.Errorf("%w: the price is not on the curve", venue.ErrMalformed)
	}
	for side, key := range r.mints {
		if p.mints[side], err = venue.Mint(accounts, key); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Pool is a pool's state at one slot.
type Pool struct {
	address venue.Key
	keys    [2]venue.Key
	state   state
	config  *config
	mints   [2]*mint.Mint
}

// Address implements venue.Pool.
func (p *Pool) Address() venue.Key { return p.address }

// Mints implements venue.Pool.
func (p *Pool) Mints() [2]venue.Key { return p.keys }
