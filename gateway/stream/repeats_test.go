package stream

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRepeatedTransactions: what the topic has twice is delivered once, unless it landed in another
// slot.
func TestRepeatedTransactions(t *testing.T) {
	f := start(t, Config{})
	stream := f.subscribe(t, filters{"all": {}})
	<-f.fed
	one, fork, two := tx{number: 1, slot: 10}, tx{number: 1, slot: 11}, tx{number: 2, slot: 11}
	for _, x := range []tx{one, fork, one, fork, two} {
		f.topic.records <- x.record()
	}
	for _, want := range []tx{one, fork, two} {
		n, _ := next(t, stream)
		require.EqualValues(t, want.number, n)
	}
}

func TestRepeatsAreBounded(t *testing.T) {
	r := newRepeats()
	at := func(n int) (s signature) {
		binary.LittleEndian.PutUint64(s[:], uint64(n))
		return s
	}
	for n := range 3 * repeatsKept {
		require.False(t, r.add(7, at(n)))
	}
	require.LessOrEqual(t, len(r.young)+len(r.older), 2*repeatsKept)
	require.True(t, r.add(7, at(3*repeatsKept-1)))
	require.True(t, r.add(7, at(2*repeatsKept)), "so many are remembered at least")
}
