package e2e

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/testworld/liar"
)

// TestALieIsTakenBack: a node whose only upstream lied at plausible slots keeps wrong supplies.
// `mintlake repair facts` puts them right, in ClickHouse and in the API; its root is then that of a
// node that was never lied to.
func TestALieIsTakenBack(t *testing.T) {
	t.Parallel()
	node := startChain(t)
	l := liar.New(node.RPCURL(), liar.Behaviour{Share: 1, Only: []string{liar.Supplies}})
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	began := time.Now().Add(-time.Second).UTC().Format(time.RFC3339)
	lied := launch(t, t.TempDir(), "--source", "geyser+http://"+node.GeyserAddr(), "--rate-limits-enabled=false", "--rpc-upstream", server.URL)
	enough := goOn(t, node)
	audit := func(up *instance) (string, error) {
		out, err := exec.Command(binary, "audit", "--sample", "0", "--min-accuracy", "1", "--min-known", "0.9", "--wait", "0",
			"--clickhouse-dsn", up.addresses["clickhouse"], "--rpc-upstream", node.RPCURL()).CombinedOutput()
		return string(out), err
	}
	until(t, func() bool { return l.Lies() > 2 }, 100*time.Millisecond, "lies")
	lied.awaitStill(enough())
	l.Stop()
	out, err := audit(lied)
	require.Error(t, err, "%s", out)

	// What was read until now is taken back. The chain goes on: at the slots of the lies no read is
	// believed.
	ended := time.Now().UTC().Format(time.RFC3339Nano)
	require.NoError(t, node.Step(5))
	node.Ledger().Settle()
	last := lied.awaitStill(node.Slot() - 5)
	repair := func(args ...string) string {
		args = append([]string{"repair", "facts", "--kafka-brokers", lied.addresses["kafka"], "--read-from", began, "--read-to", ended}, args...)
		out, err := exec.Command(binary, args...).CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out)
	}
	require.Contains(t, repair(), "nothing is written; --yes takes them back")
	out, err = audit(lied)
	require.Error(t, err, "%s", out)
	require.Contains(t, repair("--yes"), "taken back; ")
	repaired := time.Now()
	until(t, func() bool { out, err = audit(lied); return err == nil }, 100*time.Millisecond, &out)
	t.Logf("all supplies are right %s after the repair", time.Since(repaired).Round(time.Millisecond))

	blocks := fmt.Sprintf("rpc+%s?from=%d&to=%d", strings.TrimSuffix(node.RPCURL(), "/"), lied.first(), last)
	honest := launch(t, t.TempDir(), "--source", blocks, "--rpc-upstream", node.RPCURL())
	honest.awaitDone()
	until(t, func() bool { out, err = audit(honest); return err == nil }, 100*time.Millisecond, &out)
	want, got := wholeRoot(t, honest), ""
	until(t, func() bool { got = wholeRoot(t, lied); return got == want }, time.Second, &want, &got)
	supplies := "SELECT mint, supply FROM mintlake.tokens WHERE supply IS NOT NULL ORDER BY mint FORMAT TSV"
	require.Equal(t, honest.query(supplies), lied.query(supplies))
	shown := func(up *instance, mint string) string {
		_, body := up.get("/tokens/" + mint)
		var token struct{ Supply *string }
		require.NoError(t, json.Unmarshal(body, &token), string(body))
		if token.Supply == nil {
			return ""
		}
		return *token.Supply
	}
	for _, row := range lied.query(supplies) {
		mint, supply, _ := strings.Cut(row, "\t")
		until(t, func() bool { return shown(lied, mint) == supply }, 100*time.Millisecond, mint)
	}
	require.Zero(t, lied.stop(), lied.log())
	require.Zero(t, honest.stop(), honest.log())
}

// wholeRoot is what `mintlake root` says of all that is in the log, without its slot: that of the
// last read differs.
func wholeRoot(t testing.TB, i *instance) string {
	t.Helper()
	out, err := exec.Command(binary, "root", "--kafka-brokers", i.addresses["kafka"]).CombinedOutput()
	require.NoError(t, err, string(out))
	match := rootLine.FindSubmatch(out)
	require.NotNil(t, match, string(out))
	return string(match[1])
}
