package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
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

	"github.com/mintlake/mintlake/operate/preflight"
	"github.com/mintlake/mintlake/schemas"
)

// bill stands before a demo node's HTTP address and counts what a provider would bill.
type bill struct {
	calls, documents, requests atomic.Int64
	// asked has the paths of documents.
	asked  sync.Map
	target atomic.Pointer[httputil.ReverseProxy]
}

// ServeHTTP counts each call of a batch, and each document once: some fail on purpose, and are
// asked for again.
func (m *bill) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasPrefix(r.URL.Path, "/metadata/"):
		m.requests.Add(1)
		if _, again := m.asked.LoadOrStore(r.URL.Path, nil); !again {
			m.documents.Add(1)
		}
	case r.Method == http.MethodPost:
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		var batch []json.RawMessage
		if json.Unmarshal(body, &batch) == nil {
			m.calls.Add(int64(len(batch)))
		} else {
			m.calls.Add(1)
		}
	}
	m.target.Load().ServeHTTP(w, r)
}

// TestAWeekInFastMotion holds preflight to what it said: the demo chain has slots 20 times as
// often. MINTLAKE_TEST_WEEK is how long; a whole week is 8h24m.
func TestAWeekInFastMotion(t *testing.T) {
	long, err := time.ParseDuration(os.Getenv("MINTLAKE_TEST_WEEK"))
	if err != nil {
		t.Skip("make test-week sets MINTLAKE_TEST_WEEK")
	}
	m := &bill{}
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
	first, before := node.Slot(), m.stand(t, up, dir)
	time.Sleep(long)
	after, slots := m.stand(t, up, dir), node.Slot()-first
	// A machine that has much to do makes fewer slots: what counts is what these cost.
	passed := time.Duration(float64(slots) * report.Sample.Seconds / float64(report.Sample.Slots) * float64(time.Second))
	judgeWeek(t, &report, before, after, passed)
	require.Empty(t, up.status().Coverage.Gaps)
	require.Zero(t, up.stop(), up.log())
}

// stand is what was used up to a moment.
type stand struct {
	calls             float64
	documents         float64
	requests          float64
	kafka, clickhouse float64
	topics            map[string]float64
}

func (m *bill) stand(t *testing.T, up *instance, dir string) stand {
	t.Helper()
	s := stand{topics: map[string]float64{}}
	s.calls, s.documents, s.requests = float64(m.calls.Load()), float64(m.documents.Load()), float64(m.requests.Load())
	for _, table := range up.query("SELECT name FROM system.tables WHERE database = 'mintlake' AND engine LIKE '%MergeTree'") {
		up.query("OPTIMIZE TABLE mintlake." + table + " FINAL")
	}
	_, err := fmt.Sscan(up.query("SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = 'mintlake'")[0], &s.clickhouse)
	require.NoError(t, err)
	for _, topic := range schemas.Topics() {
		files, err := filepath.Glob(filepath.Join(dir, "kafka", "broker", "partitions", topic.Name+"-*", "*.[di]*"))
		require.NoError(t, err)
		for _, file := range files {
			info, err := os.Stat(file)
			require.NoError(t, err)
			s.topics[topic.Name] += float64(info.Size())
			s.kafka += float64(info.Size())
		}
	}
	return s
}

// judgeWeek compares what was used with what was said, within a fifth.
func judgeWeek(t *testing.T, report *preflight.Report, before, after stand, passed time.Duration) {
	t.Helper()
	f, s := report.Forecast, report.Sample
	share := passed.Hours() / 24
	perSlot := passed.Seconds() * float64(s.Slots) / s.Seconds / float64(s.Slots+1)
	saidKafka, calls := 0.0, 0.0
	for topic, bytes := range s.Topics {
		saidKafka += float64(bytes) * perSlot
		t.Logf("%-34s said %12.0f was %12.0f", topic, float64(bytes)*perSlot, after.topics[topic]-before.topics[topic])
	}
	for _, c := range f.Calls {
		calls += c.Day * share
		t.Logf("calls for %-34s said %12.0f", c.For, c.Day*share)
	}
	t.Logf("documents were asked for %.0f times", after.requests-before.requests)
	for _, c := range []struct {
		what      string
		said, was float64
	}{
		{"calls", calls, after.calls - before.calls},
		{"documents", f.Documents * share, after.documents - before.documents},
		{"bytes of Kafka", saidKafka, after.kafka - before.kafka}, {"bytes of ClickHouse", f.Disk[0].ClickHouse * share, after.clickhouse - before.clickhouse},
	} {
		t.Logf("%-20s said %14.0f was %14.0f: %.2f", c.what, c.said, c.was, c.was/c.said)
		if c.was < 0.8*c.said || c.was > 1.2*c.said {
			t.Errorf("%s: said %.0f, was %.0f in %s", c.what, c.said, c.was, passed)
		}
	}
}
