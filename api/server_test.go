package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/api"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/apitest"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/openapi"
)

// hang is what anything may take before it counts as hanging.
const hang = 3 * time.Minute

// node is a running API node on a free port.
type node struct {
	*api.Server
	t        testing.TB
	log      *apitest.Log
	registry *prometheus.Registry
	// nanoseconds ahead of the real clock, or since the start where requests are limited
	clock atomic.Int64
	stop  func()
}

func startNode(t testing.TB, log *apitest.Log, configure ...func(*api.Config)) *node {
	t.Helper()
	return startNodeWith(t, log, func(*api.Deps) {}, configure...)
}

// startNodeWith starts a node with further collaborators.
func startNodeWith(t testing.TB, log *apitest.Log, supply func(*api.Deps), configure ...func(*api.Config)) *node {
	t.Helper()
	cfg := api.DefaultConfig()
	cfg.Addr = "127.0.0.1:0"
	cfg.RateLimits.Enabled = false
	for _, c := range configure {
		c(&cfg)
	}
	n := &node{t: t, log: log, registry: prometheus.NewRegistry()}
	began := time.Now()
	var err error
	deps := api.Deps{
		Offsets: log, Producer: log, Registerer: n.registry,
		OpenTail: func(topics []string, start map[kafka.TopicPartition]int64) (kafka.TailReader, error) {
			return log.Tail(topics, start), nil
		},
		Now: func() time.Time {
			passed := time.Since(began)
			// where requests of a window are counted, time passes by n.clock alone
			if cfg.RateLimits.Enabled {
				passed = 0
			}
			return began.Add(passed + time.Duration(n.clock.Load()))
		},
	}
	supply(&deps)
	n.Server, err = api.New(cfg, deps)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	n.stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-done)
	})
	t.Cleanup(n.stop)
	<-n.Bound()
	return n
}

func (n *node) awaitReady() *node {
	require.Eventually(n.t, n.Ready, hang, time.Millisecond)
	return n
}

// as lets another test, or a fuzz target, ask the node.
func (n *node) as(t testing.TB) *node { return &node{Server: n.Server, t: t, log: n.log} }

// response is what came back, read whole.
type response struct {
	*http.Response
	body []byte
}

func (n *node) do(method, path, body string, headers ...string) response {
	n.t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), method, "http://"+n.Addr()+path, strings.NewReader(body))
	require.NoError(n.t, err)
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(request)
	require.NoError(n.t, err)
	defer func() { _ = answer.Body.Close() }()
	content, err := io.ReadAll(answer.Body)
	require.NoError(n.t, err)
	return response{answer, content}
}

func (n *node) get(path string) response { return n.do(http.MethodGet, path, "") }

func (r response) decode(t testing.TB) map[string]any {
	t.Helper()
	var body map[string]any
	require.NoError(t, json.Unmarshal(r.body, &body), string(r.body))
	return body
}

// mints of the items of a body.
func mints(body map[string]any) []string {
	out := []string{}
	for _, item := range body["items"].([]any) {
		out = append(out, item.(map[string]any)["mint"].(string))
	}
	return out
}

// documented compiles the schemas of the OpenAPI document, which takes a while to parse.
var documented = sync.OnceValues(func() (*jsonschema.Compiler, error) {
	source, err := openapi.JSON()
	if err != nil {
		return nil, err
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(source))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	return compiler, compiler.AddResource("openapi.json", document)
})

// conforms holds a body to a schema of the OpenAPI document, whose dialect is JSON Schema 2020-12.
func conforms(t testing.TB, name string, body []byte) {
	t.Helper()
	compiler, err := documented()
	require.NoError(t, err)
	schema, err := compiler.Compile("openapi.json#/components/schemas/" + name)
	require.NoError(t, err)
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	require.NoError(t, err)
	require.NoError(t, schema.Validate(value), string(body))
}

// refused checks the one shape of errors and returns the message.
func (r response) refused(t testing.TB, status int) string {
	t.Helper()
	require.Equal(t, status, r.StatusCode, string(r.body))
	conforms(t, "Error", r.body)
	body := r.decode(t)
	require.EqualValues(t, status, body["statusCode"])
	require.Equal(t, http.StatusText(status), body["error"])
	require.Equal(t, "*", r.Header.Get("Access-Control-Allow-Origin"))
	return body["message"].(string)
}

