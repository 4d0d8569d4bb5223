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
	// first and second are where the mints stand.
	first, second int
}

// Err is why these pools are not quoted.
var Err = fmt.Errorf("%w: nothing proves the venue's arithmetic here yet", venue.ErrUnverified)

// Venues are all of them. Layout: damm-v1-sdk.
func Venues() []Venue {
	return []Venue{
		{
			Name: "meteora_damm_v1", Program: pubkey.MustParse("Eo7WjKq67rjJQSZxS6z3YkapzY3eMj6Xy8X5EQVn5UaB"),
			discriminator: [8]byte{0xf1, 0x9a, 0x6d, 0x04, 0x11, 0xb1, 0x6d, 0xbc}, first: 40, second: 72,
		},
	}
}

// Filters match the pools of a pair, in either order of the mints.
func (v Venue) Filters(a, b venue.Key) []venue.Filter {
	filter := func(first, second venue.Key) venue.Filter {
		return venue.Filter{Parts: []venue.Part{{Offset: 0, Bytes: v.discriminator[:]}, {Offset: v.first, Bytes: first[:]}, {Offset: v.second, Bytes: second[:]}}}
	}
	return []venue.Filter{filter(a, b), filter(b, a)}
}
