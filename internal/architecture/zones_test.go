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

// ofTheServersZone matches parameters of queries whose text ClickHouse reads in the server's time
// zone: a DateTime without a zone. The product's texts are in UTC.
var ofTheServersZone = regexp.MustCompile(`\{\w+:(Nullable\()?DateTime(64\(\d\))?\)?\}`)

func TestParametersOfTimesNameTheirZone(t *testing.T) {
	files := 0
	require.NoError(t, filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			switch entry.Name() {
			case "third_party", "node_modules", "testdata", ".git":
				return filepath.SkipDir
			}
			return nil
		}
		// An applied migration stays as it is; 0028 makes the view of 0027 anew.
		if entry.Name() == "0027_liquidity_over_time.sql" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		if ext := filepath.Ext(path); ext != ".go" && ext != ".sql" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil {
			files++
			require.NotRegexp(t, ofTheServersZone, string(text), "%s: write DateTime('UTC')", path)
		}
		return err
	}))
	require.Greater(t, files, 500)
}
