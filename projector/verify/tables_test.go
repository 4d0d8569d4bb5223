package verify

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/projector"
	"github.com/mintlake/mintlake/projector/swaps"
)

// TestEveryProjectedTableIsCompared: a table that a projector learns to write is compared too.
func TestEveryProjectedTableIsCompared(t *testing.T) {
	written := slices.Concat(slices.Collect(maps.Keys(projector.Columns())), slices.Collect(maps.Keys(swaps.Columns())))
	var compared []string
	for _, group := range Groups() {
		compared = append(compared, group.Tables...)
	}
	require.ElementsMatch(t, written, compared)
	for _, s := range specs() {
		require.Contains(t, s.hash(), ", ", "%s has columns to compare", s.table)
	}
}
