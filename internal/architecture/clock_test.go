package architecture

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// byWallClock matches durations that are measured by the wall clock: a number has no monotonic
// reading, and gRPC's keepalive compares such numbers. When the clock was set by hours, they are
// wrong by hours: package steady has such numbers that are not.
var byWallClock = regexp.MustCompile(`time\.Now\(\)\.UnixNano\(\)|keepalive\.ClientParameters\{|time\.Since\(time\.Unix`)

func TestNoDurationIsMeasuredByTheWallClock(t *testing.T) {
	files := 0
	require.NoError(t, filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			switch entry.Name() {
			case "third_party", "node_modules", "bench", "tools", "testdata", ".git":
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil {
			files++
			require.NotRegexp(t, byWallClock, string(text), path)
		}
		return err
	}))
	require.Greater(t, files, 500)
}
