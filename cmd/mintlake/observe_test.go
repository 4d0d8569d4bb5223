package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/tracetest"
)

// TestObservability runs the demo in this process: counters exist before the first event, probes
// tell the truth, spans reach a collector and batches link to blocks.
func TestObservability(t *testing.T) {
	collector := tracetest.Start(t)
	cfg := demoConfig(t)
	cfg.Tracing.Endpoint, cfg.Tracing.SampleRatio, cfg.Metrics.PProf = collector.URL, 1, true
	// ingest begins below
	cfg.Rooms = []string{roomProjector, roomVolume, roomEnrich, roomAPI, roomGateway, roomSwap}
	s := newSystem(cfg, slog.New(slog.DiscardHandler))
	stopped := false
	defer func() {
		if !stopped {
			_ = s.stop()
		}
	}()
	require.NoError(t, s.startAll(t.Context()))
	metrics := strings.TrimSuffix(s.address("metrics"), "/metrics")
	status, text := get(t, metrics+"/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status, text)
	require.Contains(t, text, "starting")
	require.NoError(t, s.prepareIngest(t.Context()))
	before := gather(t, s.registerer)
	require.NoError(t, s.startIngest(t.Context()))
	s.readiness.setState("")
	require.Eventually(t, func() bool { status, text = get(t, metrics+"/readyz"); return status == http.StatusOK },
		3*time.Minute, 100*time.Millisecond, "ready once all rooms run")
	for _, line := range []string{"kafka: ok", "clickhouse: ok", "api: ok", "group mintlake-projector: ok", "group mintlake-swaps: ok", "group mintlake-enrich: ok"} {
		require.Contains(t, text, line)
	}
	use(t, s)
	after := gather(t, s.registerer)

	t.Run("every metric is there from the start", func(t *testing.T) {
		for name := range described(t, s.registerer) {
			if _, late := bornLate[name]; !late {
				require.Contains(t, before, name, "registered and not exposed: preset its labels")
			}
		}
	})
	t.Run("no counter is born at its first event", func(t *testing.T) {
		for name, family := range after {
			if _, late := bornLate[name]; late || family.GetType() != dto.MetricType_COUNTER {
				continue
			}
			known := map[string]bool{}
			for _, series := range before[name].GetMetric() {
				known[labelsOf(series)] = true
			}
			for _, series := range family.GetMetric() {
				require.True(t, known[labelsOf(series)], "%s{%s} was not there at the start: increase() misses its first event", name, labelsOf(series))
			}
		}
	})
	t.Run("build info", func(t *testing.T) {
		labels := labelsOf(after["mintlake_build_info"].GetMetric()[0])
		require.Contains(t, labels, "commit="+thisBuild().Commit)
		require.Contains(t, labels, "goversion=go1.")
		require.Contains(t, labels, "version="+thisBuild().Version)
	})
	t.Run("disk", func(t *testing.T) {
		free, size := after["mintlake_data_dir_free_bytes"].GetMetric()[0].GetGauge().GetValue(), after["mintlake_data_dir_size_bytes"].GetMetric()[0].GetGauge().GetValue()
		require.Greater(t, free, 1e6)
		require.Greater(t, size, free)
	})
	t.Run("pprof", func(t *testing.T) {
		status, text := get(t, metrics+"/debug/pprof/goroutine?debug=1")
		require.Equal(t, http.StatusOK, status)
		require.Contains(t, text, "goroutine profile")
		off := newSystem(defaults(), slog.New(slog.DiscardHandler))
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/debug/pprof/heap", nil)
		require.NoError(t, err)
		recorder := &statusRecorder{}
		off.metricsRoutes().ServeHTTP(recorder, request)
		require.Equal(t, http.StatusNotFound, recorder.status, "off unless asked for")
	})
	t.Run("traces", func(t *testing.T) { traces(t, collector) })

	metricsOf(t, s)
	stopped = true
	require.NoError(t, s.stop())
	require.Nil(t, newSystem(defaults(), slog.New(slog.DiscardHandler)).tracer)
}

// bornLate are the families whose label values nobody knows before, with the reason.
var bornLate = map[string]string{
	"mintlake_ingest_raw_instructions_total": "the reason is the decoder's text",
	"mintlake_kafka_fetch_lag_records":       "a series for each partition that this member has now",
	// The next ones are preset when their reader opens: streams read only while somebody listens.
	"mintlake_kafka_fetched_records_total": "", "mintlake_kafka_fetched_bytes_total": "", "mintlake_kafka_fetch_errors_total": "",
	"mintlake_kafka_offset_resets_total": "", "mintlake_kafka_batches_too_large_total": "",
}

// demoConfig is a small demo on free ports.
func demoConfig(t *testing.T) *Config {
	t.Helper()
	cfg := defaults()
	cfg.DataDir, cfg.Source = t.TempDir(), []string{"demo:?past=0&tps=50&tokens=50&seed=7"}
	for _, addr := range []*string{
		&cfg.API.Addr, &cfg.Swap.Addr, &cfg.RPC.Addr, &cfg.Stream.Addr, &cfg.Metrics.Addr, &cfg.Kafka.Addr, &cfg.ClickHouse.Addr,
	} {
		*addr = "127.0.0.1:0"
	}
	cfg.ClickHouse.MemoryBytes, cfg.ClickHouse.Threads = 2<<30, 1
	require.NoError(t, cfg.validate())
	return cfg
}

func (s *system) address(name string) string {
	for _, a := range s.addresses {
		if a.name == name {
			return a.url
		}
	}
	return ""
}

const (
	sol  = "So11111111111111111111111111111111111111112"
	usdc = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
)

// use does what users do, until every room has had something to count.
func use(t *testing.T, s *system) {
	t.Helper()
	api, gateway, swap := s.address("api"), s.address("rpc"), s.address("swap")
	var page struct {
		Items []struct{ Mint string } `json:"items"`
	}
	require.Eventually(t, func() bool {
		_, text := get(t, api+"/tokens?limit=2")
		return json.Unmarshal([]byte(text), &page) == nil && len(page.Items) == 2
	}, 2*time.Minute, 200*time.Millisecond, "tokens appear")
	for _, path := range []string{
		"/tokens/" + page.Items[0].Mint, "/tokens/" + page.Items[0].Mint + "/history", "/tokens/nothing", "/nothing", "/img/" + page.Items[0].Mint,
		"/tokens/" + sol + "/pools", "/status", "/tokens?limit=x",
	} {
		get(t, api+path)
	}
	for _, body := range []string{`{"jsonrpc":"2.0","id":1,"method":"getSlot"}`, `{"jsonrpc":"2.0","id":1,"method":"nonsense"}`, `{`} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, gateway, strings.NewReader(body))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		_ = response.Body.Close()
	}
	quote := url.Values{"src_mint": {sol}, "dst_mint": {usdc}, "amount_in": {"1500000000"}, "slippage_bps": {"50"}}
	require.Eventually(t, func() bool { // a busy swap API asks to try again
		status, _ := get(t, swap+"/api/v2/quote?"+quote.Encode())
		return status == http.StatusOK
	}, 2*time.Minute, 200*time.Millisecond, "a quote")
	get(t, swap+"/api/v2/quote")
	require.Eventually(t, func() bool {
		families := gather(t, s.registerer)
		return families["mintlake_volume_valued_buckets_total"].GetMetric()[0].GetCounter().GetValue() > 0
	}, 2*time.Minute, 500*time.Millisecond, "swaps are valued")
}

