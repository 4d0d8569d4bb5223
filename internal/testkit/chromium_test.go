package testkit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
)

// outcome takes the place of a test that is skipped or fails.
type outcome struct {
	testing.TB
	skipped, failed bool
}

func (*outcome) Helper()                 {}
func (o *outcome) Skip(...any)           { o.skipped = true }
func (o *outcome) Fatalf(string, ...any) { o.failed = true; panic("failed") }

// In CI a browser that is missing is a failure: a skipped test proves nothing.
func TestAMissingBrowserFailsWhereItIsRequired(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, need := range []func(testing.TB){
		func(t testing.TB) { testkit.Chromium(t) },
		func(t testing.TB) { testkit.NeedPages(t, false) },
	} {
		t.Setenv(testkit.RequireChromium, "")
		skips := new(outcome)
		need(skips)
		require.True(t, skips.skipped)
		t.Setenv(testkit.RequireChromium, "1")
		fails := new(outcome)
		require.Panics(t, func() { need(fails) })
		require.True(t, fails.failed)
		require.False(t, fails.skipped)
	}
}

// Every test that looks for a browser looks by testkit, which knows the variable.
func TestBrowsersAreLookedForInOnePlace(t *testing.T) {
	root := testkit.Root(t)
	own := filepath.Join(root, "internal", "testkit")
	require.NoError(t, filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (path == own || entry.Name() == "node_modules" || path != root && strings.HasPrefix(entry.Name(), ".")) {
			return filepath.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NotContains(t, string(text), `"chromium"`, "%s: testkit.Chromium finds a browser", path)
		return nil
	}))
}
