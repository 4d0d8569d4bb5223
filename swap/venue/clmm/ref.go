package clmm

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/mintlake/mintlake/swap/venue"
)

// narrow and wide are how many arrays a window has in each direction, besides the array at the
// price. spares is how many arrays beyond the window are held in each direction.
const (
	narrow = 3
	wide   = 8
	spares = 2
)

// ref implements venue.Windowed.
type ref struct {
	venue   Venue
	address venue.Key
	state   state
	// perSide is narrow or wide.
	perSide int
	// extension is the address of the bitmap extension, zero if the spacing needs none.
	extension   venue.Key
	near, spare []venue.Key
	// numbers are the numbers of the arrays in near, then of those in spare.
	numbers []int32
	// extended says that the extension is needed. Then its address is the first in near.
	extended bool
}

// open makes the ref of a pool account. It reuses the addresses of before, an older ref of the
// pool, which may be nil.
func (v Venue) open(address venue.Key, data []byte, before *ref, perSide int) (*ref, error) {
	s, err := decodeState(data, v.fork)
	if err != nil {
		return nil, err
	}
	r := &ref{venue: v, address: address, state: s, perSide: perSide}
	if s.spacing < wholeSpacing {
		if r.extension, err = r.extensionKey(before); err != nil {
			return nil, err
		}
	}
	return r, r.derive(before)
}

// derive finds the window and derives its addresses.
func (r *ref) derive(before *ref) error {
	near, spare := r.window()
	r.numbers = slices.Concat(near, spare)
	if before != nil && slices.Equal(before.numbers, r.numbers) && len(before.spare) == len(spare) {
		r.near, r.spare = before.near, before.spare
		return nil
	}
	keys := make([]venue.Key, 0, 1+len(r.numbers))
	if r.extended {
		keys = append(keys, r.extension)
	}
	for _, number := range r.numbers {
		key, err := r.arrayKey(number, before)
		if err != nil {
			return err
		}
		keys = append(keys, key)
	}
	first := len(keys) - len(spare)
	r.near, r.spare = keys[:first:first], keys[first:]
	return nil
}

func (r *ref) extensionKey(before *ref) (venue.Key, error) {
	if before != nil {
		return before.extension, nil
	}
	return venue.Derive(r.venue.program, []byte("pool_tick_array_bitmap_extension"), r.address[:])
}

// keyOf returns the address of an array of the window or a spare one. ok is false for any other
// array.
func (r *ref) keyOf(number int32) (key venue.Key, ok bool) {
	near := r.near
	if r.extended {
		near = near[1:]
	}
	for i, n := range r.numbers {
		if n == number && i < len(near) {
			return near[i], true
		}
		if n == number {
			return r.spare[i-len(near)], true
		}
	}
	return key, false
}

// arrayKey returns the address of an array: the program derived address of [tick_array, pool,
// start], the start in big endian.
func (r *ref) arrayKey(number int32, before *ref) (venue.Key, error) {
	if before != nil {
		if key, ok := before.keyOf(number); ok {
			return key, nil
		}
	}
	start := binary.BigEndian.AppendUint32(nil, uint32(number*arrayTicks*r.state.spacing))
	return venue.Derive(r.venue.program, []byte("tick_array"), r.address[:], start)
}

// window returns the arrays that Decode needs, and the spare ones beyond. As far as the pool
// account has the bits, these are arrays with initialized ticks. Farther out only the extension
// tells which arrays exist, so the nearest ones are named there, and the outermost one, in which
// positions over all prices end.
func (r *ref) window() (near, spare []int32) {
	s := &r.state
	known := arrays{own: &s.bitmap, spacing: s.spacing}
	at := numberOf(s.tick, s.spacing)
	if !own(at) {
		r.extended = true
		near = append(near, at)
	} else if known.initialized(at) {
		near = append(near, at)
	}
	for _, up := range []bool{true, false} {
		number := at
		for i := 0; i < r.perSide+spares; i++ {
			next, ok := known.after(number, up)
			if !ok {
				break
			}
			if number = next; i < r.perSide {
				near = append(near, number)
			} else {
				spare = append(spare, number)
			}
			r.extended = r.extended || !own(number)
		}
	}
	return near, spare
}