func traces(t *testing.T, collector *tracetest.Collector) {
	t.Helper()
	want := []string{"ingest block", "enrich accounts", "project batch", "project swaps", "insert", "fold", "POST JSON-RPC", "upstream", "GET /tokens", "/api/v2/quote", "getMultipleAccounts"}
	require.Eventually(t, func() bool {
		spans := collector.ByName()
		for _, name := range want {
			if len(spans[name]) == 0 {
				return false
			}
		}
		return true
	}, 2*time.Minute, 200*time.Millisecond, "spans: %v", keysOf(collector.ByName()))
	spans := collector.ByName()
	blocks := map[string]bool{}
	for _, block := range spans["ingest block"] {
		blocks[block.SpanID] = true
		require.NotEmpty(t, block.Attributes["slot"])
	}
	for _, name := range []string{"project batch", "project swaps", "enrich accounts"} {
		linked := 0
		for _, batch := range spans[name] {
			for _, link := range batch.Links {
				if blocks[link] {
					linked++
				}
			}
		}
		require.Positive(t, linked, "%s: batches link to the blocks that made them", name)
	}
	call := spans["POST JSON-RPC"][0]
	require.Equal(t, "0af7651916cd43dd8448eb211c80319c", call.TraceID, "the client's trace goes on")
	require.Equal(t, "0af7651916cd43dd8448eb211c80319c", spans["upstream"][0].TraceID)
	require.NotContains(t, spans["upstream"][0].Attributes["upstream"], "?", "no key")
	quoted := map[string]bool{}
	for _, quote := range spans["/api/v2/quote"] {
		quoted[quote.TraceID] = true
	}
	inside := 0
	for _, call := range spans["getMultipleAccounts"] {
		if quoted[call.TraceID] {
			inside++
		}
	}
	require.Positive(t, inside, "a quote's calls are inside it")
}