func TestErrorsHaveOneShape(t *testing.T) {
	log, _ := threeTokens()
	n := startNode(t, log).awaitReady()
	require.Contains(t, n.get("/nothing").refused(t, 404), `"/nothing"`)
	require.Contains(t, n.get("/").refused(t, 404), "/docs")
	require.Contains(t, n.get("/TOKENS").refused(t, 404), "/TOKENS")
	for _, c := range []struct{ method, path, allow string }{
		{"POST", "/tokens", "GET, HEAD, OPTIONS"},
		{"DELETE", "/tokens/x", "GET, HEAD, OPTIONS"},
		{"PUT", "/tokens/batch", "OPTIONS, POST"},
		{"GET", "/tokens/batch", "OPTIONS, POST"},
		{"POST", "/img/x", "GET, HEAD, OPTIONS"},
		{"PATCH", "/status", "GET, HEAD, OPTIONS"},
		{"TRACE", "/healthz", "GET, HEAD, OPTIONS"},
		{"PROPFIND", "/tokens/batch", "OPTIONS, POST"},
	} {
		r := n.do(c.method, c.path, "")
		require.Contains(t, r.refused(t, 405), "takes "+c.allow)
		require.Equal(t, c.allow, r.Header.Get("Allow"))
	}
	require.Contains(t, n.get("/tokens?q="+strings.Repeat("x", 40_000)).refused(t, 431), "16384")
}

func TestBrokenHTTPIsAnsweredInShape(t *testing.T) {
	log, _ := threeTokens()
	n := startNode(t, log).awaitReady()
	connection, err := net.Dial("tcp", n.Addr())
	require.NoError(t, err)
	defer func() { _ = connection.Close() }()
	_, err = connection.Write([]byte("nonsense\r\n\r\n"))
	require.NoError(t, err)
	answer, err := io.ReadAll(connection)
	require.NoError(t, err)
	require.Contains(t, string(answer), `{"statusCode":400,"error":"Bad Request","message":"the request is no valid HTTP"}`)
}

// TestAmbiguousLengthsAreRefused: what a proxy could take for a part of the body is not answered as
// another request.
func TestAmbiguousLengthsAreRefused(t *testing.T) {
	log, _ := threeTokens()
	n := startNode(t, log).awaitReady()
	for _, request := range []string{
		"POST /tokens/batch HTTP/1.1\r\nHost: localhost\r\nContent-Length: 31\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nContent-Length: 26\r\n\r\n",
		"PROPFIND /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
	} {
		c := dial(t, n, "127.0.0.1")
		_, err := c.Write([]byte(request + "GET /tokens HTTP/1.1\r\nA: \r\n\r\n"))
		require.NoError(t, err)
		answer, err := io.ReadAll(c)
		require.NoError(t, err, request)
		require.Contains(t, string(answer), `{"statusCode":400,"error":"Bad Request","message":"the request is no valid HTTP"}`)
		require.Equal(t, 1, strings.Count(string(answer), "HTTP/1.1 "), "the second was answered too: %s", answer)
		require.Contains(t, string(answer), "Connection: close\r\n")
	}
}

