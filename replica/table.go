package replica

import (
	"hash/maphash"
	"sync"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// tableChunk is how many mints one chunk of the table holds. If the table were a single slice, it
// would be in memory twice whenever it grows.
const tableChunk = 1 << 14

// chunk holds the mints and the states of tableChunk consecutive numbers. Mints have no pointers,
// so they lie apart: a garbage collection does not look at them.
type chunk struct {
	mints []pubkey.Key
	pages []page
}

// table holds the packed state of each mint. Each new mint gets the next number, from 0 on, and
// keeps it for ever: its row id. Any number of goroutines may use it.
type table struct {
	mu     sync.RWMutex
	chunks []chunk
	count  int
	// members counts the mints that are members.
	members int
	// byHash has numbers by 32 bits of the mint's hash. That takes 15 bytes a mint, where a map of
	// mints takes 60. The few mints whose hash another one had before are in byMint.
	seed   maphash.Seed
	byHash map[uint32]uint32
	byMint map[pubkey.Key]uint32
}

func newTable() *table {
	return &table{seed: maphash.MakeSeed(), byHash: map[uint32]uint32{}, byMint: map[pubkey.Key]uint32{}}
}

// mintAt returns the mint of a number; the zero key if no mint has it. The caller holds mu.
func (t *table) mintAt(number uint32) (mint pubkey.Key) {
	if int(number) >= t.count {
		return mint
	}
	return t.chunks[number/tableChunk].mints[number%tableChunk]
}

// stateAt returns the state of a number as its page has it; nothing if no mint has the number. The
// caller holds mu. The state is valid for ever, and must not be changed.
func (t *table) stateAt(number uint32) []byte {
	if int(number) >= t.count {
		return nil
	}
	p, at := t.place(number)
	return p.state(at)
}

// place returns where the state of a number that a mint has lies.
func (t *table) place(number uint32) (p *page, at uint32) {
	in := number % tableChunk
	return &t.chunks[number/tableChunk].pages[in/statesPerPage], in % statesPerPage
}

// len returns how many mints there are. Their numbers are 0 to len()-1.
func (t *table) len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.count
}

// tokens returns how many mints are members.
func (t *table) tokens() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.members
}

// find returns the number of a mint.
func (t *table) find(mint pubkey.Key) (uint32, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.look(t.hash(mint), mint)
}

func (t *table) hash(mint pubkey.Key) uint32 { return uint32(maphash.Bytes(t.seed, mint[:])) }

// look is find with the mint's hash. The caller holds mu.
func (t *table) look(hash uint32, mint pubkey.Key) (uint32, bool) {
	number, known := t.byHash[hash]
	if !known || t.mintAt(number) == mint {
		return number, known
	}
	number, known = t.byMint[mint]
	return number, known
}

// mint returns the mint of a number; false for a number that none has.
func (t *table) mint(number uint32) (pubkey.Key, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.mintAt(number), int(number) < t.count
}

// isMember returns whether the mint of a number is a member.
func (t *table) isMember(number uint32) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return isMember(t.stateAt(number))
}

// append appends the packed state of a number, and returns whether the mint is a member.
func (t *table) append(dst []byte, number uint32) (state []byte, member bool) {
	t.mu.RLock()
	state = t.stateAt(number)
	t.mu.RUnlock()
	if len(state) == 0 {
		return dst, false
	}
	return append(dst, state[1:]...), isMember(state)
}

// add returns the number of a mint, a new one if it has none.
func (t *table) add(mint pubkey.Key) uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	hash := t.hash(mint)
	number, known := t.look(hash, mint)
	if known {
		return number
	}
	number = uint32(t.count)
	if number%tableChunk == 0 {
		t.chunks = append(t.chunks, chunk{make([]pubkey.Key, tableChunk), make([]page, tableChunk/statesPerPage)})
	}
	t.count++
	t.chunks[number/tableChunk].mints[number%tableChunk] = mint
	if _, taken := t.byHash[hash]; taken {
		t.byMint[mint] = number
	} else {
		t.byHash[hash] = number
	}
	return number
}

// put replaces the state of a number that a mint has.
func (t *table) put(number uint32, packed []byte, member bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, at := t.place(number)
	if isMember(p.state(at)) {
		t.members--
	}
	if p.put(at, member, packed); member {
		t.members++
	}
}
