// Package clmm quotes swaps on Raydium CLMM (program CAMMCzo5…), and on programs that are forks of
// it.
//
// In: pool, config, bitmap extension, tick array and mint accounts. Out: quotes that equal the
// program's, and its swap_v2 instructions. Guarantees: see package venue. The formulas are checked
// against runs of Raydium's program. What a fork may have besides these formulas is refused.
//
// A pool is a Uniswap v3 pool with square root prices in Q64.64 and fees in millionths. It has
// three additions: its fee may always be taken from the same token, whichever is sold; its fee may
// grow with the volatility; and ticks may have limit orders, which sell before the price passes the
// tick.
package clmm

import (
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/venue"
)

// Venue is one of the programs. It implements venue.Arrayed.
type Venue struct {
	name    string
	program venue.Key
	// fork says that the program is not Raydium's own. Only the plain formulas are known of a fork,
	// and only from swaps on the chain.
	fork bool
}

// The programs.
var (
	Raydium     = Venue{name: "raydium_clmm", program: pubkey.MustParse("CAMMCzo5YL8w4VFF8KVHrK22GGUsp5VTaW7grrKgrWqK")}
	PancakeSwap = Venue{name: "pancakeswap_clmm", program: pubkey.MustParse("HpNfyc2Saw7RKkQd8nEL4khUcuPhQ7WwY1B2qjx8jxFq"), fork: true}
	Byreal      = Venue{name: "byreal_clmm", program: pubkey.MustParse("REALQqNEomY6cQGZJUGwywTBD2UmDT32rZcNnfxQ5N2"), fork: true}
	Stabble     = Venue{name: "stabble_clmm", program: pubkey.MustParse("6dMXqGZ3ga2dikrYS9ovDXgHGh5RUsb2RTUj6hrQXhk6"), fork: true}
)

// Name implements venue.Venue.
func (v Venue) Name() string { return v.name }

// Program implements venue.Venue.
func (v Venue) Program() venue.Key { return v.program }

// Lookup implements venue.Venue. The program orders the mints by their bytes.
func (v Venue) Lookup(a, b venue.Key) venue.Lookup {
	first, second := venue.Ordered(a, b)
	return venue.Lookup{Filters: []venue.Filter{{Size: poolSize, MintsAt: [2]int{poolMints, poolMints + 32}, Parts: []venue.Part{
		{Offset: 0, Bytes: poolDiscriminator[:]}, {Offset: poolMints, Bytes: append(first[:], second[:]...)},
	}}}}
}

// Kinds implements venue.Arrayed.
func (v Venue) Kinds() []venue.Filter {
	kind := func(discriminator [8]byte, size int) venue.Filter {
		return venue.Filter{Size: size, Parts: []venue.Part{{Offset: 0, Bytes: discriminator[:]}}}
	}
	return []venue.Filter{kind(poolDiscriminator, poolSize), kind(arrayDiscriminator, arraySize), kind(extensionDiscriminator, extensionSize)}
}

// Open implements venue.Venue.
func (v Venue) Open(address venue.Key, data []byte, _ ...venue.Key) (venue.Ref, error) {
	return v.open(address, data, nil, narrow)
}
