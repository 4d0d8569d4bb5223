package whirlpool

import (
	"fmt"
	"math"
	"strconv"

	"github.com/mintlake/mintlake/swap/venue"
)

// spares is how many arrays are held in each direction beyond the arrays that a swap reads.
const spares = 2

// place is a tick array of a pool.
type place struct {
	number  int32
	address venue.Key
}

// ref implements venue.Windowed.
type ref struct {
	program, address venue.Key
	state            state
	// places are the arrays of the window and the spare ones, in ascending order. Decode needs
	// those in places[near:far].
	places    []place
	near, far int
	// oracle is the address of the Oracle account; zero if the fee has no adaptive part.
	oracle venue.Key
}

var _ venue.Windowed = (*ref)(nil)

// open reads a pool account. It reuses the addresses of known, an older ref of the pool, which may
// be nil.
func open(program, address venue.Key, data []byte, known *ref) (*ref, error) {
	s, err := decodeState(data)
	if err != nil {
		return nil, err
	}
	r := &ref{program: program, address: address, state: s}
	lowest, highest := s.number(s.tick)-arraysPerSwap+1, s.number(s.tick+s.spacing)+arraysPerSwap-1
	for number := lowest - spares; number <= highest+spares; number++ {
		if !s.exists(number) {
			continue
		}
		array, err := r.derive(number, known)
		if err != nil {
			return nil, err
		}
		if number < lowest {
			r.near++
		}
		if number <= highest {
			r.far++
		}
		r.places = append(r.places, place{number, array})
	}
	if !s.adaptive {
		return r, nil
	}
	if known != nil && known.oracle != (venue.Key{}) {
		r.oracle = known.oracle
		return r, nil
	}
	r.oracle, err = oracleOf(program, address)
	return r, err
}

// derive returns the address of an array: that which known has, or else the derived one.
func (r *ref) derive(number int32, known *ref) (venue.Key, error) {
	if known != nil && known.state.spacing == r.state.spacing {
		for i := range known.places {
			if known.places[i].number == number {
				return known.places[i].address, nil
			}
		}
	}
	start := strconv.Itoa(int(number) * ticksPerArray * int(r.state.spacing))
	return venue.Derive(r.program, []byte("tick_array"), r.address[:], []byte(start))
}

func oracleOf(program, pool venue.Key) (venue.Key, error) {
	return venue.Derive(program, []byte("oracle"), pool[:])
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
		return math.MaxUint64
	}
	return r.state.liquidity.Lo
}

// Accounts implements venue.Ref.
func (r *ref) Accounts() []venue.Key { return []venue.Key{r.address} }

// Own implements venue.Ref. The vaults are not read, as all that a quote needs is in the pool
// account.
func (r *ref) Own() []venue.Key { return []venue.Key{r.address} }

// Near implements venue.Windowed: the arrays that swaps in both directions read, and the Oracle
// account if the fee is adaptive.
func (r *ref) Near() []venue.Key {
	keys := make([]venue.Key, 0, r.far-r.near+1)
	for _, p := range r.places[r.near:r.far] {
		keys = append(keys, p.address)
	}
	if r.state.adaptive {
		keys = append(keys, r.oracle)
	}
	return keys
}

// Spare implements venue.Windowed.
func (r *ref) Spare() []venue.Key {
	keys := make([]venue.Key, 0, 2*spares)
	for i, p := range r.places {
		if i < r.near || i >= r.far {
			keys = append(keys, p.address)
		}
	}
	return keys
}

// Next implements venue.Windowed.
func (r *ref) Next(data []byte) (venue.Ref, error) { return open(r.program, r.address, data, r) }

// Wider implements venue.Windowed. There is no wider window, as a swap reads no more arrays.
func (r *ref) Wider() venue.Ref { return nil }

// Decode implements venue.Ref.
func (r *ref) Decode(accounts venue.State) (venue.Pool, error) {
	p, err := r.decode(accounts)
	if err != nil {
		return nil, fmt.Errorf("pool %s: %w", r.address.String(), err)
	}
	return p, nil
}

func (r *ref) decode(accounts venue.State) (*Pool, error) {
	data, err := venue.Owned(accounts, r.address, r.program)
	if err != nil {
		return nil, err
	}
	p := &Pool{program: r.program, address: r.address}
	if p.state, err = decodeState(data); err != nil {
		return nil, err
	}
	for side, key := range p.state.mints {
		if p.mints[side], err = venue.Mint(accounts, key); err != nil {
			return nil, err
		}
	}
	if p.state.adaptive {
		if err = p.readOracle(accounts, r.oracle); err != nil {
			return nil, err
		}
	}
	return p, p.readArrays(accounts, r)
}

// readOracle reads the Oracle account of the adaptive fee.
func (p *Pool) readOracle(accounts venue.State, key venue.Key) (err error) {
	if p.oracle, err = venue.Config(accounts, key, p.program, decodeOracle); err != nil {
		return err
	}
	if p.oracle.pool != p.address {
		return fmt.Errorf("%w: the oracle of another pool", venue.ErrMalformed)
	}
	return nil
}

// readArrays reads the tick arrays that swaps in both directions use. They follow from the pool
// account as it is now, which may be newer than the one that r was opened with.
func (p *Pool) readArrays(accounts venue.State, r *ref) error {
	p.first = p.state.number(p.state.tick) - arraysPerSwap + 1
	last := p.state.number(p.state.tick+p.state.spacing) + arraysPerSwap - 1
	for number := p.first; number <= last; number++ {
		at := held{number: number}
		if p.state.exists(number) {
			var err error
			if at.address, err = r.derive(number, r); err != nil {
				return err
			}
			if at.array, err = venue.Array(accounts, at.address, p.program, decodeArray); err != nil {
				return err
			}
			if err = p.checkArray(at.array, number); err != nil {
				return err
			}
		}
		p.arrays[number-p.first] = at
	}
	return nil
}

// checkArray returns an error for an array that is not the pool's, or has impossible ticks.
func (p *Pool) checkArray(a *array, number int32) error {
	switch {
	case a == nil:
		return nil
	case a.pool != p.address || a.start != number*ticksPerArray*p.state.spacing:
		return fmt.Errorf("%w: a tick array at %d is another's", venue.ErrMalformed, a.start)
	case len(a.ticks) == 0:
		return nil
	}
	low, high := a.start+int32(a.ticks[0].place)*p.state.spacing, a.start+int32(a.ticks[len(a.ticks)-1].place)*p.state.spacing
	if low < minTick || high > maxTick {
		return fmt.Errorf("%w: a tick out of range", venue.ErrMalformed)
	}
	return nil
}

// pair returns the mints of a swap that sells the mint of a side.
func (p *Pool) pair(side int) venue.Pair { return venue.Pair{In: p.mints[side], Out: p.mints[1-side]} }