func TestAnyOriginMayAsk(t *testing.T) {
	log, a := threeTokens()
	n := startNode(t, log).awaitReady()
	require.Equal(t, "*", n.get("/tokens").Header.Get("Access-Control-Allow-Origin"))
	require.Equal(t, "*", n.get("/img/"+a[0]).Header.Get("Access-Control-Allow-Origin"))
	r := n.do("OPTIONS", "/tokens/batch", "", "Origin", "https://wallet.example", "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "content-type")
	require.Equal(t, 204, r.StatusCode)
	require.Equal(t, "*", r.Header.Get("Access-Control-Allow-Origin"))
	require.Contains(t, r.Header.Get("Access-Control-Allow-Methods"), "POST")
	require.Equal(t, "content-type", r.Header.Get("Access-Control-Allow-Headers"))
	n.do("OPTIONS", "/nothing", "").refused(t, 404)
}

func TestHead(t *testing.T) {
	log, a := threeTokens()
	n := startNode(t, log).awaitReady()
	for _, path := range []string{"/tokens", "/tokens/" + a[0], "/tokens/x", "/img/" + a[0], "/status", "/healthz", "/readyz", "/openapi.json", "/docs"} {
		get, head := n.get(path), n.do(http.MethodHead, path, "")
		require.Equal(t, get.StatusCode, head.StatusCode, path)
		require.Empty(t, head.body)
		require.Equal(t, get.Header.Get("Content-Type"), head.Header.Get("Content-Type"))
	}
}

func TestNotReadyUntilLoaded(t *testing.T) {
	log, a := threeTokens()
	log.SetDown(true)
	n := startNode(t, log)
	require.Equal(t, 200, n.get("/healthz").StatusCode)
	require.Equal(t, 200, n.get("/img/"+a[0]).StatusCode)
	for _, path := range []string{"/readyz", "/tokens", "/tokens/" + a[0]} {
		r := n.get(path)
		r.refused(t, 503)
		require.Equal(t, "1", r.Header.Get("Retry-After"))
	}
	n.do("POST", "/tokens/batch", batchOf(1)).refused(t, 503)
	require.Equal(t, false, n.get("/status").decode(t)["ready"])
	log.SetDown(false)
	n.awaitReady()
	require.Equal(t, 200, n.get("/readyz").StatusCode)
	require.Equal(t, 200, n.get("/tokens/"+a[0]).StatusCode)
	log.SetDown(true)
	require.Equal(t, 200, n.get("/readyz").StatusCode)
	require.Equal(t, 200, n.get("/tokens/"+a[0]).StatusCode)
	require.Equal(t, 200, n.do("POST", "/tokens/batch", batchOf(500)).StatusCode, "an outage of Kafka blocks no response")
}

func TestStatus(t *testing.T) {
	log, _ := threeTokens()
	parent := uint64(9)
	log.Message(schemas.TopicSlots, "12", &eventspb.SlotRecord{Slot: 12, ParentSlot: &parent, Status: eventspb.SlotStatus_SLOT_STATUS_INGESTED}, time.Now())
	log.Message(schemas.TopicSlots, "20", &eventspb.SlotRecord{Slot: 20, Status: eventspb.SlotStatus_SLOT_STATUS_INGESTED}, time.Now())
	log.Source(&eventspb.SourceStatus{Kind: "file", Done: true, Slot: 20, Blocks: 2, Transactions: 5, TokenEvents: 7, FailedInputs: 1, Failures: []string{"a.json: not JSON"}})
	n := startNode(t, log).awaitReady()
	lag := func() any { return n.get("/status").decode(t)["pipeline"].(map[string]any)["lag_records"] }
	require.Eventually(t, func() bool { return lag() != nil && lag().(float64) > 0 }, hang, 10*time.Millisecond)
	log.CommitAll(schemas.GroupProjector, schemas.TopicTokenEvents, schemas.TopicEnrichments, schemas.TopicSlots)
	require.Eventually(t, func() bool { return lag() == 0.0 }, hang, 10*time.Millisecond)

	r := n.get("/status")
	conforms(t, "Status", r.body)
	body := r.decode(t)
	source := body["source"].(map[string]any)
	require.Equal(t, "file", source["kind"])
	require.Equal(t, true, source["done"])
	require.EqualValues(t, 20, source["slot"])
	require.Equal(t, []any{"a.json: not JSON"}, source["failures"])
	require.EqualValues(t, 3, body["registry"].(map[string]any)["tokens"])
	coverage := body["coverage"].(map[string]any)
	require.EqualValues(t, 12, coverage["from_slot"])
	require.EqualValues(t, 12, coverage["complete_to_slot"])
	require.EqualValues(t, 20, coverage["to_slot"])
	require.Equal(t, []any{map[string]any{"from_slot": 13.0, "to_slot": 19.0}}, coverage["gaps"])
	require.NotEmpty(t, body["root"].(map[string]any)["hash"])

	past := n.get("/status/past")
	conforms(t, "StatusPast", past.body)
	require.NotEmpty(t, past.decode(t)["looks"], "the node has looked since it began")
}

func TestEveryRouteIsDescribed(t *testing.T) {
	log, _ := threeTokens()
	n := startNode(t, log).awaitReady()
	r := n.get("/openapi.json")
	require.Equal(t, "application/json", r.Header.Get("Content-Type"))
	document := r.decode(t)
	require.Equal(t, "3.1.0", document["openapi"])
	var described []string
	for path, operations := range document["paths"].(map[string]any) {
		for method := range operations.(map[string]any) {
			described = append(described, strings.ToUpper(method)+" "+path)
		}
	}
	require.ElementsMatch(t, n.Routes(), described)
	docs := n.get("/docs")
	require.Contains(t, docs.Header.Get("Content-Type"), "text/html")
	for path := range document["paths"].(map[string]any) {
		require.Contains(t, string(docs.body), path)
	}
	require.NotRegexp(t, `(src|href)="https?://`, string(docs.body), "nothing is loaded from elsewhere")
}

func TestTakenPortSaysWhatToDo(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	cfg := api.DefaultConfig()
	cfg.Addr = listener.Addr().String()
	log := apitest.NewLog()
	s, err := api.New(cfg, api.Deps{Offsets: log, Producer: log, OpenTail: func([]string, map[kafka.TopicPartition]int64) (kafka.TailReader, error) { return nil, io.EOF }})
	require.NoError(t, err)
	err = s.Run(t.Context())
	require.ErrorContains(t, err, "is taken: stop what listens there, or choose another with --api-addr")
	require.NotContains(t, err.Error(), "\n")
}

func TestConfigTellsAllProblems(t *testing.T) {
	cfg := api.DefaultConfig()
	require.NoError(t, cfg.Validate())
	cfg = api.Config{
		Addr: "nowhere", TrustedProxies: []string{"x"}, DrainTime: -1, CheckpointEvery: -1, MaxConnectionsPerClient: -1, InternalToken: "secret", SwapURL: "http://swap/; script-src *",
		RateLimits: api.RateLimits{SharedURL: "http://user:secret@redis", IPv6Factor56: -1, IPv6Factor48: 65_537},
	}
	err := cfg.Validate()
	for _, key := range []string{
		"addr", "body_limit", "read_timeout", "write_timeout", "idle_timeout", "shutdown_grace", "max_connections", "trusted_proxies", "snapshot_patience",
		"rate_limits.search", "rate_limits.lookup", "rate_limits.batch", "rate_limits.image", "rate_limits.global", "rate_limits.max_clients",
		"enrichment_requests.queue_size", "enrichment_requests.dedup_ttl", "enrichment_requests.negative_ttl", "enrichment_requests.per_client",
		"enrichment_requests.per_client_window",
		"drain_time", "checkpoint_every", "swap_url", "max_connections_per_client", "internal_token", "rate_limits.shared_url", "rate_limits.shared_timeout", "rate_limits.shared_retry",
		"rate_limits.ipv6_56_factor", "rate_limits.ipv6_48_factor",
	} {
		if !strings.HasPrefix(key, "rate_limits.") {
			key = "api." + key
		}
		require.ErrorContains(t, err, key+": ")
	}
	require.NotContains(t, err.Error(), "secret")
}

// ownAddress is of a node that must be gone in the end: what else listens on this machine is on
// another address.
func ownAddress(c *api.Config) { c.Addr = "127.0.0.77:0" }

func TestStopsCleanlyWithOpenConnections(t *testing.T) {
	log, _ := threeTokens()
	n := startNode(t, log, ownAddress).awaitReady()
	n.get("/tokens") // leaves a connection open
	quiet, err := net.Dial("tcp", n.Addr())
	require.NoError(t, err)
	defer func() { _ = quiet.Close() }()
	time.Sleep(20 * time.Millisecond)
	begin := time.Now()
	n.stop()
	require.Less(t, time.Since(begin), hang)
	_, err = net.Dial("tcp", n.Addr())
	require.Error(t, err)
}

func TestMetricsCountRoutesAndStatuses(t *testing.T) {
	log, a := threeTokens()
	n := startNode(t, log).awaitReady()
	n.get("/tokens/" + a[0])
	n.get("/tokens/x")
	n.get("/nothing/at/all")
	families, err := n.registry.Gather()
	require.NoError(t, err)
	got := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "mintlake_api_requests_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			if count := metric.GetCounter().GetValue(); count > 0 { // the others are there at 0
				got[fmt.Sprintf("%s %s", metric.GetLabel()[0].GetValue(), metric.GetLabel()[1].GetValue())] = count
			}
		}
	}
	require.Equal(t, map[string]float64{"/tokens/:mint 200": 1, "/tokens/:mint 404": 1, "other 404": 1}, got)
}
