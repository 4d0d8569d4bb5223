package guard

import (
	"fmt"
	"slices"

	"github.com/mintlake/mintlake/swap/venue"
)

// ref returns the guarded Ref of an inner Ref. It implements venue.Windowed if, and only if, the
// inner Ref does.
//
// What Address, Mints and the other methods return never changes. So ref calls them once, here,
// where the caller catches a panic.
func (v *gated) ref(inner venue.Ref) (venue.Ref, error) {
	if inner == nil {
		return nil, fmt.Errorf("%w: %w", venue.ErrMalformed, errNothing)
	}
	accounts, own := slices.Clip(inner.Accounts()), slices.Clip(inner.Own())
	if n := len(own); n <= len(accounts) && slices.Equal(own, accounts[:n]) {
		own = accounts[:n:n] // one slice for both: a process keeps many refs
	}
	r := &ref{venue: v, inner: inner, address: inner.Address(), mints: inner.Mints(), rank: inner.Rank(), accounts: accounts, own: own}
	w, ok := inner.(venue.Windowed)
	if !ok {
		return r, nil
	}
	return &windowedRef{ref: r, windowed: w, depth: w.Depth(), near: slices.Clip(w.Near()), spare: slices.Clip(w.Spare())}, nil
}

// windowedRef is a guarded venue.Windowed.
type windowedRef struct {
	*ref
	windowed    venue.Windowed
	depth       uint64
	near, spare []venue.Key
}

// Depth implements venue.Windowed.
func (r *windowedRef) Depth() uint64 { return r.depth }

// Near implements venue.Windowed.
func (r *windowedRef) Near() []venue.Key { return r.near }

// Spare implements venue.Windowed.
func (r *windowedRef) Spare() []venue.Key { return r.spare }

// Next implements venue.Windowed.
func (r *windowedRef) Next(data []byte) (next venue.Ref, err error) {
	defer r.venue.caught(placeOpen, &err)
	inner, err := r.windowed.Next(data)
	if err != nil {
		return nil, err
	}
	return r.venue.ref(inner)
}

// Wider implements venue.Windowed. If the venue panics, there is no wider window.
func (r *windowedRef) Wider() (wider venue.Ref) {
	var err error // set and logged by caught; wider is then nil
	defer r.venue.caught(placeOpen, &err)
	inner := r.windowed.Wider()
	if inner == nil {
		return nil
	}
	if wider, err = r.venue.ref(inner); err != nil {
		return nil
	}
	return wider
}

var _ venue.Arrayed = (*gated)(nil)

// Kinds implements venue.Arrayed. It returns nil for a venue that is not Arrayed, or that panics.
func (v *guarded) Kinds() (kinds []venue.Filter) {
	var err error // set and logged by caught; kinds is then nil
	defer v.caught(placeLookup, &err)
	return venue.KindsOf(v.Venue)
}

// Shrink implements venue.Arrayed. It returns the data unchanged for a venue that is not Arrayed,
// or that panics.
func (v *guarded) Shrink(data []byte) (compact []byte) {
	arrayed, ok := v.Venue.(venue.Arrayed)
	if !ok {
		return data
	}
	var err error // set and logged by caught
	defer func() {
		if err != nil {
			compact = data
		}
	}()
	defer v.caught(placeOpen, &err)
	return arrayed.Shrink(data)
}
