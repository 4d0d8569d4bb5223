package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/demo"
	"github.com/mintlake/mintlake/operate/preflight"
	"github.com/mintlake/mintlake/operate/sizing"
	"github.com/mintlake/mintlake/schemas"
)

// bill stands before a demo node's HTTP address and counts what a provider would bill.
type bill struct {
	documents, requests atomic.Int64
	// asked has the addresses of documents: one that moves has another query.
	asked  sync.Map
	target atomic.Pointer[httputil.ReverseProxy]

	mu    sync.Mutex
	calls map[string]float64 // by purpose
}

// ServeHTTP counts each call of a batch, and each document once: some fail on purpose, and are
// asked for again.
func (m *bill) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasPrefix(r.URL.Path, "/metadata/"):
		m.requests.Add(1)
		if _, again := m.asked.LoadOrStore(r.URL.RequestURI(), nil); !again {
			m.documents.Add(1)
		}
	case r.Method == http.MethodPost:
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		m.note(body)
	}
	m.target.Load().ServeHTTP(w, r)
}

// note counts a call, or each of a batch. Only the swap API reads accounts whole: enrichment asks
// for their beginnings.
func (m *bill) note(body []byte) {
	type call struct {
		Method string
		Params []json.RawMessage
	}
	var batch []call
	if json.Unmarshal(body, &batch) != nil {
		batch = make([]call, 1)
		_ = json.Unmarshal(body, &batch[0]) // what is no call is counted too
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range batch {
		purpose := c.Method
		if c.Method == "getMultipleAccounts" {
			purpose = "whole accounts"
			if len(c.Params) > 1 && bytes.Contains(c.Params[1], []byte("dataSlice")) {
				purpose = "beginnings of accounts"
			}
		}
		m.calls[purpose]++
	}
}

// TestAWeekInFastMotion holds preflight to what it said: the demo chain has slots 20 times as
// often. MINTLAKE_TEST_WEEK is how long; a whole week is 8h24m.
func TestAWeekInFastMotion(t *testing.T) {
	long, err := time.ParseDuration(os.Getenv("MINTLAKE_TEST_WEEK"))
	if err != nil {
		t.Skip("make test-week sets MINTLAKE_TEST_WEEK")
	}
	m := &bill{calls: map[string]float64{}}
	front := httptest.NewServer(m)
	defer front.Close()
	node := liveDemo(t, "demo:?past=0&seed=6&slot_time=10ms&tps=600&tokens=300&base_url="+url.QueryEscape(front.URL))
	target, err := url.Parse(node.RPCURL())
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ErrorLog = log.New(io.Discard, "", 0) // clients give up what is slow on purpose
	m.target.Store(proxy)
	time.Sleep(20 * time.Second) // the tokens of the beginning are created
	report, _ := askBefore(t, node, front.URL, "--for", "1m")
	require.NotNil(t, report.Forecast, "%+v", report.Checks)

	dir := t.TempDir()
	up := beginWith(t, []string{"MINTLAKE_ENRICH_OFFCHAIN=true"}, "up", dir, "--source", "geyser+http://"+node.GeyserAddr(), "--rpc-upstream", front.URL,
		"--enrich-allow-private", target.Host+","+strings.TrimPrefix(front.URL, "http://"))
	up.awaitUp()
	time.Sleep(time.Minute) // mints that were there before are met and read
	before := m.stand(t, up, dir, node)
	time.Sleep(long)
	judgeWeek(t, &report, before, m.stand(t, up, dir, node))
	require.Empty(t, up.status().Coverage.Gaps)
	require.Zero(t, up.stop(), up.log())
}

// stand is what was used up to a slot of the chain.
type stand struct {
	slot                float64
	calls               map[string]float64
	documents, requests float64
	topics              map[string]float64
	// clickhouse is what the tables took when they were merged, at a later slot.
	clickhouse, merged float64
}

func (m *bill) stand(t *testing.T, up *instance, dir string, node *demo.Node) stand {
	t.Helper()
	s := stand{slot: float64(node.Slot()), documents: float64(m.documents.Load()), requests: float64(m.requests.Load()), topics: map[string]float64{}}
	m.mu.Lock()
	s.calls = maps.Clone(m.calls)
	m.mu.Unlock()
	for _, topic := range schemas.Topics() {
		files, err := filepath.Glob(filepath.Join(dir, "kafka", "broker", "partitions", topic.Name+"-*", "*.[di]*"))
		require.NoError(t, err)
		for _, file := range files {
			info, err := os.Stat(file)
			require.NoError(t, err)
			s.topics[topic.Name] += float64(info.Size())
		}
	}
	for _, table := range up.query("SELECT name FROM system.tables WHERE database = 'mintlake' AND engine LIKE '%MergeTree'") {
		up.query("OPTIMIZE TABLE mintlake." + table + " FINAL")
	}
	s.merged = float64(node.Slot())
	_, err := fmt.Sscan(up.query("SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = 'mintlake'")[0], &s.clickhouse)
	require.NoError(t, err)
	return s
}

// judgeWeek compares what was used with what was said, within a fifth. A machine that has much to
// do makes fewer slots: what counts is what these cost.
func judgeWeek(t *testing.T, report *preflight.Report, before, after stand) {
	t.Helper()
	f, s := report.Forecast, report.Sample
	slots := after.slot - before.slot
	day := f.Units[sizing.Slot]
	said, was := map[string]float64{}, map[string]float64{}
	for topic, bytes := range s.Topics {
		bytes := float64(bytes) * slots / float64(s.Slots+1)
		t.Logf("%-34s said %12.0f was %12.0f", topic, bytes, after.topics[topic]-before.topics[topic])
		said["bytes of Kafka"] += bytes
		was["bytes of Kafka"] += after.topics[topic] - before.topics[topic]
	}
	for _, c := range f.Calls {
		t.Logf("calls for %-34s said %12.0f", c.For, c.Day*slots/day)
		said["calls"] += c.Day * slots / day
	}
	for purpose, calls := range after.calls {
		t.Logf("calls: %-37s were %12.0f", purpose, calls-before.calls[purpose])
		was["calls"] += calls - before.calls[purpose]
	}
	t.Logf("documents were asked for %.0f times", after.requests-before.requests)
	said["documents"], was["documents"] = f.Documents*slots/day, after.documents-before.documents
	said["bytes of ClickHouse"], was["bytes of ClickHouse"] = f.Disk[0].ClickHouse*(after.merged-before.merged)/day, after.clickhouse-before.clickhouse
	for what, said := range said {
		t.Logf("%-20s said %14.0f was %14.0f: %.2f", what, said, was[what], was[what]/said)
		if was[what] < 0.8*said || was[what] > 1.2*said {
			t.Errorf("%s: said %.0f, was %.0f in %.0f slots", what, said, was[what], slots)
		}
	}
}
