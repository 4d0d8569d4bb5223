package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/demo"
)

// TestVersionsThatANodeWithholds: a node refuses blocks with transactions of a version that was not
// asked for. Their slots are gaps that name the version, and they close when a later run reads it.
// With all versions that are known, a made-up one is such a gap, too.
func TestVersionsThatANodeWithholds(t *testing.T) {
	t.Parallel()
	const first = 400_000_000
	const future = first + 20
	node := startDemo(t, demo.Config{
		Seed: 13, TPS: 200, Tokens: 40, SlotTime: slotTime, StartSlot: first, Future: func(slot uint64) bool { return slot == future },
	})
	last := uint64(first + 40)
	dir := t.TempDir()
	read := func(flags ...string) *instance {
		source := fmt.Sprintf("rpc+%s?from=%d&to=%d", strings.TrimSuffix(node.RPCURL(), "/"), first, last)
		return launch(t, dir, append([]string{"--source", source, "--rpc-upstream", node.RPCURL()}, flags...)...)
	}
	reasons := func(i *instance) string {
		_, body := i.get("/readyz")
		return string(body)
	}

	old := read("--ingest-max-transaction-version", "0")
	old.awaitDone()
	require.NotEmpty(t, old.status().Coverage.Gaps)
	require.Contains(t, reasons(old), "transactions of version 1")
	few := old.query("SELECT count() FROM mintlake.token_events")[0]
	require.Zero(t, old.stop())

	known := read()
	known.awaitDone()
	gaps := func() []gap { return known.status().Coverage.Gaps }
	require.Eventually(t, func() bool { return len(gaps()) == 1 }, hang, 200*time.Millisecond, "gaps: %v", gaps())
	require.Equal(t, gap{future, future}, gaps()[0])
	require.Contains(t, reasons(known), "version 2")
	known.awaitProjected(hang)
	require.NotEqual(t, few, known.query("SELECT count() FROM mintlake.token_events")[0], "what was withheld has events")
	require.Zero(t, known.stop())
}
