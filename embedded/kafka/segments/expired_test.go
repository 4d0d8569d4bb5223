package segments

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWhatCanHaveExpired: segments that are gone from the front are damage, unless their last batch
// or a later one has expired. Each segment has the ages of the batch that expires first, and of its
// last one.
func TestWhatCanHaveExpired(t *testing.T) {
	const retention = time.Hour
	type ages struct{ oldest, last time.Duration }
	old, young := 2*retention, retention/2
	for name, c := range map[string]struct {
		segments []ages
		gone     int
		want     bool
	}{
		"none is gone":                   {[]ages{{old, young}, {young, young}}, 0, true},
		"all of it is old":               {[]ages{{old, old}, {young, young}}, 1, true},
		"its end is young":               {[]ages{{old, young}, {young, young}}, 1, false},
		"one before the last is young":   {[]ages{{young, young}, {old, old}, {young, young}}, 2, true},
		"the last is young":              {[]ages{{old, old}, {old, young}, {young, young}}, 2, false},
		"a batch behind it is old":       {[]ages{{young, young}, {old, young}}, 1, true},
		"all are gone, the end is old":   {[]ages{{young, young}, {young, old}}, 2, true},
		"all are gone, the end is young": {[]ages{{old, old}, {old, young}}, 2, false},
	} {
		p := partition{topic: &Topic{Configs: map[string]string{"retention.ms": "3600000", "retention.bytes": "-1"}}}
		state, files := &PartitionState{}, []file(nil)
		for base, s := range c.segments {
			known := SegmentState{Base: int64(base), Oldest: time.Now().Add(-s.oldest).UnixMilli(), Last: time.Now().Add(-s.last).UnixMilli()}
			state.Segments = append(state.Segments, known)
			if base >= c.gone {
				files = append(files, file{base: known.Base})
			}
		}
		require.Equal(t, c.want, p.expired(files, state), name)
	}
}
