package picture

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/hostileimages"
)

// allocated is how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func classOf(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, ErrBounds):
		return hostileimages.ImageBounds
	case errors.Is(err, ErrNotImage):
		return hostileimages.NotImage
	}
	return hostileimages.BadImage
}

// One SVG of 1 MB took 4.2 GB to read, and one JPEG of 49 KB nine seconds.
func TestHostilePictures(t *testing.T) {
	for _, hostile := range hostileimages.All() {
		t.Run(hostile.Name, func(t *testing.T) {
			require.LessOrEqual(t, len(hostile.Body), 8<<20)
			var err error
			taken := allocated(func() { _, err = Inspect(hostile.Body, Limits{}) })
			require.Equal(t, hostile.Class, classOf(err), "%v", err)
			require.Less(t, taken, uint64(256<<20+40*len(hostile.Body)), "bytes allocated")
			if hostile.Class != "" {
				return
			}
			clean, kind, err := Make(hostile.Body, SVG, Variant{}, Limits{})
			require.NoError(t, err)
			require.Equal(t, SVG, kind)
			require.NotContains(t, strings.ToLower(string(clean)), hostileimages.Mark)
			require.Contains(t, string(clean), "<rect", "what is harmless stays")
		})
	}
}

// Rasters are refused before anything is decoded.
func TestSurveyRefusesByStructure(t *testing.T) {
	for _, hostile := range hostileimages.Rasters() {
		var err error
		taken := allocated(func() { _, err = Survey(hostile.Body, Limits{}) })
		require.Equal(t, hostile.Class, classOf(err), "%s: %v", hostile.Name, err)
		require.Less(t, taken, uint64(1<<20), hostile.Name)
	}
}

func FuzzSurvey(f *testing.F) {
	for _, hostile := range hostileimages.Rasters() {
		if len(hostile.Body) < 8<<10 {
			f.Add(hostile.Body)
		}
	}
	f.Add(asGIF(f, 2))
	f.Add(asAVIF())
	f.Add(asAnimatedWebP(f, 64, 48, asWebP(f, painted(64, 48, 1))))
	f.Fuzz(func(t *testing.T, body []byte) {
		pixels, err := Survey(body, Limits{Pixels: 1 << 20})
		if err == nil {
			require.LessOrEqual(t, pixels, 1<<20)
		}
	})
}
