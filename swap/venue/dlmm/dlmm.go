// Package dlmm knows Meteora's DLMM, a venue whose pools keep their liquidity in bins, each bin
// with one price.
//
// In: accounts of the chain, hostile. Out: quotes that equal the program's own arithmetic, and its
// instructions.
// Guarantees: decoding and arithmetic are pure and never panic; a mode that nothing has proved is
// refused.
//
// The code is written from the account layouts and the formulas, and checked against runs of the
// program (the test vectors).
package dlmm

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/venue"
)

// Name is the name of the venue in the swaps table.
const Name = "meteora_dlmm"

var (
	// Program is the program id of DLMM.
	Program = pubkey.MustParse("LBUZKhRxPF3XUpBCjp4YzTKgLccjZhTSDM9YuVaPwxo")

	eventAuthority = venue.MustDerive(Program, []byte("__event_authority"))

	poolDiscriminator      = [8]byte{0x21, 0x0b, 0x31, 0x62, 0xb5, 0x65, 0xb1, 0x0d}
	arrayDiscriminator     = [8]byte{0x5c, 0x8e, 0x5c, 0xdc, 0x05, 0x94, 0x46, 0xb5}
	extensionDiscriminator = [8]byte{0x50, 0x6f, 0x7c, 0x71, 0x37, 0xed, 0x12, 0x05}
)

// Layout of an LbPair account. Side 0 is token x, side 1 token y.
const (
	// PoolSize is the length of a pool account.
	PoolSize = 904

	poolBaseFactor  = 8
	poolFilter      = 10
	poolDecay       = 12
	poolReduction   = 14
	poolControl     = 16
	poolMost        = 20
	poolPower       = 34
	poolFunction    = 35
	poolCollect     = 36
	poolAccumulator = 40
	poolVolatility  = 44
	poolReference   = 48
	poolUpdated     = 56
	poolType        = 75
	poolActive      = 76
	poolStep        = 80
	poolStatus      = 82
	poolByTime      = 86
	poolMints       = 88
	poolReserves    = 152
	poolRewards     = 264
	rewardSize      = 144
	poolOracle      = 552
	poolBitmap      = 584
	poolActivation  = 816
)

// Values of a pool's modes (idls/dlmm.json).
const (
	functionUndetermined = 0
	functionMining       = 1
	functionOrders       = 2

	collectInput = 0
	collectOnlyY = 1

	typePermission   = 1
	typeCustomizable = 2
	typeV2           = 3
)

// Bins are numbered from minBin to maxBin.
const (
	minBin = -443_636
	maxBin = 443_636
)

// Venue is DLMM.
type Venue struct{}

// Name implements venue.Venue.
func (Venue) Name() string { return Name }

// Program implements venue.Venue.
func (Venue) Program() venue.Key { return Program }

// Lookup implements venue.Venue. Either mint may be token x.
func (Venue) Lookup(a, b venue.Key) venue.Lookup {
	filter := func(x, y venue.Key) venue.Filter {
		return venue.Filter{Size: PoolSize, MintsAt: [2]int{poolMints, poolMints + 32}, Parts: []venue.Part{
			{Offset: 0, Bytes: poolDiscriminator[:]}, {Offset: poolMints, Bytes: append(x[:], y[:]...)},
		}}
	}
	return venue.Lookup{Filters: []venue.Filter{filter(a, b), filter(b, a)}}
}

// Kinds implements venue.Arrayed.
func (Venue) Kinds() []venue.Filter {
	kind := func(size int, discriminator [8]byte) venue.Filter {
		return venue.Filter{Size: size, Parts: []venue.Part{{Offset: 0, Bytes: discriminator[:]}}}
	}
	return []venue.Filter{kind(PoolSize, poolDiscriminator), kind(arraySize, arrayDiscriminator), kind(extensionSize, extensionDiscriminator)}
}

// Open implements venue.Venue.
func (Venue) Open(address venue.Key, data []byte, _ ...venue.Key) (venue.Ref, error) {
	return open(address, data, nil, narrowWindow)
}

// state is an LbPair account.
type state struct {
	mints, reserves [2]venue.Key
	oracle          venue.Key
	fee             fee
	// active is the bin at the price. step is by how many basis points the prices of two
	// neighbouring bins differ.
	active       int32
	step         uint16
	status, kind byte
	// activation is a Unix second if byTime is set, else a slot.
	byTime     bool
	activation uint64
	// orders says that swaps fill limit orders, onlyY that fees are always taken in token y.
	orders, onlyY bool
	bitmap        [16]uint64
}

func decodeState(data []byte) (state, error) {
	if len(data) < PoolSize || [8]byte(data) != poolDiscriminator {
		return state{}, fmt.Errorf("%w: a pool of %d bytes", venue.ErrMalformed, len(data))
	}
	key := func(at int) venue.Key { return venue.Key(data[at : at+32]) }
	s := state{
		mints: [2]venue.Key{key(poolMints), key(poolMints + 32)}, reserves: [2]venue.Key{key(poolReserves), key(poolReserves + 32)},
		oracle: key(poolOracle), fee: decodeFee(data), active: int32(binary.LittleEndian.Uint32(data[poolActive:])),
		step: binary.LittleEndian.Uint16(data[poolStep:]), status: data[poolStatus], kind: data[poolType], byTime: data[poolByTime] != 0,
		activation: binary.LittleEndian.Uint64(data[poolActivation:]), onlyY: data[poolCollect] == collectOnlyY,
	}
	for i := range s.bitmap {
		s.bitmap[i] = binary.LittleEndian.Uint64(data[poolBitmap+8*i:])
	}
	if s.mints[0] == s.mints[1] || s.active < minBin || s.active > maxBin || s.step == 0 {
		return state{}, fmt.Errorf("%w: a pool without two mints, a step or a price", venue.ErrMalformed)
	}
	// A pool of undetermined function has limit orders if it has no rewards.
	switch function := data[poolFunction]; function {
	case functionOrders:
		s.orders = true
	case functionUndetermined:
		s.orders = key(poolRewards) == venue.Key{} && key(poolRewards+rewardSize) == venue.Key{}
	case functionMining:
	default:
		return state{}, fmt.Errorf("%w: function %d", venue.ErrUnverified, function)
	}
	if data[poolCollect] > collectOnlyY || s.kind > typeV2 {
		return state{}, fmt.Errorf("%w: mode %d of collecting fees, type %d", venue.ErrUnverified, data[poolCollect], s.kind)
	}
	return s, nil
}

// check returns an error for a pool that does not trade at the time of clock. A pool may name an
// address that trades before the activation. No exception is made for it here.
func (s *state) check(clock venue.Clock) error {
	if s.status != 0 {
		return fmt.Errorf("%w: its status is %d", venue.ErrClosed, s.status)
	}
	point := clock.Slot
	if s.byTime {
		point = uint64(max(clock.UnixTime, 0))
	}
	if (s.kind == typePermission || s.kind == typeCustomizable) && point < s.activation {
		return fmt.Errorf("%w: it opens at %d", venue.ErrClosed, s.activation)
	}
	return nil
}

// rank orders pools by the hour of their last swap, and for the same hour by their number of arrays
// with liquidity. The pool account does not tell how deep a pool is.
func (s *state) rank() uint64 {
	const hour = 3600
	count := 0
	for _, word := range s.bitmap {
		count += bits.OnesCount64(word)
	}
	return min(uint64(max(s.fee.updated, 0))/hour, math.MaxUint32)<<16 | uint64(count)
}
