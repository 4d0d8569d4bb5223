package e2e

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/demo"
	"github.com/mintlake/mintlake/internal/testkit"
)

// gate is an address in front of a server. While it is shut nobody listens there.
type gate struct {
	t            testing.TB
	addr, server string

	mu       sync.Mutex
	listener net.Listener
	open     map[net.Conn]bool
}

// newGate is shut.
func newGate(t testing.TB, server string) *gate {
	t.Helper()
	u, err := url.Parse(server)
	require.NoError(t, err)
	g := &gate{t: t, addr: testkit.FreeAddr(t), server: u.Host, open: map[net.Conn]bool{}}
	t.Cleanup(g.shut)
	return g
}

// lift lets connections through.
func (g *gate) lift() {
	g.t.Helper()
	listener, err := net.Listen("tcp", g.addr)
	require.NoError(g.t, err)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.listener = listener
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go g.pass(listener, client)
		}
	}()
}

func (g *gate) pass(listener net.Listener, client net.Conn) {
	server, err := net.Dial("tcp", g.server)
	if err != nil {
		_ = client.Close()
		return
	}
	g.mu.Lock()
	shut := g.listener != listener
	if !shut {
		g.open[client], g.open[server] = true, true
	}
	g.mu.Unlock()
	if shut {
		_, _ = client.Close(), server.Close()
		return
	}
	go func() { _, _ = io.Copy(server, client); _ = server.Close() }()
	_, _ = io.Copy(client, server)
	_ = client.Close()
}

// shut ends all connections; new ones are refused.
func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.listener == nil {
		return
	}
	_ = g.listener.Close()
	g.listener = nil
	for conn := range g.open {
		_ = conn.Close()
	}
	clear(g.open)
}

// alert is the state of an alert: inactive, pending or firing.
func (s *server) alert(t *testing.T, name string) (state string) {
	t.Helper()
	_, text := fetch(s.base + "/api/v1/rules?type=alert")
	var answer struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, State string }
			}
		}
	}
	require.NoError(t, json.Unmarshal(text, &answer), "%s", text)
	for _, group := range answer.Data.Groups {
		for _, rule := range group.Rules {
			if rule.Name == name {
				state = rule.State
			}
		}
	}
	require.NotEmpty(t, state, name)
	return state
}

// call asks the gateway, and returns the error's code, 0 for none.
func (i *instance) call(t *testing.T, method string) (status, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	status, text := send(ctx, http.MethodPost, i.addresses["rpc"], `{"jsonrpc":"2.0","id":1,"method":"`+method+`"}`)
	var answer struct{ Error struct{ Code int } }
	require.NoError(t, json.Unmarshal(text, &answer), "%s", text)
	return status, answer.Error.Code
}

// TestUpstreamAway starts a node without its RPC upstream, which then comes, goes and comes back.
// What docs/operations.md says of that time holds: what is served, what probes, log, metrics and
// alerts say. Afterwards rows and root are those of a node that had its upstream all the time.
func TestUpstreamAway(t *testing.T) {
	// It is not parallel: beside other nodes on a small machine its state of pools is late all the
	// time, and so it is read, which an upstream that is away does not allow.
	prometheus := program(t, "prometheus")
	// As slow as the real chain: held state more than ten slots late is not quoted, and a busy
	// machine is always a second late.
	const slotTime = 400 * time.Millisecond
	node := startDemo(t, demo.Config{Seed: 17, TPS: 60, Tokens: 40, SlotTime: slotTime, StartSlot: 400_000_000, ForkRate: 0.05, SkipRate: 0.05})
	g := newGate(t, node.RPCURL())
	up := launch(t, t.TempDir(), "--source", "geyser+http://"+node.GeyserAddr(), "--rpc-upstream", "http://"+g.addr, "--rate-limits-enabled=false")
	p := startPrometheus(t, prometheus, up.addresses["metrics"])
	enough := goOnEvery(t, node, slotTime)
	a := awayTest{t: t, up: up, alerts: p}

	a.requireAway()
	g.lift()
	a.requireWell()
	g.shut()
	a.requireAway()
	tokens := up.status().Registry.Tokens
	up.awaitMore(tokens)
	g.lift()
	a.requireWell()

	last := enough()
	until(t, func() bool { return up.status().Source.Slot >= last }, 100*time.Millisecond)
	until(t, func() bool {
		s := up.status()
		return s.Pipeline.LagRecords != nil && *s.Pipeline.LagRecords == 0 && len(s.Coverage.Gaps) == 0
	}, 100*time.Millisecond)
	up.awaitProjected(hang)
	got := up.written(t, last)
	requireEqualDumps(t, alone(t, node, up.first(), last), got)
	require.Zero(t, up.stop(), up.log())
}

// awayTest is a node whose upstream comes and goes.
type awayTest struct {
	t      *testing.T
	up     *instance
	alerts *server
	// had says that the upstream was there before.
	had bool
}

