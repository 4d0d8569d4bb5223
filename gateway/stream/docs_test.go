package stream

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/solana/txwire"
)

// TestNotificationsOfThePage: those messages of docs/gateway-reference.md that not every healthy
// node sends. The others are compared with a running node (e2e.TestDocs).
func TestNotificationsOfThePage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs", "gateway-reference.md"))
	require.NoError(t, err)
	for method, d := range map[string]delivery{
		"gapNotification":    {watch: &watch{kind: watchGaps, name: "1"}, note: &note{kind: noteGap, first: 5, slot: 9}},
		"statusNotification": {watch: &watch{kind: watchStatus, name: "1"}, note: &note{kind: noteStalled, slot: 420181274, why: stalledLog}},
	} {
		sent, err := d.notification(0)
		require.NoError(t, err)
		require.JSONEq(t, regexp.MustCompile(`(?m)^\{.*`+method+`.*$`).FindString(string(page)), string(sent))
	}
	result, err := (&transaction{slot: 1, version: txwire.V1}).notification(unsupported)
	require.NoError(t, err)
	sent := string(notificationHead) + "1" + string(notificationMiddle) + strings.Replace(string(result), strings.Repeat("1", 64), "…", 1) + string(notificationTail)
	require.JSONEq(t, regexp.MustCompile(`(?m)^\{.*UnsupportedTransactionVersion.*$`).FindString(string(page)), sent)
}
