package verify

import (
	"maps"
	"slices"
	"testing"
	"time"

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

// TestABucketIsComparedWhereAllItsLegsAreThere: an open minute leaves out its own buckets and those whose prices look back at it.
func TestABucketIsComparedWhereAllItsLegsAreThere(t *testing.T) {
	minute, hour := &buckets{length: time.Minute, reach: time.Hour}, &buckets{length: time.Hour, reach: time.Hour}
	const noon = 1_700_006_400
	open := []uint64{noon}
	for offset, touched := range map[int]bool{-60: false, 0: true, 60: true, 59 * 60: true, 60 * 60: false, 120 * 60: false} {
		require.Equal(t, touched, minute.touches(uint64(noon+offset), open), "%d s later", offset)
	}
	for offset, touched := range map[int]bool{-3600: false, -3540: true, 0: true, 3540: true, 3600: false} {
		require.Equal(t, touched, hour.touches(uint64(noon+offset), open), "%d s later", offset)
	}
	require.False(t, minute.touches(0, nil))
	require.True(t, minute.touches(0, []uint64{0}))
}