// after returns the array that follows number in a window: the nearest initialized one in the
// pool's own bits, else the outermost one, and outside of the own bits the next number. ok is false
// if there is none.
func (a arrays) after(number int32, up bool) (next int32, ok bool) {
	if next, ok = a.next(number, up); ok || a.spacing >= wholeSpacing {
		return next, ok
	}
	last := numberOf(minTick, a.spacing)
	if up {
		last = numberOf(maxTick, a.spacing)
	}
	switch {
	case number == last:
		return 0, false
	case own(number):
		return last, true
	case up:
		return number + 1, true
	}
	return number - 1, true
}

// Address implements venue.Ref.
func (r *ref) Address() venue.Key { return r.address }

// Mints implements venue.Ref.
func (r *ref) Mints() [2]venue.Key { return r.state.mints }

// Rank implements venue.Ref.
func (r *ref) Rank() uint64 { return r.Depth() }

// Depth implements venue.Windowed.
func (r *ref) Depth() uint64 {
	if r.state.liquidity.Hi != 0 {
		return ^uint64(0)
	}
	return r.state.liquidity.Lo
}

// Accounts implements venue.Ref. The vaults are not read: all that a quote needs is in the others.
func (r *ref) Accounts() []venue.Key { return []venue.Key{r.address, r.state.config} }

// Own implements venue.Ref.
func (r *ref) Own() []venue.Key { return []venue.Key{r.address} }

// Near implements venue.Windowed.
func (r *ref) Near() []venue.Key { return r.near }

// Spare implements venue.Windowed.
func (r *ref) Spare() []venue.Key { return r.spare }

// Next implements venue.Windowed.
func (r *ref) Next(data []byte) (venue.Ref, error) {
	return r.venue.open(r.address, data, r, r.perSide)
}

// Wider implements venue.Windowed.
func (r *ref) Wider() venue.Ref {
	if r.perSide == wide {
		return nil
	}
	wider := &ref{venue: r.venue, address: r.address, state: r.state, perSide: wide, extension: r.extension}
	if err := wider.derive(r); err != nil {
		return nil
	}
	return wider
}

// Decode implements venue.Ref.
func (r *ref) Decode(accounts venue.State) (venue.Pool, error) {
	p, err := r.decode(accounts)
	if err != nil {
		return nil, fmt.Errorf("pool %s: %w", r.address.String(), err)
	}
	return p, nil
}

func (r *ref) decode(accounts venue.State) (*Pool, error) {
	data, err := venue.Owned(accounts, r.address, r.venue.program)
	if err != nil {
		return nil, err
	}
	p := &Pool{program: r.venue.program, address: r.address, extensionKey: r.extension}
	if p.state, err = decodeState(data, r.venue.fork); err != nil {
		return nil, err
	}
	if p.config, err = venue.Config(accounts, p.state.config, r.venue.program, decodeConfig); err != nil {
		return nil, err
	}
	for side, key := range p.state.mints {
		if p.mints[side], err = venue.Mint(accounts, key); err != nil {
			return nil, err
		}
	}
	if r.extended {
		decode := func(data []byte) (*extension, error) { return decodeExtension(data, r.address) }
		if p.extension, err = venue.Array(accounts, r.extension, r.venue.program, decode); err != nil {
			return nil, err
		}
	}
	return p, p.hold(func(number int32) (held, error) { return r.array(accounts, number) })
}

// array reads an array. The result has no array if it is neither in the window nor a spare one that
// was read.
func (r *ref) array(accounts venue.State, number int32) (held, error) {
	key, ok := r.keyOf(number)
	if !ok {
		return held{}, nil
	}
	if _, read := accounts.Account(key); !read {
		return held{}, r.unread(key)
	}
	decode := func(data []byte) (*array, error) { return decodeArray(data, r.state.spacing, r.venue.fork) }
	a, err := venue.Array(accounts, key, r.venue.program, decode)
	switch {
	case err != nil:
		return held{}, err
	case a == nil || a.pool != r.address || a.number != number || len(a.ticks) == 0:
		return held{}, fmt.Errorf("%w: no tick array at %s", venue.ErrMalformed, key.String())
	}
	return held{a, key}, nil
}

// unread returns the error for an array whose account was not read: nil for a spare one, as Decode
// does without it.
func (r *ref) unread(key venue.Key) error {
	for _, spare := range r.spare {
		if spare == key {
			return nil
		}
	}
	return venue.ErrUnread
}