func (a *awayTest) eventually(condition func() bool, what string) {
	a.t.Helper()
	until(a.t, condition, 50*time.Millisecond, what)
}

// quote is the status of a quote.
func (a *awayTest) quote() int {
	status, _ := fetch(a.up.addresses["swap"] + "/api/v2/quote?src_mint=" + mintSOL + "&dst_mint=" + mintUSDC + "&amount_in=1000000&slippage_bps=100")
	return status
}

// requireAway holds what a node without its upstream does and says.
func (a *awayTest) requireAway() {
	a.t.Helper()
	t, up := a.t, a.up
	// 503 and not the metric first: a node that does not answer has a metric of 0 too.
	a.eventually(func() bool {
		status, _ := fetch(up.addresses["rpc"] + "/readyz")
		return status == http.StatusServiceUnavailable
	}, "the gateway notices")
	require.Zero(t, up.metric("mintlake_gateway_rpc_upstreams_well"))
	status, text := fetch(up.addresses["rpc"] + "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, string(text), `"upstreams_well":0`)
	status, code := up.call(t, "getBlockHeight")
	require.Equal(t, []int{http.StatusBadGateway, -32005}, []int{status, code})

	refused := up.metric(`mintlake_rpc_client_requests_total{method="getMultipleAccounts",outcome="connection"}`)
	a.eventually(func() bool {
		return up.metric(`mintlake_rpc_client_requests_total{method="getMultipleAccounts",outcome="connection"}`) > refused && up.metric("mintlake_enrich_queue_age_seconds") > 0
	}, "requests for facts wait and are tried")
	a.eventually(func() bool { return strings.Contains(up.log(), "account reads fail, still trying") }, "the log says so")

	slot := up.status().Source.Slot
	a.eventually(func() bool { return up.status().Source.Slot > slot+5 }, "ingest goes on")
	status, text = up.get("/readyz")
	require.Equal(t, http.StatusOK, status, string(text))
	// This one asks ClickHouse, which on a busy machine may not answer in time.
	a.eventually(func() bool {
		status, _ := fetch(strings.TrimSuffix(up.addresses["metrics"], "/metrics") + "/readyz")
		return status == http.StatusOK
	}, "the process is ready")
	status, text = up.get("/tokens?limit=5")
	require.Equal(t, http.StatusOK, status, string(text))
	status, text = fetch(up.addresses["stream"] + "/status")
	require.Equal(t, http.StatusOK, status, string(text))
	// A node that never had an upstream knows no pools. One that lost it holds them from the
	// stream.
	want := http.StatusServiceUnavailable
	if a.had {
		want = http.StatusOK
	}
	// On a busy machine the held state may be more than ten slots late for a moment. Then it is
	// read.
	a.eventually(func() bool { return a.quote() == want }, "quotes")
	// Pending; firing where all of the above took as long as an alert waits.
	for _, name := range []string{"MintlakeUpstreamAway", "MintlakeUpstreamFails"} {
		a.eventually(func() bool { return a.alerts.alert(t, name) != "inactive" }, name)
	}
}

// requireWell holds that nothing is left of it.
func (a *awayTest) requireWell() {
	a.t.Helper()
	a.eventually(func() bool { status, _ := fetch(a.up.addresses["rpc"] + "/readyz"); return status == http.StatusOK }, "the gateway is ready")
	a.eventually(func() bool {
		status, code := a.up.call(a.t, "getBlockHeight")
		return status == http.StatusOK && code == 0
	}, "calls are answered")
	a.eventually(func() bool { return a.up.metric("mintlake_enrich_queue_age_seconds") < 5 }, "what waited is done")
	a.eventually(func() bool { return strings.Contains(a.up.log(), "rpc upstream is well again") }, "the log says so")
	a.eventually(func() bool { return a.alerts.alert(a.t, "MintlakeUpstreamAway") == "inactive" }, "the alert ends")
	pairs := func(outcome string) float64 {
		return a.up.metric(`mintlake_swap_pair_reads_total{outcome="` + outcome + `"}`)
	}
	// For some seconds: without the upstream a quote also needs a look at the venues' programs
	// since the stream began. One that failed is repeated after a second.
	var since time.Time
	a.eventually(func() bool {
		held, read, cached := pairs("held"), pairs("read"), pairs("cached")
		switch {
		case a.quote() != http.StatusOK || pairs("held") == held || pairs("read") != read || pairs("cached") != cached:
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		}
		return !since.IsZero() && time.Since(since) > 3*time.Second
	}, "quotes are made, and from pools that are held alone")
	a.had = true
}

// first is the first slot that is in ClickHouse.
func (i *instance) first() uint64 {
	i.t.Helper()
	return uint64(i.number("(SELECT min(slot) FROM mintlake.slots)"))
}
