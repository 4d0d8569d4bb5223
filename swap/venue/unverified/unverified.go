// Package unverified knows where the pools of venues are whose arithmetic nothing proves yet. They
// are listed, and never quoted.
//
// In: mints; accounts of the chain, hostile. Out: filters, and the mints of a pool account.
// Guarantees: pure, never panics.
package unverified

import (
	"fmt"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/venue"
)

// Venue is one program. Immutable.
type Venue struct {
	// Name as in the swaps table.
	Name string
	// Program owns the pool accounts.
	Program venue.Key

	discriminator [8]byte
	size          int // of a pool account; 0 for any
	// first and second are where the mints stand. If config is set, the second mint is not in the
	// pool account but at second of the account whose address stands at config.
	first, second, config int
}

// Err is why these pools are not quoted.
var Err = fmt.Errorf("%w: nothing proves the venue's arithmetic here yet", venue.ErrUnverified)

// Venues are all of them. Layouts: damm-v1-sdk; raydium_launchpad and dynamic_bonding_curve by the
// IDLs.
func Venues() []Venue {
	return []Venue{
		{
			Name: "raydium_launchlab", Program: pubkey.MustParse("LanMV9sAd7wArD4vJFi2qDdfnVhFxYSUg6eADduJ3uj"),
			discriminator: [8]byte{0xf7, 0xed, 0xe3, 0xf5, 0xd7, 0xc3, 0xde, 0x46}, first: 205, second: 237,
		},
		{
			Name: "meteora_damm_v1", Program: pubkey.MustParse("Eo7WjKq67rjJQSZxS6z3YkapzY3eMj6Xy8X5EQVn5UaB"),
			discriminator: [8]byte{0xf1, 0x9a, 0x6d, 0x04, 0x11, 0xb1, 0x6d, 0xbc}, first: 40, second: 72,
		},
		{
			Name: "meteora_dbc", Program: pubkey.MustParse("dbcij3LWUppWqq96dh6gJWwBifmcGfLSB5D4DuSMaqN"),
			discriminator: [8]byte{0xd5, 0xe0, 0x05, 0xd1, 0x62, 0x45, 0x77, 0x5c}, size: 424, first: 136, second: 8, config: 72,
		},
	}
}

// Filters match the pools of a pair, in either order of the mints. If Config is set for one, they
// may match pools of other pairs too.
func (v Venue) Filters(a, b venue.Key) []venue.Filter {
	filter := func(first, second venue.Key) venue.Filter {
		parts := []venue.Part{{Offset: 0, Bytes: v.discriminator[:]}, {Offset: v.first, Bytes: first[:]}}
		if v.config == 0 {
			parts = append(parts, venue.Part{Offset: v.second, Bytes: second[:]})
		}
		return venue.Filter{Size: v.size, Parts: parts}
	}
	return []venue.Filter{filter(a, b), filter(b, a)}
}

// Config returns the account that has a pool's second mint, and where. ok is false if the pool
// account has both mints itself, as Filters ask for.
func (v Venue) Config(pool []byte) (config venue.Key, offset int, ok bool) {
	if v.config == 0 || len(pool) < v.config+len(config) {
		return config, 0, false
	}
	return venue.Key(pool[v.config:][:len(config)]), v.second, true
}

// First returns a pool's first mint; zero if the account is too short.
func (v Venue) First(pool []byte) (mint venue.Key) {
	if len(pool) < v.first+len(mint) {
		return mint
	}
	return venue.Key(pool[v.first:][:len(mint)])
}
