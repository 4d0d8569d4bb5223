package replica

import (
	"hash/maphash"
	"sync"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// tableChunk is how many entries are allocated at once. A single slice would be in memory twice
// whenever it grows.
const tableChunk = 1 << 14

// table holds the packed state of each mint. A mint gets a number when it comes first, dense from 0
// on, which it keeps for ever. Any number of goroutines may use it.
type table struct {
	mu     sync.RWMutex
	chunks [][]entry
	count  int
	// members counts the entries of members.
	members int
	// byHash has numbers by 32 bits of the mint's hash. That takes 15 bytes a mint, where a map of
	// mints takes 60. The few mints whose hash another one had before are in byMint.
	seed   maphash.Seed
	byHash map[uint32]uint32
	byMint map[pubkey.Key]uint32
}

// entry is a mint and its packed state, of which the first byte is 1 if the mint is a member. It is
// empty if the mint has no state.
type entry struct {
	mint  pubkey.Key
	state string
}

func (e *entry) member() bool { return e.state != "" && e.state[0] == 1 }

func newTable() *table {
	return &table{seed: maphash.MakeSeed(), byHash: map[uint32]uint32{}, byMint: map[pubkey.Key]uint32{}}
}

// at returns the entry of a number; an empty one if no mint has it. The caller holds mu.
func (t *table) at(number uint32) *entry {
	if int(number) >= t.count {
		return &entry{}
	}
	return &t.chunks[number/tableChunk][number%tableChunk]
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
	if !known || t.at(number).mint == mint {
		return number, known
	}
	number, known = t.byMint[mint]
	return number, known
}

// mint returns the mint of a number; false for a number that none has.
func (t *table) mint(number uint32) (pubkey.Key, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.at(number).mint, int(number) < t.count
}

// isMember returns whether the mint of a number is a member.
func (t *table) isMember(number uint32) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.at(number).member()
}

// append appends the packed state of a number, and returns whether the mint is a member.
func (t *table) append(dst []byte, number uint32) (state []byte, member bool) {
	t.mu.RLock()
	e := *t.at(number)
	t.mu.RUnlock()
	if e.state == "" {
		return dst, false
	}
	return append(dst, e.state[1:]...), e.member()
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
		t.chunks = append(t.chunks, make([]entry, tableChunk))
	}
	t.count++
	t.at(number).mint = mint
	if _, taken := t.byHash[hash]; taken {
		t.byMint[mint] = number
	} else {
		t.byHash[hash] = number
	}
	return number
}

// put replaces the state of a number.
func (t *table) put(number uint32, packed []byte, member bool) {
	first := "\x00"
	if member {
		first = "\x01"
	}
	state := first + string(packed)
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.at(number)
	if e.member() {
		t.members--
	}
	if e.state = state; member {
		t.members++
	}
}
