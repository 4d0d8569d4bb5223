package market

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/cespare/xxhash/v2"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
)

// Lister lists accounts of a program while the response arrives: *solana.Client.
type Lister interface {
	ProgramAccounts(ctx context.Context, program pubkey.Key, o solana.ProgramOptions, use func(address pubkey.Key, data []byte) error) error
}

// Directory knows the addresses of all pools of the venues that were listed whole, by their mints.
// It has no state of pools. A pool takes 40 bytes. Safe for concurrent use; the zero value is ready
// and knows nothing.
type Directory struct {
	mu sync.RWMutex
	// whole are the places of each program that was listed, sorted.
	whole map[pubkey.Key][]place
	// born are the addresses of the pools that Born added and no listing has, by the hash of their
	// place.
	born  map[uint64][]pubkey.Key
	count int
}

// place is a pool's address, with a hash of its program and its mints. Two pairs may have the same
// hash, so whoever reads the pool must compare its mints.
type place struct {
	hash    uint64
	address pubkey.Key
}

// maxPlaces bounds a directory: 160 MB.
const maxPlaces = 4_000_000

// errFull ends a listing that is too long.
var errFull = errors.New("there are too many pools")

func hashOf(program, a, b pubkey.Key) uint64 {
	a, b = venue.Ordered(a, b)
	var text [96]byte
	copy(text[:], program[:])
	copy(text[32:], a[:])
	copy(text[64:], b[:])
	return xxhash.Sum64(text[:])
}

func comparePlaces(x, y place) int {
	if c := cmp.Compare(x.hash, y.hash); c != 0 {
		return c // the usual case, in which the addresses need not be compared
	}
	return bytes.Compare(x.address[:], y.address[:])
}

// Whole is the list of all pools of one venue. It is zero for a venue that List cannot list.
type Whole struct {
	program pubkey.Key
	places  []place
}

// List lists all pools of a venue, as they are at slot from or later. Of each account only the
// mints are read.
func (d *Directory) List(ctx context.Context, lister Lister, v venue.Venue, from uint64) (Whole, error) {
	f, ok := wholeFilter(v)
	if !ok {
		return Whole{}, nil
	}
	// One slice covers both mints, and at most a few bytes between them that are not needed.
	second := f.MintsAt[1] - f.MintsAt[0]
	mints := second + len(pubkey.Key{})
	o := solana.ProgramOptions{AccountOptions: solana.AccountOptions{
		Commitment: solana.Confirmed, MinContextSlot: from, DataSlice: &solana.DataSlice{Offset: uint64(f.MintsAt[0]), Length: uint64(mints)},
	}, Filters: wireFilters(f)}
	// parts are the places by the first byte of their hash: to sort 256 short lists takes half the
	// time of a long one.
	var parts [256][]place
	count, room := 0, maxPlaces-d.Len()
	err := lister.ProgramAccounts(ctx, v.Program(), o, func(address pubkey.Key, data []byte) error {
		if len(data) != mints {
			return fmt.Errorf("%s has %d bytes in place of %d: the server ignores a filter or the slice", address, len(data), mints)
		}
		if count++; count > room {
			return errFull
		}
		hash := hashOf(v.Program(), pubkey.Key(data), pubkey.Key(data[second:]))
		parts[hash>>56] = append(parts[hash>>56], place{hash, address})
		return nil
	})
	if err != nil {
		return Whole{}, fmt.Errorf("list the pools of %s: %w", v.Name(), err)
	}
	w := Whole{program: v.Program(), places: make([]place, 0, count)}
	for _, part := range parts {
		slices.SortFunc(part, comparePlaces)
		w.places = append(w.places, part...)
	}
	return w, nil
}

// Listable returns whether List can list the pools of a venue.
func Listable(v venue.Venue) bool {
	_, ok := wholeFilter(v)
	return ok
}

// wholeFilter returns the filter that selects all pools of a venue; ok is false if there is none.
func wholeFilter(v venue.Venue) (f venue.Filter, ok bool) {
	filters := v.Lookup(pubkey.Key{}, pubkey.Key{}).Filters
	if len(filters) == 0 {
		return f, false
	}
	return filters[0].Whole()
}

