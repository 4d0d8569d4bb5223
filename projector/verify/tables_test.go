package verify

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/projector"
	"github.com/mintlake/mintlake/projector/balances"
	"github.com/mintlake/mintlake/projector/swaps"
)

// TestEveryProjectedTableIsCompared: a table that a projector learns to write is compared too.
func TestEveryProjectedTableIsCompared(t *testing.T) {
	written := slices.Concat(slices.Collect(maps.Keys(projector.Columns())), slices.Collect(maps.Keys(swaps.Columns())),
		slices.Collect(maps.Keys(balances.Columns())))
	var compared []string
	for _, group := range Groups() {
		compared = append(compared, group.Tables...)
	}
	require.ElementsMatch(t, written, compared)
	for _, s := range specs() {
		require.Contains(t, s.hash(), ", ", "%s has columns to compare", s.table)
	}
}

// TestEveryTableOfAValuationIsCompared: a statement of the volume room that fills a table more
// fails here until the table is compared too.
func TestEveryTableOfAValuationIsCompared(t *testing.T) {
	files, err := filepath.Glob("../../volume/sql/*.sql")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	written := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, match := range regexp.MustCompile(`INSERT INTO \{database\}\.(\S+)`).FindAllStringSubmatch(string(text), -1) {
			for _, interval := range []string{"1m", "1h"} {
				written[strings.ReplaceAll(match[1], "{interval}", interval)] = true
			}
		}
	}
	delete(written, "swaps_raw") // its values are in every volume
	require.ElementsMatch(t, slices.Collect(maps.Keys(written)), FigureTables())
}

// TestABucketIsComparedWhereAllItsLegsAreThere: an open minute leaves out its own buckets and those
// whose prices look back at it.
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
	newest := &buckets{length: time.Minute, reach: 50 * time.Hour, newest: true}
	for offset, touched := range map[int]bool{-300: true, 0: true, 49 * 3600: true, 51 * 3600: false} {
		require.Equal(t, touched, newest.touches(uint64(noon+offset), open), "%d s later", offset)
	}
	require.False(t, minute.touches(0, nil))
	require.True(t, minute.touches(0, []uint64{0}))
}
