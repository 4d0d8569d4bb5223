package evidence

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/mintlake/mintlake/replica/checkpoint"
)

// form is the number of the form in which Save writes traits, and of the rules by which they are
// made of a token.
const form = 1

// Form implements replica.Keeper. It includes Unicode's table, of which skeletons are made.
func (x *Index) Form() string {
	table := sha256.Sum256([]byte(confusables))
	return strconv.Itoa(form) + "-" + hex.EncodeToString(table[:8])
}

// Save implements replica.Keeper. It copies a chunk at a time, and a change waits for one at most.
// Volumes are left out: they are no facts, and a node gets them anew.
func (x *Index) Save(w *checkpoint.Writer, rows int) {
	w.Number(x.key.first)
	w.Number(x.key.second)
	w.Number(uint64(rows))
	part := make([]traits, chunkSize)
	for from := 0; from < rows && w.Err() == nil; from += chunkSize {
		copied := part[:min(chunkSize, rows-from)]
		clear(copied)
		x.mu.RLock()
		if chunk := from >> chunkBits; chunk < len(x.chunks) {
			copy(copied, x.chunks[chunk][:])
		}
		x.mu.RUnlock()
		for i := range copied {
			if copied[i].symbol != 0 {
				copied[i].volume = noVolume
			}
		}
		checkpoint.List(w, copied)
	}
}

// Load implements replica.Keeper.
func (x *Index) Load(r *checkpoint.Reader, rows int) (adopt func()) {
	key := hashKey{r.Number(), r.Number()}
	if r.Number() != uint64(rows) {
		r.Refuse("it has not as many rows as the copy")
		return nil
	}
	var chunks []*[chunkSize]traits
	for from := 0; from < rows && r.Err() == nil; from += chunkSize {
		part, chunk := checkpoint.ListOf[traits](r), new([chunkSize]traits)
		if len(part) != min(chunkSize, rows-from) {
			r.Refuse("a part has not as many rows as it should")
			return nil
		}
		copy(chunk[:], part)
		chunks = append(chunks, chunk)
	}
	return func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.key, x.chunks, x.filling = key, chunks, true
	}
}