// Fill takes in the pools of a venue. From then on Find answers for it. The caller has called Born
// with all pools that were made since the slot of the listing, and calls it with each later one.
func (d *Directory) Fill(w Whole) {
	if w.program.IsZero() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.whole == nil {
		d.whole = map[pubkey.Key][]place{}
	}
	d.count += len(w.places) - len(d.whole[w.program])
	d.whole[w.program] = w.places
	for hash, before := range d.born { // it may have been born while the venue was listed
		left := slices.DeleteFunc(slices.Clone(before), func(k pubkey.Key) bool { return d.listed(w.program, place{hash, k}) })
		d.count -= len(before) - len(left)
		if d.born[hash] = left; len(left) == 0 {
			delete(d.born, hash)
		}
	}
}

// listed returns whether the listing of a program has a place. The caller holds mu.
func (d *Directory) listed(program pubkey.Key, p place) bool {
	_, found := slices.BinarySearchFunc(d.whole[program], p, comparePlaces)
	return found
}

// Born adds a pool that was made since its venue was listed. The pool may be known already. If
// there is no room for it, the venue's listing is dropped, because it is not complete any more.
func (d *Directory) Born(program, a, b, address pubkey.Key) {
	hash := hashOf(program, a, b)
	d.mu.Lock()
	defer d.mu.Unlock()
	if slices.Contains(d.born[hash], address) || d.listed(program, place{hash, address}) {
		return
	}
	if d.count >= maxPlaces {
		d.count -= len(d.whole[program])
		delete(d.whole, program)
		return
	}
	if d.born == nil {
		d.born = map[uint64][]pubkey.Key{}
	}
	d.born[hash] = append(d.born[hash], address)
	d.count++
}

// Find returns the addresses of a venue's pools of a pair, and perhaps those of another pair with
// the same hash. ok is false if the venue was not listed.
func (d *Directory) Find(program, a, b pubkey.Key) (addresses []pubkey.Key, ok bool) {
	if d == nil {
		return nil, false
	}
	hash := hashOf(program, a, b)
	d.mu.RLock()
	defer d.mu.RUnlock()
	whole, ok := d.whole[program]
	if !ok {
		return nil, false
	}
	at, _ := slices.BinarySearchFunc(whole, hash, func(p place, hash uint64) int { return cmp.Compare(p.hash, hash) })
	for ; at < len(whole) && whole[at].hash == hash; at++ {
		addresses = append(addresses, whole[at].address)
	}
	return append(addresses, d.born[hash]...), true
}

// maxListed is how many pools of a pair are read by their addresses. If the directory has more, the
// server lists the pair with getProgramAccounts.
const maxListed = 1000

// Lookup returns v.Lookup of a pair. If the directory has the venue, and at most maxListed
// addresses for the pair, lookup has no filters, and listed has these addresses. d may be nil.
func (d *Directory) Lookup(v venue.Venue, a, b pubkey.Key) (lookup venue.Lookup, listed []pubkey.Key) {
	lookup = v.Lookup(a, b)
	if addresses, ok := d.Find(v.Program(), a, b); ok && len(addresses) <= maxListed {
		lookup.Filters, listed = nil, addresses
	}
	return lookup, listed
}

// Len returns how many pools are known.
func (d *Directory) Len() int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.count
}

// Expire drops all listings, after a gap in which pools may have been made that nobody saw. Find
// answers for a venue once it is listed again.
func (d *Directory) Expire() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, places := range d.whole {
		d.count -= len(places)
	}
	d.whole = nil
}

func wireFilters(f venue.Filter) []solana.Filter {
	filters := make([]solana.Filter, 0, 1+len(f.Parts))
	if f.Size != 0 {
		filters = append(filters, solana.Filter{DataSize: f.Size})
	}
	for _, part := range f.Parts {
		filters = append(filters, solana.Equals(part.Offset, part.Bytes...))
	}
	return filters
}
