package guard

import (
	"errors"

	"github.com/mintlake/mintlake/swap/venue"
)

// errNothing is the error for a mistake of a venue: it returned neither a result nor an error.
var errNothing = errors.New("the venue answered with nothing")

// gated is a guarded venue with a gate. A nil gate allows all swaps.
type gated struct {
	*guarded
	gate Gate
}

// refuses returns why a swap with these features may not be quoted; nil if it may.
func (v *gated) refuses(features venue.Features) error {
	if v.gate == nil {
		return nil
	}
	return v.gate.Allows(features)
}

// Lookup implements venue.Venue. If the venue panics, Lookup returns no filters and no addresses.
func (v *guarded) Lookup(a, b venue.Key) (found venue.Lookup) {
	var err error // set and logged by caught; found is then empty
	defer v.caught(placeLookup, &err)
	return v.Venue.Lookup(a, b)
}

// Open implements venue.Venue.
func (v *gated) Open(address venue.Key, data []byte, mints ...venue.Key) (opened venue.Ref, err error) {
	defer v.caught(placeOpen, &err)
	inner, err := v.Venue.Open(address, data, mints...)
	if err != nil {
		return nil, err
	}
	return v.ref(inner)
}

// Trade implements venue.Traced.
func (v *guarded) Trade(call venue.Call) (trade venue.Trade, ok bool) {
	var err error // set and logged by caught; ok is then false
	defer v.caught(placeTrade, &err)
	return v.Venue.Trade(call)
}
