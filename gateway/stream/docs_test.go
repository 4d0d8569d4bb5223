package stream

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
)

// TestNotificationsOfThePage: those messages of docs/gateway.md that no healthy node sends. The
// others are compared with a running node (e2e.TestDocs).
func TestNotificationsOfThePage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs", "gateway.md"))
	require.NoError(t, err)
	for method, d := range map[string]delivery{
		"gapNotification":    {watch: &watch{kind: watchGaps, name: "1"}, note: &note{kind: noteGap, first: 5, slot: 9}},
		"statusNotification": {watch: &watch{kind: watchStatus, name: "1"}, note: &note{kind: noteStalled, slot: 420181274, why: stalledLog}},
	} {
		sent, err := d.notification(0)
		require.NoError(t, err)
		require.JSONEq(t, regexp.MustCompile(`(?m)^\{.*`+method+`.*$`).FindString(string(page)), string(sent))
	}
}
