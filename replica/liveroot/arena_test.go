package liveroot

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// TestArenaKeepsWhatItIsGiven puts and drops strings of all sizes, larger than a chunk among them.
func TestArenaKeepsWhatItIsGiven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type kept struct {
			span  span
			bytes []byte
		}
		var (
			a    arena
			held []kept
			next byte
		)
		size := rapid.OneOf(rapid.IntRange(0, 300), rapid.IntRange(chunkSize/2, 2*chunkSize))
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if len(held) > 0 && rapid.Bool().Draw(t, "drop") {
				at := rapid.IntRange(0, len(held)-1).Draw(t, "which")
				a.drop(held[at].span)
				held = append(held[:at], held[at+1:]...)
				continue
			}
			next++
			put := bytes.Repeat([]byte{next}, size.Draw(t, "size"))
			held = append(held, kept{a.put(put), bytes.Clone(put)})
			clear(put)
		}
		for _, k := range held {
			require.Equal(t, len(k.bytes), len(a.get(k.span)))
			require.True(t, bytes.Equal(k.bytes, a.get(k.span)))
		}
	})
}

// TestArenaUsesItsChunksAgain: what is replaced again and again takes no more room.
func TestArenaUsesItsChunksAgain(t *testing.T) {
	var (
		a    arena
		held [100]span
	)
	for i := range 100_000 {
		place := &held[i*7%len(held)]
		a.drop(*place)
		*place = a.put(make([]byte, 1+i%900))
	}
	require.LessOrEqual(t, len(a.chunks), 4)
}

// TestChangesGiveTheirRoomBack: half a million mints that changed once do not take memory for ever.
func TestChangesGiveTheirRoomBack(t *testing.T) {
	var cs changes
	for number := range uint32((maxIdle + 2) * slabSize) {
		cs.begin(number, pubkey.Key{1}, []byte("a state"))
	}
	for number := range uint32((maxIdle + 2) * slabSize) {
		cs.end(cs.of(number))
	}
	require.Zero(t, cs.count)
	require.Empty(t, cs.slabs)
	require.Empty(t, cs.bytes.chunks)
	require.Nil(t, cs.of(7))
}
