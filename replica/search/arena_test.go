package search

import (
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestColumnsMoveIntoOneRoom: a room that is measured holds all columns, and they stay what they
// were, in small rooms and in huge pages. The largest do not move.
func TestColumnsMoveIntoOneRoom(t *testing.T) {
	for _, size := range []int{0, 1, 1000, hugeArena/8 - 1, hugeArena / 8} {
		bytes, words, entries := make([]byte, size), make([]uint64, size), make([]gramEntry, size/100)
		for i := range size {
			bytes[i], words[i] = byte(i+1), uint64(i)*0x9E3779B97F4A7C15
		}
		for i := range entries {
			entries[i] = gramEntry{uint64(i), uint32(i), 7}
		}
		wantBytes, wantWords, wantEntries := slices.Clone(bytes), slices.Clone(words), slices.Clone(entries)
		all := func(r *arena) {
			move(r, &bytes)
			move(r, &words)
			move(r, &entries)
		}
		var r arena
		all(&r)
		r = arena{memory: newArena(r.used)}
		arena, isLarge := r.memory, 8*size >= hugeArena
		before := unsafe.SliceData(words)
		all(&r)
		require.Equal(t, isLarge, len(r.large) == 1, "only numbers of eight bytes are that large here")
		require.Equal(t, isLarge || size == 0, before == unsafe.SliceData(words))
		for _, memory := range append(r.large, arena) {
			whole := inHugePages(memory)
			require.Zero(t, len(whole)%hugePage)
			if len(whole) > 0 {
				require.Zero(t, uintptr(unsafe.Pointer(&whole[0]))%hugePage)
				require.Less(t, len(memory)-len(whole), 2*hugePage)
			}
			seekHugePages(whole)
		}
		require.LessOrEqual(t, r.used, len(arena))
		if r.used >= hugeArena {
			require.Zero(t, uintptr(unsafe.Pointer(&arena[0]))%hugePage)
		}
		if size > 0 {
			arena[0] = 0
			require.Zero(t, bytes[0], "it lies in the room")
			arena[0] = wantBytes[0]
		}
		require.Equal(t, wantBytes, bytes)
		require.Equal(t, wantWords, words)
		require.Equal(t, wantEntries, entries)
	}
}

// TestTextsAreNumberedOnce: as a map would.
func TestTextsAreNumberedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set, want := newTextSet(rapid.IntRange(0, 20).Draw(t, "room")), map[string]uint32{}
		for _, text := range rapid.SliceOfN(rapid.StringMatching(`[ab\x00]{0,3}`), 0, 60).Draw(t, "texts") {
			if _, known := want[text]; !known {
				want[text] = uint32(len(want))
			}
			require.Equal(t, want[text], set.number(text))
		}
		require.Equal(t, len(want), set.len())
		for text, number := range want {
			require.Equal(t, text, set.text(number))
		}
	})
}