// metricsOf holds the page of metrics to what the demo exposes.
func metricsOf(t *testing.T, s *system) {
	t.Helper()
	t.Run("docs/metrics.md names every metric", func(t *testing.T) { holdMetricsPage(t, s.registerer) })
}

func get(t *testing.T, address string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(body)
}

type statusRecorder struct{ status int }

func (*statusRecorder) Header() http.Header         { return http.Header{} }
func (*statusRecorder) Write(b []byte) (int, error) { return len(b), nil }
func (r *statusRecorder) WriteHeader(status int)    { r.status = status }

func gather(t *testing.T, registry *prometheus.Registry) map[string]*dto.MetricFamily {
	t.Helper()
	list, err := registry.Gather()
	require.NoError(t, err)
	families := map[string]*dto.MetricFamily{}
	for _, family := range list {
		families[family.GetName()] = family
	}
	return families
}

var (
	descParts  = regexp.MustCompile(`^Desc\{fqName: "([^"]+)", help: ("(?:[^"\\]|\\.)*"), (?:unit: "[^"]*", )?constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}$`)
	constLabel = regexp.MustCompile(`(\w+)="(?:[^"\\]|\\.)*"`)
)

// about is what a collector says of a metric, with or without series.
type about struct {
	help   string
	labels []string
}

// described are Mintlake's metrics that the registry has collectors of.
func described(t *testing.T, registry *prometheus.Registry) map[string]about {
	t.Helper()
	descs := make(chan *prometheus.Desc, 16)
	go func() { registry.Describe(descs); close(descs) }()
	all := map[string]about{}
	for desc := range descs {
		parts := descParts.FindStringSubmatch(desc.String())
		require.NotNil(t, parts, desc.String())
		if !strings.HasPrefix(parts[1], "mintlake_") {
			continue
		}
		help, err := strconv.Unquote(parts[2])
		require.NoError(t, err)
		labels := []string{}
		for _, pair := range constLabel.FindAllStringSubmatch(parts[3], -1) {
			labels = append(labels, pair[1])
		}
		if parts[4] != "" {
			labels = append(labels, strings.Split(parts[4], ",")...)
		}
		sort.Strings(labels)
		all[parts[1]] = about{help, labels}
	}
	return all
}

func labelsOf(series *dto.Metric) string {
	var pairs []string
	for _, pair := range series.GetLabel() {
		pairs = append(pairs, pair.GetName()+"="+pair.GetValue())
	}
	sort.Strings(pairs)
	return strings.Join(pairs, ",")
}

func keysOf[V any](m map[string]V) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
