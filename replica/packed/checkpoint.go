package packed

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/mintlake/mintlake/replica/checkpoint"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// form is the number of the packed form. Raise it whenever the form changes, so that no state in an
// older form is read from a checkpoint. TestTheFormIsTheOneThatItsNumberSays fails if that was
// forgotten.
const form = 1

// Form names the packed form, the dictionary included. A build can read the states of another build
// whose Form is the same.
func Form() string {
	words := sha256.Sum256([]byte(strings.Join(dictionary, "\x00")))
	return strconv.Itoa(form) + "-" + hex.EncodeToString(words[:8])
}

// Save writes all values that have numbers. States that were packed before the call refer to no
// others.
func (s *Shared) Save(w *checkpoint.Writer) {
	for _, in := range []*interner{s.strings, s.keys, s.shapes} {
		in.mu.RLock()
		count := len(in.numbers)
		in.mu.RUnlock()
		w.Number(uint64(count))
		for n := range count {
			w.Bytes([]byte(in.of(uint64(n)).bytes))
		}
	}
}

// Load reads what Save wrote, into a Shared that has no values yet. If it fails, r.Err returns why.
func (s *Shared) Load(r *checkpoint.Reader) {
	for _, in := range []*interner{s.strings, s.keys, s.shapes} {
		count := r.Number()
		for n := uint64(0); n < count && r.Err() == nil; n++ {
			value := r.Bytes()
			var text func() string
			if in == s.keys {
				if len(value) != pubkey.Size {
					r.Refuse("a key in it is none")
					return
				}
				text = pubkey.Key(value).String
			}
			if _, ok := in.add(value, text); !ok {
				r.Refuse("it has more values than fit")
			}
		}
	}
}

// Replace gives s the values of other, which must not be used any more. Nobody may use s meanwhile.
func (s *Shared) Replace(other *Shared) { *s = *other }
