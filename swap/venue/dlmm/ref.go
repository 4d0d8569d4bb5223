package dlmm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/mintlake/mintlake/swap/venue"
)

// narrowWindow and wideWindow are how many bin arrays of a direction are read. The wide window is
// about what fits a transaction. spares is how many arrays beyond the window are held in each
// direction.
const (
	narrowWindow = 3
	wideWindow   = 6
	spares       = 2
)

// place is a bin array of a pool.
type place struct {
	index   int32
	address venue.Key
}

// ref implements venue.Windowed.
type ref struct {
	address venue.Key
	state   state
	window  int
	// near are the arrays that Decode needs, spare the arrays beyond.
	near, spare []place
	// extension is the address of the bitmap extension. outer says that Decode needs the extension.
	extension venue.Key
	outer     bool
}

var _ venue.Windowed = (*ref)(nil)

// open reads a pool account. It reuses the addresses of known, an older ref of the pool, which may
// be nil.
func open(address venue.Key, data []byte, known *ref, window int) (*ref, error) {
	s, err := decodeState(data)
	if err != nil {
		return nil, err
	}
	r := &ref{address: address, state: s, window: window}
	if known != nil {
		r.extension = known.extension
	} else if r.extension, err = venue.Derive(Program, []byte("bitmap"), address[:]); err != nil {
		return nil, err
	}
	for _, down := range []bool{true, false} {
		if err := r.addSide(down, known); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// addSide adds the arrays of a direction. Outside the bitmap of the pool account only the extension
// tells which arrays exist. There addSide adds the arrays whose numbers come next.
func (r *ref) addSide(down bool, known *ref) error {
	direction, from := int32(1), arrayOf(r.state.active)
	if down {
		direction = -1
	}
	for i := range r.window + spares {
		index, answer := r.state.next(from, down, nil)
		if answer == foundNone {
			return nil
		}
		if answer == foundOuter {
			r.outer = true
			// The bitmap of the pool account has no further array: go on outside of it.
			if from >= -innerArrays && from < innerArrays {
				if from = innerArrays; down {
					from = -innerArrays - 1
				}
			}
			index = from
		}
		from = index + direction
		if err := r.addArray(index, i < r.window, known); err != nil {
			return err
		}
	}
	return nil
}

// addArray adds an array to near or to spare, unless near has it from the other direction.
func (r *ref) addArray(index int32, near bool, known *ref) error {
	for _, p := range r.near {
		if p.index == index {
			return nil
		}
	}
	address, err := r.derive(index, known)
	if err != nil {
		return err
	}
	if near {
		r.near = append(r.near, place{index, address})
	} else {
		r.spare = append(r.spare, place{index, address})
	}
	return nil
}

// derive returns the address of an array: that which known has, or else the derived one.
func (r *ref) derive(index int32, known *ref) (venue.Key, error) {
	if known != nil {
		for _, places := range [2][]place{known.near, known.spare} {
			for i := range places {
				if places[i].index == index {
					return places[i].address, nil
				}
			}
		}
	}
	number := binary.LittleEndian.AppendUint64(nil, uint64(int64(index)))
	return venue.Derive(Program, []byte("bin_array"), r.address[:], number)
}

// Address implements venue.Ref.
func (r *ref) Address() venue.Key { return r.address }

// Mints implements venue.Ref.
func (r *ref) Mints() [2]venue.Key { return r.state.mints }

// Rank implements venue.Ref.
func (r *ref) Rank() uint64 { return r.state.rank() }

// Depth implements venue.Windowed. The pool account does not tell the depth.
func (r *ref) Depth() uint64 { return math.MaxUint64 }

// Accounts implements venue.Ref.
func (r *ref) Accounts() []venue.Key { return []venue.Key{r.address} }

// Own implements venue.Ref. The vaults are not read, as the bins tell the amounts.
func (r *ref) Own() []venue.Key { return []venue.Key{r.address} }

// Near implements venue.Windowed.
func (r *ref) Near() []venue.Key {
	keys := addresses(r.near)
	if r.outer {
		keys = append(keys, r.extension)
	}
	return keys
}

// Spare implements venue.Windowed.
func (r *ref) Spare() []venue.Key { return addresses(r.spare) }

func addresses(places []place) []venue.Key {
	keys := make([]venue.Key, 0, len(places)+1)
	for _, p := range places {
		keys = append(keys, p.address)
	}
	return keys
}

// Next implements venue.Windowed.
func (r *ref) Next(data []byte) (venue.Ref, error) { return open(r.address, data, r, r.window) }

// Wider implements venue.Windowed.
func (r *ref) Wider() venue.Ref {
	if r.window >= wideWindow {
		return nil
	}
	wider := &ref{address: r.address, state: r.state, window: wideWindow, extension: r.extension}
	if wider.addSide(true, r) != nil || wider.addSide(false, r) != nil {
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
	data, err := venue.Owned(accounts, r.address, Program)
	if err != nil {
		return nil, err
	}
	p := &Pool{address: r.address}
	if p.state, err = decodeState(data); err != nil {
		return nil, err
	}
	for side, key := range p.state.mints {
		if p.mints[side], err = venue.Mint(accounts, key); err != nil {
			return nil, err
		}
	}
	var outer *extension
	if r.outer {
		if outer, err = venue.Array(accounts, r.extension, Program, decodeExtension); err != nil {
			return nil, err
		}
		if outer != nil && outer.pool != r.address {
			return nil, fmt.Errorf("%w: the bitmap of another pool", venue.ErrMalformed)
		}
		if outer != nil {
			p.extension = r.extension
		}
	}
	for i, down := range []bool{true, false} {
		if p.sides[i], err = p.readSide(accounts, r, down, outer); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// readSide reads the arrays of a direction, up to the end of the window. They follow from the
// bitmaps as they are now, which may be newer than those that r was opened with.
func (p *Pool) readSide(accounts venue.State, r *ref, down bool, outer *extension) (s side, err error) {
	direction, from := int32(1), arrayOf(p.state.active)
	if down {
		direction = -1
	}
	for range r.window {
		index, answer := p.state.next(from, down, outer)
		if answer != found {
			// If there is no extension, no arrays exist outside the bitmap of the pool account.
			s.end = errEmpty
			return s, nil
		}
		h := held{index: index}
		if h.address, err = r.derive(index, r); err != nil {
			return s, err
		}
		h.array, err = venue.Array(accounts, h.address, Program, decodeArray)
		// The window was chosen without the extension, so it may lack an array that the extension
		// tells.
		if errors.Is(err, venue.ErrUnread) && (index < -innerArrays || index >= innerArrays) {
			break
		}
		if err != nil {
			return s, err
		}
		if h.array == nil || h.array.pool != p.address || h.array.index != int64(index) {
			return s, fmt.Errorf("%w: bin array %d is another's, or there is none", venue.ErrMalformed, index)
		}
		s.arrays = append(s.arrays, h)
		from = index + direction
	}
	s.end = errWindow
	if _, answer := p.state.next(from, down, outer); answer != found {
		s.end = errEmpty
	}
	return s, nil
}

// pair returns the mints of a swap that sells the mint of a side.
func (p *Pool) pair(side int) venue.Pair { return venue.Pair{In: p.mints[side], Out: p.mints[1-side]} }
