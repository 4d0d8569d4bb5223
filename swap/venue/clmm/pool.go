package clmm

import (
	"fmt"
	"sync/atomic"

	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
)

// Pool is a pool's state at one slot.
type Pool struct {
	program, address venue.Key
	// extensionKey is the address of extension.
	extensionKey venue.Key
	state        state
	config       *config
	mints        [2]*mint.Mint
	// extension is nil if no array of the window needs it, or if it does not exist.
	extension *extension
	window
	// walks are the steps that were computed so far, by the side that is sold and by the phase of
	// the dynamic fee.
	walks [2][phases]atomic.Pointer[walk]
}

// held is a tick array and its address.
type held struct {
	*array
	key venue.Key
}

// window has the tick arrays of a pool that are held: those around the price, without a gap between
// initialized ones, in ascending order.
type window struct {
	arrays []held
	// more says whether initialized arrays follow outside the window: more[0] below it, more[1]
	// above it.
	more [2]bool
}

// Address implements venue.Pool.
func (p *Pool) Address() venue.Key { return p.address }

// Mints implements venue.Pool.
func (p *Pool) Mints() [2]venue.Key { return p.state.mints }

func (p *Pool) pair(side int) venue.Pair {
	return venue.Pair{In: p.mints[side], Out: p.mints[1-side]}
}

var errBeyond = fmt.Errorf("%w: in another tick array", venue.ErrBeyond)

// hold fills the window: it collects the initialized arrays around the price, outwards, until one
// is not held. get returns an array by its number, or a held without an array if it is not held.
func (p *Pool) hold(get func(number int32) (held, error)) error {
	known := arrays{own: &p.state.bitmap, extension: p.extension, spacing: p.state.spacing}
	at := numberOf(p.state.tick, p.state.spacing)
	var here []held
	if known.initialized(at) {
		a, err := get(at)
		if err != nil {
			return err
		}
		if a.array == nil {
			p.more = [2]bool{true, true}
			return nil
		}
		here = []held{a}
	}
	below, more, err := run(known, at, false, get)
	if err != nil {
		return err
	}
	above, moreAbove, err := run(known, at, true, get)
	if err != nil {
		return err
	}
	for i := len(below) - 1; i >= 0; i-- {
		p.arrays = append(p.arrays, below[i])
	}
	p.arrays = append(append(p.arrays, here...), above...)
	p.more = [2]bool{more, moreAbove}
	return nil
}

// run returns the held arrays that follow array number in a direction, the nearest first. more says
// whether the next initialized array is not held.
func run(known arrays, number int32, up bool, get func(number int32) (held, error)) (list []held, more bool, err error) {
	for {
		next, ok := known.next(number, up)
		if !ok {
			return list, false, nil
		}
		a, err := get(next)
		if err != nil || a.array == nil {
			return list, true, err
		}
		list, number = append(list, a), next
	}
}

// first returns the index of the array with which a swap begins: the array at the price if it is
// initialized, else the next one in the direction. If there is none, the index is out of range.
func (p *Pool) first(up bool) int {
	at := numberOf(p.state.tick, p.state.spacing)
	for i, a := range p.arrays {
		if a.number == at || a.number > at && up {
			return i
		}
		if a.number > at {
			return i - 1
		}
	}
	if up {
		return len(p.arrays)
	}
	return len(p.arrays) - 1
}
