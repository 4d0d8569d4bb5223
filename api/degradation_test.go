package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/api"
	"github.com/mintlake/mintlake/api/history"
	"github.com/mintlake/mintlake/internal/testkit/apitest"
	"github.com/mintlake/mintlake/schemas"
)

// health is a backend's entry in /status; nil while it is not known.
func (n *node) health(backend string) any {
	r := n.get("/status")
	conforms(n.t, "Status", r.body)
	return r.decode(n.t)[backend].(map[string]any)["ok"]
}

func (n *node) awaitHealth(backend string, ok bool) {
	n.t.Helper()
	require.Eventually(n.t, func() bool { return n.health(backend) == ok }, hang, 20*time.Millisecond)
}

// TestReadsGoOnWithoutBackends: both away, a user of the API sees the same answers, and where to
// look; both back, everything catches up alone.
func TestReadsGoOnWithoutBackends(t *testing.T) {
	log, a := threeTokens()
	past := &apitest.History{}
	n := startNodeWith(t, log, func(deps *api.Deps) { deps.History = past }).awaitReady()
	n.awaitHealth("kafka", true)
	n.awaitHealth("clickhouse", true)
	stream := n.stream("?fields=mint,symbol")
	id := stream.awaitID()
	paths := []string{"/tokens?q=usd&evidence=true&explain=true", "/tokens?cursor=&limit=1", "/tokens/" + a[0] + "?evidence=true", "/tokens?sort=newest&program=token", "/readyz", "/healthz"}
	var before []string
	for _, path := range paths {
		before = append(before, string(n.get(path).body))
	}

	log.SetDown(true)
	past.Fail(history.ErrUnavailable)
	n.awaitHealth("kafka", false)
	n.awaitHealth("clickhouse", false)
	for i, path := range paths {
		r := n.get(path)
		require.Equal(t, 200, r.StatusCode, path)
		require.Equal(t, before[i], string(r.body), path)
	}
	body := n.batch([]string{a[0], address(70)}, `,"states":true,"wait_ms":10`)
	require.Equal(t, []string{"ready", "queued"}, states(t, body, a[0], address(70)))
	n.get("/tokens/"+a[0]+"/history").refused(t, 503)
	require.Contains(t, n.get("/img/"+a[0]).Header.Get("Content-Type"), "image/")
	require.NotEmpty(t, n.stream("?cursor="+id).awaitID(), "a stream goes on where memory reaches")
	pipeline := n.get("/status").decode(t)["pipeline"].(map[string]any)
	require.GreaterOrEqual(t, pipeline["lag_records"], 1.0, "the last known one, never 0")
	require.NotNil(t, pipeline["last_known_age_ms"])
	require.NotNil(t, pipeline["error"])

	log.Token(70, 80, "SEVENTY", "Written while nobody could read", time.Now())
	log.SetDown(false)
	past.Fail(nil)
	require.Contains(t, stream.await("new", "SEVENTY").data, address(70))
	require.Equal(t, 200, n.get("/tokens/"+address(70)).StatusCode)
	require.Eventually(t, func() bool { return len(log.Records(schemas.TopicEnrichmentRequests)) == 1 }, hang, 5*time.Millisecond, "what was asked for meanwhile was kept")
	n.awaitHealth("kafka", true)
	n.awaitHealth("clickhouse", true)
}

// TestVanishedTopicsShow: /readyz says no and why when the registry's source is deleted, and names
// another topic beside its yes.
func TestVanishedTopicsShow(t *testing.T) {
	log, _ := threeTokens()
	n := startNode(t, log).awaitReady()
	log.SetMissing(schemas.TopicSwaps)
	require.Eventually(t, func() bool { return n.get("/readyz").decode(t)["reasons"] != nil }, hang, 50*time.Millisecond)
	ready := n.get("/readyz")
	require.Equal(t, 200, ready.StatusCode)
	require.Contains(t, string(ready.body), schemas.TopicSwaps)
	n.awaitHealth("kafka", false)

	log.SetMissing(schemas.TopicTokenEvents)
	require.Eventually(t, func() bool { return n.get("/readyz").StatusCode == http.StatusServiceUnavailable }, hang, 50*time.Millisecond)
	n.get("/readyz").refused(t, 503)
	require.Contains(t, string(n.get("/readyz").body), schemas.TopicTokenEvents)
	require.False(t, n.get("/status").decode(t)["ready"].(bool))
	require.Equal(t, 200, n.get("/tokens?q=usd").StatusCode, "what is in memory is still answered")

	log.SetMissing()
	n.awaitReady()
	n.awaitHealth("kafka", true)
}

// TestARefusalNamesWhatIsMissing: each route about swaps says what it cannot tell.
func TestARefusalNamesWhatIsMissing(t *testing.T) {
	log, a := threeTokens()
	n := startNode(t, log).awaitReady()
	for path, what := range map[string]string{
		"/tokens/" + a[0] + "/ohlcv": "candles are not available", "/tokens/" + a[0] + "/trades": "trades are not available", "/tokens/" + a[0] + "/pools": "pools are not available",
		"/tokens/" + a[0] + "/liquidity/history": "liquidity is not available", "/pools/" + a[1] + "/liquidity": "liquidity is not available",
		"/pools/" + a[1] + "/liquidity/history": "liquidity is not available", "/venues": "volumes of venues are not available",
	} {
		require.Contains(t, n.get(path).refused(t, 503), what, path)
	}
}
