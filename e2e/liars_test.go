package e2e

import (
	"net/http/httptest"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/demo"
	"github.com/mintlake/mintlake/testworld/liar"
)

// TestOneOfThreeUpstreamsLies: a node has three upstreams, one of which lies in every third answer.
// Once it stops, the registry becomes what the chain is, by itself.
func TestOneOfThreeUpstreamsLies(t *testing.T) {
	t.Parallel()
	const slotTime = 200 * time.Millisecond
	node := startDemo(t, demo.Config{Seed: 31, TPS: 60, Tokens: 60, SlotTime: slotTime, StartSlot: 400_000_000})
	args := []string{"--source", "geyser+http://" + node.GeyserAddr(), "--rate-limits-enabled=false"}
	var liars []*liar.Liar
	for i, share := range []float64{0, 0, 0.3} {
		l := liar.New(node.RPCURL(), liar.Behaviour{Seed: uint64(i), Share: share, Late: 2 * time.Second})
		server := httptest.NewServer(l)
		t.Cleanup(server.Close)
		liars, args = append(liars, l), append(args, "--rpc-upstream", server.URL)
	}
	up := launch(t, t.TempDir(), args...)
	enough := goOnEvery(t, node, slotTime)
	until(t, func() bool { return liars[2].Lies() > 40 && up.status().Registry.Tokens > 60 }, 100*time.Millisecond, "it lies")
	liars[2].Stop()
	stopped := time.Now()
	var out []byte
	until(t, func() bool {
		var err error
		out, err = exec.Command(binary, "audit", "--sample", "0", "--min-accuracy", "1", "--clickhouse-dsn", up.addresses["clickhouse"],
			"--rpc-upstream", node.RPCURL()).CombinedOutput()
		return err == nil
	}, time.Second, "the registry is what the chain is")
	t.Logf("right %s after the last lie:\n%s", time.Since(stopped).Round(time.Second), out)
	require.Positive(t, up.metric(`mintlake_enrich_checks_total{outcome="agreed"}`))
	enough()
	require.Zero(t, up.stop(), up.log())
}
