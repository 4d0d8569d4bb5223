// Package whirlpool knows Orca's venue of pools with concentrated liquidity.
//
// In: accounts of the chain, hostile. Out: quotes that equal the program's own arithmetic, and its
// instructions.
// Guarantees: decoding and arithmetic are pure and never panic; a swap reads three tick arrays, and
// an order that needs more is refused.
//
// The code is written from the account layouts and the formulas, and checked against runs of the
// program (the test vectors). Nothing here is taken from the library for quotes in the program's
// repository, whose licence excludes aggregators.
package whirlpool

import (
	"encoding/binary"
	"fmt"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// Name is the name of the venue in the swaps table.
const Name = "orca_whirlpool"

// Program is the program id of Whirlpool.
var Program = pubkey.MustParse("whirLbMiicVdio4qvUfM5KAg6Ct8VwpYzGff3uctyCc")

var (
	poolDiscriminator    = [8]byte{0x3f, 0x95, 0xd1, 0x0c, 0xe1, 0x80, 0x63, 0x09}
	fixedDiscriminator   = [8]byte{0x45, 0x61, 0xbd, 0xbe, 0x6e, 0x07, 0x42, 0xbb}
	dynamicDiscriminator = [8]byte{0x11, 0xd8, 0xf6, 0x8e, 0xe1, 0xc7, 0xda, 0x38}
	oracleDiscriminator  = [8]byte{0x8b, 0xc2, 0x83, 0xb3, 0x8c, 0xb3, 0xe5, 0xf4}
)

// Layout of a Whirlpool account. Side 0 is token a, side 1 token b.
const (
	// PoolSize is the length of a pool account.
	PoolSize = 653

	poolSpacing   = 41
	poolTier      = 43
	poolRate      = 45
	poolLiquidity = 49
	poolPrice     = 65
	poolTick      = 81
	poolMintA     = 101
	poolVaultA    = 133
	poolMintB     = 181
	poolVaultB    = 213
)

// Venue is Whirlpool.
type Venue struct{}

// Name implements venue.Venue.
func (Venue) Name() string { return Name }

// Program implements venue.Venue.
func (Venue) Program() venue.Key { return Program }

// Lookup implements venue.Venue. The program orders the mints by their bytes.
func (Venue) Lookup(a, b venue.Key) venue.Lookup {
	first, second := venue.Ordered(a, b)
	return venue.Lookup{Filters: []venue.Filter{{Size: PoolSize, MintsAt: [2]int{poolMintA, poolMintB}, Parts: []venue.Part{
		{Offset: 0, Bytes: poolDiscriminator[:]}, {Offset: poolMintA, Bytes: first[:]}, {Offset: poolMintB, Bytes: second[:]},
	}}}}
}

// Kinds implements venue.Arrayed.
func (Venue) Kinds() []venue.Filter {
	kind := func(size int, discriminator [8]byte) venue.Filter {
		return venue.Filter{Size: size, Parts: []venue.Part{{Offset: 0, Bytes: discriminator[:]}}}
	}
	return []venue.Filter{kind(PoolSize, poolDiscriminator), kind(fixedSize, fixedDiscriminator), kind(0, dynamicDiscriminator), kind(oracleSize, oracleDiscriminator)}
}

// Open implements venue.Venue.
func (Venue) Open(address venue.Key, data []byte, _ ...venue.Key) (venue.Ref, error) {
	return open(Program, address, data, nil)
}

// state is a Whirlpool account.
type state struct {
	mints, vaults [2]venue.Key
	// spacing is the distance of ticks that can be initialized. rate is the fee without the
	// adaptive part, in millionths.
	spacing int32
	rate    uint32
	// adaptive says that the fee has an adaptive part.
	adaptive         bool
	liquidity, price arith.U128
	tick             int32
}

func decodeState(data []byte) (state, error) {
	if len(data) < PoolSize || [8]byte(data) != poolDiscriminator {
		return state{}, fmt.Errorf("%w: a pool of %d bytes", venue.ErrMalformed, len(data))
	}
	key := func(at int) venue.Key { return venue.Key(data[at : at+32]) }
	spacing := binary.LittleEndian.Uint16(data[poolSpacing:])
	s := state{
		mints: [2]venue.Key{key(poolMintA), key(poolMintB)}, vaults: [2]venue.Key{key(poolVaultA), key(poolVaultB)},
		spacing: int32(spacing), rate: uint32(binary.LittleEndian.Uint16(data[poolRate:])), adaptive: binary.LittleEndian.Uint16(data[poolTier:]) != spacing,
		liquidity: arith.Read128(data[poolLiquidity:]), price: arith.Read128(data[poolPrice:]), tick: int32(binary.LittleEndian.Uint32(data[poolTick:])),
	}
	if s.mints[0] == s.mints[1] {
		return state{}, fmt.Errorf("%w: one mint on both sides", venue.ErrMalformed)
	}
	return s, s.check()
}

// check returns an error for a price that is impossible. After a swap that ended at an initialized
// tick, the pool's tick may be one lower than the tick of its price.
func (s *state) check() error {
	if s.spacing == 0 || s.tick < minTick-1 || s.tick > maxTick || s.price.Less(minPrice) || maxPrice.Less(s.price) {
		return fmt.Errorf("%w: a price out of range", venue.ErrMalformed)
	}
	if s.price.Less(priceAt(max(s.tick, minTick))) || s.tick < maxTick && priceAt(s.tick+1).Less(s.price) {
		return fmt.Errorf("%w: tick %d is not that of the price", venue.ErrMalformed, s.tick)
	}
	return nil
}

// number returns the number of the tick array in which a tick lies.
func (s *state) number(tick int32) int32 {
	return int32(floorDiv(int64(tick), int64(ticksPerArray*s.spacing)))
}

// exists returns whether the program accepts an array with this number.
func (s *state) exists(number int32) bool {
	return number >= s.number(minTick) && number <= s.number(maxTick)
}

// arraysPerSwap is how many tick arrays a swap reads at most.
const arraysPerSwap = 3

// sequence returns the numbers of the tick arrays that a swap in a direction reads, in the order of
// the swap (util/sparse_swap.rs). A swap with a rising price begins with the array of the tick that
// is one spacing higher. The result is empty if the direction has no arrays.
func (s *state) sequence(aToB bool) []int32 {
	from, direction := s.tick, int32(-1)
	if !aToB {
		from, direction = from+s.spacing, 1
	}
	numbers := make([]int32, 0, arraysPerSwap)
	for i, n := 0, s.number(from); i < arraysPerSwap; i, n = i+1, n+direction {
		if s.exists(n) {
			numbers = append(numbers, n)
		}
	}
	return numbers
}
