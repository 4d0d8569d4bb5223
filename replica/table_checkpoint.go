package replica

import (
	"encoding/binary"

	"github.com/mintlake/mintlake/replica/checkpoint"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// savedAtOnce is how many entries are copied per hold of the table's lock, which takes some
// microseconds.
const savedAtOnce = 512

// save writes the entries from from to end-1: the mint, the length of its state, the state.
func (t *table) save(w *checkpoint.Writer, from, end int) {
	type entry struct {
		mint  pubkey.Key
		state []byte
	}
	entries := make([]entry, 0, savedAtOnce)
	var head []byte
	for from < end && w.Err() == nil {
		next := min(from+savedAtOnce, end)
		entries = entries[:0]
		t.mu.RLock()
		for ; from < next; from++ {
			entries = append(entries, entry{t.mintAt(uint32(from)), t.stateAt(uint32(from))})
		}
		t.mu.RUnlock()
		for i := range entries {
			head = binary.LittleEndian.AppendUint32(append(head[:0], entries[i].mint[:]...), uint32(len(entries[i].state)))
			_, _ = w.Write(append(head, entries[i].state...)) // the writer keeps its error
		}
	}
}

// load reads rows entries into an empty table. If it fails, r.Err returns why.
func (t *table) load(r *checkpoint.Reader, rows int) {
	if int64(rows) > r.Left()/(pubkey.Size+4) || rows < 0 {
		r.Refuse("it has fewer rows than the copy")
		return
	}
	t.byHash = make(map[uint32]uint32, rows)
	for range rows {
		head := r.Fixed(pubkey.Size + 4)
		if head == nil {
			return
		}
		mint, size := pubkey.Key(head), binary.LittleEndian.Uint32(head[pubkey.Size:])
		before := t.count
		number := t.add(mint)
		if t.count == before {
			r.Refuse("it has a mint twice")
			return
		}
		if state := r.Fixed(int(size)); len(state) > 0 {
			t.put(number, state[1:], isMember(state))
		}
	}
}

// replace gives t the content of other, which must not be used any more.
func (t *table) replace(other *table) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.chunks, t.count, t.members, t.seed, t.byHash, t.byMint = other.chunks, other.count, other.members, other.seed, other.byHash, other.byMint
}
