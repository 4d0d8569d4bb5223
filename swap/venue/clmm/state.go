package clmm

import (
	"encoding/binary"
	"fmt"

	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// Offsets in accounts (raydium-clmm, states/{pool,config,pool_fee}.rs; numbers are little endian).
const (
	poolConfig      = 9
	poolMints       = 73
	poolVaults      = 137
	poolObservation = 201
	poolSpacing     = 235
	poolLiquidity   = 237
	poolPrice       = 253
	poolTick        = 269
	poolStatus      = 389
	poolFeeOn       = 390
	poolFeeOnEnd    = 397 // fee_on and six bytes that Raydium leaves empty
	poolBitmap      = 904
	poolOpenTime    = 1080
	poolDynamic     = 1096
	poolSize        = 1544
	configRate      = 47
	configSpacing   = 51
	configSize      = 117
)

// Values of the field fee_on: the token from which the fee of a swap is taken.
const (
	feeOnInput  = 0
	feeOnToken0 = 1
	feeOnToken1 = 2
)

// statusNoSwap is the bit of a pool's status that stops swaps.
const statusNoSwap = 1 << 4

// feeUnit is 100 % as a fee rate: rates are in millionths.
const feeUnit = 1_000_000

// maxSpacing is the program's MAX_TICK_SPACING.
const maxSpacing = 1000

// Discriminators of accounts: sha256("account:PoolState")[:8] and so on.
var (
	poolDiscriminator      = [8]byte{0xf7, 0xed, 0xe3, 0xf5, 0xd7, 0xc3, 0xde, 0x46}
	configDiscriminator    = [8]byte{0xda, 0xf4, 0x21, 0x68, 0xcb, 0xcb, 0x2b, 0x6f}
	arrayDiscriminator     = [8]byte{0xc0, 0x9b, 0x55, 0xcd, 0x31, 0xf9, 0x81, 0x2a}
	extensionDiscriminator = [8]byte{0x3c, 0x96, 0x24, 0xdb, 0x61, 0x80, 0x8b, 0x99}
)

// state is a pool account.
type state struct {
	config, observation venue.Key
	mints, vaults       [2]venue.Key
	// spacing is the distance between two ticks that may be initialized, in ticks.
	spacing   int32
	liquidity arith.U128
	// price is √P in Q64.64. tick is that of the price. It may be one lower if the price is exactly
	// that of a tick.
	price    arith.U128
	tick     int32
	status   byte
	feeOn    byte
	openTime uint64
	dynamic  dynamicFee
	bitmap   [16]uint64
}

func has(data []byte, discriminator [8]byte, size int) bool {
	return len(data) >= size && [8]byte(data) == discriminator
}

// decodeState reads a pool account. In an account of a fork the bytes of newer features must be
// empty.
func decodeState(data []byte, fork bool) (state, error) {
	if !has(data, poolDiscriminator, poolSize) {
		return state{}, fmt.Errorf("%w: a pool of %d bytes", venue.ErrMalformed, len(data))
	}
	key := func(at int) venue.Key { return venue.Key(data[at : at+32]) }
	s := state{
		config: key(poolConfig), observation: key(poolObservation),
		mints: [2]venue.Key{key(poolMints), key(poolMints + 32)}, vaults: [2]venue.Key{key(poolVaults), key(poolVaults + 32)},
		spacing: int32(binary.LittleEndian.Uint16(data[poolSpacing:])), liquidity: arith.Read128(data[poolLiquidity:]), price: arith.Read128(data[poolPrice:]),
		tick: int32(binary.LittleEndian.Uint32(data[poolTick:])), status: data[poolStatus], feeOn: data[poolFeeOn],
		openTime: binary.LittleEndian.Uint64(data[poolOpenTime:]), dynamic: decodeDynamicFee(data[poolDynamic:]),
	}
	for i := range s.bitmap {
		s.bitmap[i] = binary.LittleEndian.Uint64(data[poolBitmap+8*i:])
	}
	if fork && (!empty(data[poolFeeOn:poolFeeOnEnd]) || s.dynamic.on) {
		return state{}, fmt.Errorf("%w: a fee of its own", venue.ErrUnverified)
	}
	return s, s.check()
}

func empty(data []byte) bool {
	for _, b := range data {
		if b != 0 {
			return false
		}
	}
	return true
}

// check returns an error for a state that the program cannot make, or whose arithmetic is not known
// here.
func (s *state) check() error {
	switch {
	case s.mints[0] == s.mints[1]:
		return fmt.Errorf("%w: one mint on both sides", venue.ErrMalformed)
	case s.spacing == 0 || s.spacing > maxSpacing:
		return fmt.Errorf("%w: a tick spacing of %d", venue.ErrMalformed, s.spacing)
	case s.tick < minTick || s.tick >= maxTick:
		return fmt.Errorf("%w: a price out of range", venue.ErrMalformed)
	case s.price.Less(priceAt(s.tick)) || priceAt(s.tick+1).Less(s.price):
		return fmt.Errorf("%w: its tick is not at its price", venue.ErrMalformed)
	case s.feeOn > feeOnToken1:
		return fmt.Errorf("%w: fee mode %d", venue.ErrUnverified, s.feeOn)
	}
	return s.dynamic.check(s.spacing)
}

// feeFromInput returns whether the fee of a swap is taken from what is sold. side is the index of
// the mint that is sold.
func (s *state) feeFromInput(side int) bool {
	return s.feeOn == feeOnInput || s.feeOn == feeOnToken0 == (side == 0)
}

// config is an AmmConfig account: what many pools share.
type config struct {
	// rate is the fee of swaps, in millionths.
	rate uint32
}

func decodeConfig(data []byte) (*config, error) {
	if !has(data, configDiscriminator, configSize) {
		return nil, fmt.Errorf("%w: a config of %d bytes", venue.ErrMalformed, len(data))
	}
	c := &config{rate: binary.LittleEndian.Uint32(data[configRate:])}
	if c.rate >= feeUnit {
		return nil, fmt.Errorf("%w: a fee of %d millionths", venue.ErrMalformed, c.rate)
	}
	return c, nil
}
