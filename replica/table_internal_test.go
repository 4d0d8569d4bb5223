package replica

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// TestTableIsAMap: whatever is written, however often, the table holds what a map would. Some mints
// share their hash.
func TestTableIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := newTable()
		type state struct {
			packed []byte
			member bool
		}
		var want []state
		numbers := map[pubkey.Key]uint32{}
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for range rapid.IntRange(1, 150).Draw(t, "writes") {
			mint := pubkey.Key{byte(random.IntN(100)), 31: 1}
			if random.IntN(2) == 0 { // as if another mint had had its hash first
				if hash := all.hash(mint); all.count > 0 && all.byHash[hash] == 0 {
					if _, known := numbers[mint]; !known {
						all.byHash[hash] = all.byHash[all.hash(all.mintAt(0))]
					}
				}
			}
			number := all.add(mint)
			if known, ok := numbers[mint]; ok {
				require.Equal(t, known, number)
			} else {
				require.EqualValues(t, len(numbers), number, "dense")
				numbers[mint] = number
				want = append(want, state{})
				packed, member := all.append(nil, number)
				require.Empty(t, packed, "no state yet")
				require.False(t, member)
			}
			s := state{bytes.Repeat([]byte{byte(random.Uint32())}, 1+random.IntN(500)), random.IntN(2) == 0}
			all.put(number, s.packed, s.member)
			want[number] = s
		}
		members := 0
		for mint, number := range numbers {
			found, ok := all.find(mint)
			require.True(t, ok)
			require.Equal(t, number, found)
			back, ok := all.mint(number)
			require.True(t, ok)
			require.Equal(t, mint, back)
			packed, member := all.append([]byte("before"), number)
			require.Equal(t, append([]byte("before"), want[number].packed...), packed)
			require.Equal(t, want[number].member, member)
			require.Equal(t, member, all.isMember(number))
			if member {
				members++
			}
		}
		require.Equal(t, members, all.tokens())
		require.Equal(t, len(numbers), all.len())
		_, ok := all.find(pubkey.Key{200})
		require.False(t, ok)
		_, ok = all.mint(uint32(len(numbers)))
		require.False(t, ok)
		packed, member := all.append(nil, uint32(len(numbers)))
		require.Empty(t, packed)
		require.False(t, member)
	})
}

// TestReadersSeeWholeStates while a writer replaces them and adds mints. A state is a count,
// repeated, behind the number it belongs to; counts only grow.
func TestReadersSeeWholeStates(t *testing.T) {
	const mints, writes = 300, 6_000
	all := newTable()
	mintOf := func(i int) (mint pubkey.Key) {
		binary.LittleEndian.PutUint64(mint[8:], uint64(i))
		return mint
	}
	stateOf := func(i, count int) []byte {
		state := make([]byte, 8*(2+count%500))
		for at := 0; at < len(state); at += 8 {
			binary.LittleEndian.PutUint32(state[at:], uint32(count))
			binary.LittleEndian.PutUint32(state[at+4:], uint32(i))
		}
		return state
	}
	for i := range mints {
		all.put(all.add(mintOf(i)), stateOf(i, 0), false)
	}
	var done atomic.Bool
	var readers sync.WaitGroup
	for seed := range 3 {
		readers.Go(func() {
			random := rand.New(rand.NewPCG(uint64(seed), 1))
			last := make([]uint32, mints)
			for !done.Load() {
				i := random.IntN(mints)
				number, ok := all.find(mintOf(i))
				if !ok {
					t.Error("not found")
					return
				}
				state, _ := all.append(nil, number)
				count := binary.LittleEndian.Uint32(state)
				if !bytes.Equal(state, stateOf(i, int(count))) || count < last[i] {
					t.Error("torn, or older than seen before")
				}
				last[i] = count
			}
		})
	}
	random := rand.New(rand.NewPCG(9, 9))
	for count := range writes {
		i := random.IntN(mints)
		all.put(all.add(mintOf(i)), stateOf(i, count+1), count%2 == 0)
		if count%10 == 0 {
			all.add(mintOf(mints + count)) // the table grows meanwhile
		}
	}
	done.Store(true)
	readers.Wait()
}
