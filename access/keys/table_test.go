package keys

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestACellIsACacheLine: with more, a look-up would wait for two.
func TestACellIsACacheLine(t *testing.T) {
	require.EqualValues(t, 64, unsafe.Sizeof(cell{}))
}

// The table is a map of hashes, also of those that share their first bits, and after removals.
func TestTheTableIsAMap(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	hashes := make([]Hash, 3000)
	for i := range hashes {
		binary.BigEndian.PutUint64(hashes[i][:], uint64(random.IntN(700))<<32|uint64(random.IntN(3)))
		binary.BigEndian.PutUint64(hashes[i][8:], random.Uint64())
	}
	all, want := newTable(), map[Hash]*Key{}
	for range 20_000 {
		hash := hashes[random.IntN(len(hashes))]
		if random.IntN(3) == 0 {
			all.remove(&hash)
			delete(want, hash)
			continue
		}
		key := &Key{}
		all.put(hash, Found{Key: key})
		want[hash] = key
	}
	for _, hash := range hashes {
		found, known := all.find(&hash)
		key, wanted := want[hash]
		require.Equal(t, wanted, known)
		require.Same(t, key, found.Key)
	}
}
