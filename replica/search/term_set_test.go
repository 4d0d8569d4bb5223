package search

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestTextsAreNumberedOnce: as a map would.
func TestTextsAreNumberedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set, want := newTermSet(rapid.IntRange(0, 20).Draw(t, "room")), map[string]uint32{}
		for _, text := range rapid.SliceOfN(rapid.StringMatching(`[ab\x00]{0,3}`), 0, 60).Draw(t, "texts") {
			if _, known := want[text]; !known {
				want[text] = uint32(len(want))
			}
			require.Equal(t, want[text], set.number(text))
		}
		require.Equal(t, len(want), len(set.texts))
		for text, number := range want {
			require.Equal(t, text, set.text(number))
		}
	})
}
