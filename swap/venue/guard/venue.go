package guard

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mintlake/mintlake/swap/venue"
)

// errNoRef is a venue's mistake: neither a pool nor an error.
var errNoRef = errors.New("the venue answered with nothing")

// gated is a venue with a gate, or without if that is nil.
type gated struct {
	*guarded
	gate Gate
}

// refuses is why a swap may not be quoted.
func (v *gated) refuses(features venue.Features) error {
	if v.gate == nil {
		return nil
	}
	return v.gate.Allows(features)
}

// Lookup implements venue.Venue. A venue that panics has no pools to look for.
func (v *guarded) Lookup(a, b venue.Key) (found venue.Lookup) {
	var err error // told by caught; nothing was found then
	defer v.caught(placeLookup, &err)
	return v.Venue.Lookup(a, b)
}

// Open implements venue.Venue.
func (v *gated) Open(address venue.Key, data []byte, mints ...venue.Key) (opened venue.Ref, err error) {
	defer v.caught(placeOpen, &err)
	inner, err := v.Venue.Open(address, data, mints...)
	switch {
	case err != nil:
		return nil, err
	case inner == nil:
		return nil, fmt.Errorf("%w: %w", venue.ErrMalformed, errNoRef)
	}
	// What a pool is does not change, so it is asked once, where a panic is caught.
	return &ref{
		venue: v, inner: inner, address: inner.Address(), mints: inner.Mints(), rank: inner.Rank(),
		accounts: slices.Clip(inner.Accounts()), together: slices.Clip(inner.Together()),
	}, nil
}

// Trade implements venue.Traced.
func (v *guarded) Trade(call venue.Call) (trade venue.Trade, ok bool) {
	var err error // told by caught; it is no swap then
	defer v.caught(placeTrade, &err)
	return v.Venue.Trade(call)
}
