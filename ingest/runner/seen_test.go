package runner

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

func TestSeenMintsAreBounded(t *testing.T) {
	s := newSeenMints(100)
	mint := func(i int) (k pubkey.Key) { binary.BigEndian.PutUint64(k[:], uint64(i)); return k }
	require.True(t, s.add(mint(0), 7))
	for i := range 10_000 {
		s.add(mint(i+1), 7)
		require.LessOrEqual(t, s.young.size+s.older.size, 100)
		require.False(t, s.add(mint(0), 7), "a mint in use stays")
	}
	require.True(t, s.add(mint(0), 6), "seen earlier than known")
	require.False(t, s.add(mint(0), 6))
	require.True(t, s.has(mint(10_000)))
	require.False(t, s.has(mint(5)), "one long unseen is forgotten")
	require.True(t, s.add(mint(5), 7))
}

// TestASlotTableIsAMap: of any hashes, 0 and those of one shard among them, in few bytes each.
func TestASlotTableIsAMap(t *testing.T) {
	rng := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	table, want := &slotTable{}, map[uint64]uint32{}
	for range 200_000 {
		hash, slot := rng.Uint64(), rng.Uint32()
		if rng.IntN(4) == 0 {
			hash = hash<<8 | 7 // a shard that is much larger than the others
		}
		table.put(hash, slot)
		want[hash] = slot
	}
	places := 0
	for i := range table.shards {
		places += len(table.shards[i].hashes)
	}
	require.Less(t, places, 2*len(want))
	require.Equal(t, len(want), table.size)
	for hash, slot := range want {
		got, ok := table.get(hash)
		require.True(t, ok)
		require.Equal(t, slot, got)
		if _, known := want[hash+1]; !known {
			_, ok = table.get(hash + 1)
			require.False(t, ok)
		}
	}
	table.put(0, 5)
	table.put(0, 6)
	got, ok := table.get(0)
	require.True(t, ok)
	require.EqualValues(t, 6, got)
}
