package venuetest

import (
	"sync/atomic"

	"github.com/mintlake/mintlake/swap/venue"
)

// Places are the calls of a venue in which Broken can panic.
var Places = []string{"lookup", "open", "decode", "quote", "instructions"}

// Reason is part of the value that Broken panics with.
const Reason = "index out of range for a test"

// Broken is a venue that panics in one of its calls.
type Broken struct {
	venue.Venue
	place atomic.Pointer[string]
}

// Panics makes one of Places panic from now on; "" makes none.
func (b *Broken) Panics(place string) { b.place.Store(&place) }

// reach panics if place is the one that Panics was called with.
func (b *Broken) reach(place string) {
	if now := b.place.Load(); now != nil && *now == place {
		panic(Reason)
	}
}

// Lookup implements venue.Venue.
func (b *Broken) Lookup(x, y venue.Key) venue.Lookup {
	b.reach("lookup")
	return b.Venue.Lookup(x, y)
}

// Open implements venue.Venue.
func (b *Broken) Open(address venue.Key, data []byte, mints ...venue.Key) (venue.Ref, error) {
	b.reach("open")
	r, err := b.Venue.Open(address, data, mints...)
	if err != nil {
		return nil, err
	}
	return &brokenRef{r, b}, nil
}

type brokenRef struct {
	venue.Ref
	b *Broken
}

// Decode implements venue.Ref.
func (r *brokenRef) Decode(state venue.State) (venue.Pool, error) {
	r.b.reach("decode")
	p, err := r.Ref.Decode(state)
	if err != nil {
		return nil, err
	}
	return &brokenPool{p, r.b}, nil
}

type brokenPool struct {
	venue.Pool
	b *Broken
}

// Quote implements venue.Pool.
func (p *brokenPool) Quote(o venue.Order) (venue.Quote, error) {
	p.b.reach("quote")
	return p.Pool.Quote(o)
}

// Instructions implements venue.Pool.
func (p *brokenPool) Instructions(q venue.Quote, limit uint64, user venue.UserAccounts) ([]venue.Instruction, error) {
	p.b.reach("instructions")
	return p.Pool.Instructions(q, limit, user)
}
