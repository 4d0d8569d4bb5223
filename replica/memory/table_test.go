package memory_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"
	"github.com/mintlake/mintlake/replica/memory"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

func read(table *memory.Table, number uint32) (value []byte, marked, ok bool) {
	ok = table.Read(number, func(v []byte, m bool) { value, marked = bytes.Clone(v), m })
	return value, marked, ok
}

// TestTableIsAMap: whatever is written, however often and however large, the table holds what a map
// would.
func TestTableIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := memory.New()
		type value struct {
			bytes  []byte
			marked bool
		}
		var want []value
		numbers := map[pubkey.Key]uint32{}
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for range rapid.IntRange(1, 150).Draw(t, "writes") {
			key := pubkey.Key{byte(random.IntN(100)), 31: 1}
			number := table.Add(&key)
			if known, ok := numbers[key]; ok {
				require.Equal(t, known, number)
			} else {
				require.EqualValues(t, len(numbers), number, "dense")
				numbers[key] = number
				want = append(want, value{})
				_, _, ok := read(table, number)
				require.False(t, ok, "no value yet")
			}
			size := random.IntN(40_000)
			if random.IntN(30) == 0 {
				size = random.IntN(2 << 20)
			}
			v := value{bytes.Repeat([]byte{byte(random.Uint32())}, size), random.IntN(2) == 0}
			before := table.Version(number)
			table.Put(number, v.bytes, v.marked)
			require.NotEqual(t, before, table.Version(number))
			want[number] = v
		}
		marked, size := 0, 0
		for key, number := range numbers {
			found, ok := table.Find(&key)
			require.True(t, ok)
			require.Equal(t, number, found)
			back, ok := table.Key(number)
			require.True(t, ok)
			require.Equal(t, key, back)
			got, mark, ok := read(table, number)
			require.True(t, ok)
			require.True(t, bytes.Equal(want[number].bytes, got))
			require.Equal(t, want[number].marked, mark)
			require.Equal(t, mark, table.IsMarked(number))
			if mark {
				marked++
			}
			size += len(got)
		}
		require.Equal(t, marked, table.Marked())
		require.Equal(t, len(numbers), table.Len())
		require.Less(t, table.Size(), size*3/2+24<<20, "what is out of date is given back")
		_, ok := table.Find(&pubkey.Key{200})
		require.False(t, ok)
		_, ok = table.Key(uint32(len(numbers)))
		require.False(t, ok)
		_, _, ok = read(table, uint32(len(numbers)))
		require.False(t, ok)
	})
}

// TestReadersSeeWholeValues while the writer replaces them, moves them and uses their memory again.
// A value is a count, repeated, behind the number it belongs to; counts only grow.
func TestReadersSeeWholeValues(t *testing.T) {
	const keys, writes = 300, 6_000
	table := memory.New()
	keyOf := func(i int) *pubkey.Key {
		var key pubkey.Key
		binary.LittleEndian.PutUint64(key[8:], uint64(i))
		return &key
	}
	valueOf := func(i, count int) []byte {
		value := make([]byte, 8*(2+count%500))
		for at := 0; at < len(value); at += 8 {
			binary.LittleEndian.PutUint32(value[at:], uint32(count))
			binary.LittleEndian.PutUint32(value[at+4:], uint32(i))
		}
		return value
	}
	for i := range keys {
		table.Put(table.Add(keyOf(i)), valueOf(i, 0), false)
	}
	var done atomic.Bool
	var readers sync.WaitGroup
	for seed := range 3 {
		readers.Go(func() {
			random := rand.New(rand.NewPCG(uint64(seed), 1))
			last := make([]uint32, keys)
			for !done.Load() {
				i := random.IntN(keys)
				number, ok := table.Find(keyOf(i))
				if !ok {
					t.Error("not found")
					return
				}
				table.Read(number, func(value []byte, _ bool) {
					count := binary.LittleEndian.Uint32(value)
					if !bytes.Equal(value, valueOf(i, int(count))) || count < last[i] {
						t.Error("torn, or older than seen before")
					}
					last[i] = count
				})
			}
		})
	}
	random := rand.New(rand.NewPCG(9, 9))
	for count := range writes {
		i := random.IntN(keys)
		number := table.Add(keyOf(i))
		table.Put(number, valueOf(i, count+1), count%2 == 0)
		if count%10 == 0 {
			table.Add(keyOf(keys + count)) // the slots grow meanwhile
		}
	}
	done.Store(true)
	readers.Wait()
}

func BenchmarkPut(b *testing.B) {
	table := memory.New()
	value := make([]byte, 180)
	random := rand.New(rand.NewPCG(1, 1))
	for i := range 1_000_000 {
		var key pubkey.Key
		binary.LittleEndian.PutUint64(key[8:], uint64(i))
		table.Put(table.Add(&key), value, true)
	}
	full := table.Size()
	for b.Loop() {
		table.Put(random.Uint32N(1_000_000), value, true)
	}
	b.ReportMetric(float64(full)/1e6, "bytes/value")
	b.ReportMetric(float64(table.Size())/1e6, "bytes/value-after")
}
