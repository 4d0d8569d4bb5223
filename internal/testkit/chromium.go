package testkit

import (
	"os"
	"os/exec"
	"testing"
)

// RequireChromium is the environment variable with which browser tests fail instead of being
// skipped.
const RequireChromium = "MINTLAKE_REQUIRE_CHROMIUM"

// Chromium returns the path of a browser. Without one the test is skipped, or fails with
// MINTLAKE_REQUIRE_CHROMIUM=1.
func Chromium(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	skipBrowser(t, "no Chromium: install the package chromium")
	return ""
}

// NeedPages skips a test of the explorer's pages if they are not built, or fails it with
// MINTLAKE_REQUIRE_CHROMIUM=1.
func NeedPages(t testing.TB, built bool) {
	t.Helper()
	if !built {
		skipBrowser(t, "the pages are not built: make web")
	}
}

func skipBrowser(t testing.TB, why string) {
	t.Helper()
	if os.Getenv(RequireChromium) == "1" {
		t.Fatalf("%s (%s=1)", why, RequireChromium)
	}
	t.Skip(why)
}
