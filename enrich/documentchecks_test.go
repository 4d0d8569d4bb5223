package enrich

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/enrich/logos"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/logos/fetch"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// testClock is a clock that stands still but for pass.
type testClock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *testClock { return &testClock{at: time.UnixMilli(1_700_000_000_000)} }

func (c *testClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *testClock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// scheduler runs the room that asks for broken documents again, over the world's broker.
func (w *world) scheduler(t *testing.T, clock *testClock) (stop func()) {
	t.Helper()
	machine, err := logos.New(logos.Config{}, logos.Deps{
		Offsets: w.broker, OpenTail: func() (kafka.TailReader, error) { return &tail{b: w.broker}, nil }, Producer: w.broker,
		Registerer: prometheus.NewRegistry(), Now: clock.now,
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- machine.Run(ctx) }()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	t.Cleanup(stop)
	return stop
}

// EndOffsets is of the enrichments.
func (b *broker) EndOffsets(context.Context, []string) (map[kafka.TopicPartition]int64, error) {
	return map[kafka.TopicPartition]int64{{Topic: schemas.TopicEnrichments}: int64(len(b.records(schemas.TopicEnrichments)))}, nil
}

// StartOffsets is of the enrichments.
func (b *broker) StartOffsets(context.Context, []string) (map[kafka.TopicPartition]int64, error) {
	return map[kafka.TopicPartition]int64{{Topic: schemas.TopicEnrichments}: 0}, nil
}

func (b *broker) tail(start map[kafka.TopicPartition]int64) (kafka.TailReader, error) {
	return &tail{b: b, next: int(start[kafka.TopicPartition{Topic: schemas.TopicEnrichments}])}, nil
}

// tail reads the enrichments from the first on. It returns now and then without any, as a batch
// wakes the reader's schedule.
type tail struct {
	b    *broker
	next int
}

func (r *tail) Close() {}

func (r *tail) FetchBatch(ctx context.Context, _ int, _ time.Duration) ([]kafka.Record, error) {
	time.Sleep(time.Millisecond)
	records := r.b.records(schemas.TopicEnrichments)[r.next:]
	for i := range records {
		records[i].Offset = int64(r.next + i)
	}
	r.next += len(records)
	return records, ctx.Err()
}

// document returns the checks of mint i since its last document, and whether it has one.
func (w *world) document(t *testing.T, i int) (checks []*eventspb.DocumentCheck, name string) {
	t.Helper()
	mint := mintKey(i)
	for _, fact := range w.facts(t) {
		if string(fact.GetMint()) != string(mint[:]) {
			continue
		}
		if check := fact.GetDocumentCheck(); check != nil {
			checks = append(checks, check)
		}
		if fact.GetOffchain() != nil {
			checks, name = nil, fact.GetOffchain().GetName()
		}
	}
	return checks, name
}

// troubles are what servers answer in the first minutes after a launch.
func troubles() map[string]http.HandlerFunc {
	status := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	return map[string]http.HandlerFunc{
		"404": status(404, "not found"), "410": status(410, ""), "403": status(403, "<html>"), "401": status(401, ""), "202": status(202, `{"status":"pending"}`),
		"204": status(204, ""), "206": status(206, `{"name":`), "500": status(500, ""), "503": status(503, ""), "502": status(502, "<html>"), "418": status(418, ""),
		"challenge": status(200, "<!DOCTYPE html><html>Just a moment...</html>"), "empty": status(200, ""), "blank": status(200, "  \n"),
		"truncated": status(200, `{"name":"Lake","image":"htt`), "null": status(200, "null"), "text": status(200, "pending"), "list": status(200, `["x"]`),
		"string": status(200, `"soon"`), "error": status(200, `{"statusCode":404,"message":"Not Found"}`), "two": status(200, `{}{}`),
		"loop": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) },
		"gone": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"gzip": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, `{"name":"plain"}`)
		},
		"cut off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"name":"x"}`)
			panic(http.ErrAbortHandler)
		},
	}
}

// TestADocumentThatFailsIsReadAgain within minutes, over a restart, whatever the trouble was.
func TestADocumentThatFailsIsReadAgain(t *testing.T) {
	var mended sync.Map
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		if _, ok := mended.Load(name); !ok {
			troubles()[name](w, r)
			return
		}
		_, _ = io.WriteString(w, `{"name":"Lake"}`)
	}))
	defer server.Close()
	fetcher, err := fetch.New(fetch.Config{AllowPrivate: []string{server.Listener.Addr().String()}, PerHost: 64}, fetch.Deps{})
	require.NoError(t, err)
	defer fetcher.Close()
	w, clock := newWorld(), newClock()
	w.deps.Fetcher, w.deps.Clock = fetcher, clock.now
	w.cfg.perHost = 8
	var names []string
	for name := range troubles() {
		w.request(t, ask(mintKey(len(names)), metadataSet, 5, server.URL+"/"+strings.ReplaceAll(name, " ", "%20")))
		names = append(names, name)
	}
	_, stop := w.start(t)
	w.drained(t)
	for i, name := range names {
		checks, _ := w.document(t, i)
		require.Len(t, checks, 1, name)
		require.EqualValues(t, 1, checks[0].GetFailures())
		require.NotEmpty(t, checks[0].GetErrorClass(), name)
		require.InDelta(t, float64(time.Minute), float64(time.UnixMilli(checks[0].GetNextCheckAtMs()).Sub(clock.now())), float64(time.Minute)/4, name)
		mended.Store(name, true)
	}
	require.NoError(t, stop())
	_, _ = w.start(t)
	w.scheduler(t, clock)
	clock.pass(2 * time.Minute)
	for i, name := range names {
		require.Eventually(t, func() bool { _, read := w.document(t, i); return read == "Lake" }, hang, time.Millisecond, name)
	}
	require.Len(t, w.deadLetters(t), len(names), "one for each document")
}

// TestChecksOfADocumentGrowRare: the delays double over restarts of both rooms, each failure is
// counted once, and the first one only is a dead letter.
func TestChecksOfADocumentGrowRare(t *testing.T) {
	w, clock := newWorld(), newClock()
	w.deps.Clock = clock.now
	w.web.serve = func(context.Context, string) ([]byte, error) { return nil, failed(fetch.ClassHTTPStatus, 404) }
	w.request(t, ask(mintKey(1), metadataSet, 5, "https://a.test/1"))
	last := time.Duration(0)
	for n := 1; n <= 12; n++ {
		_, stop := w.start(t)
		stopScheduler := w.scheduler(t, clock)
		stopOther := w.scheduler(t, clock) // another process asks for the same
		require.Eventually(t, func() bool { checks, _ := w.document(t, 1); return len(checks) == n }, hang, time.Millisecond, n)
		// A request that the slower one wrote last is answered in this life: the next one does
		// not know that it was.
		stopOther()
		stopScheduler()
		w.drained(t)
		checks, _ := w.document(t, 1)
		require.Len(t, checks, n)
		require.Equal(t, []any{uint32(n), "http_status", uint32(404)}, []any{checks[n-1].GetFailures(), checks[n-1].GetErrorClass(), checks[n-1].GetHttpStatus()})
		wait := time.UnixMilli(checks[n-1].GetNextCheckAtMs()).Sub(clock.now())
		require.Greater(t, wait, last)
		last = wait
		require.NoError(t, stop())
		clock.pass(wait + time.Second)
	}
	require.Greater(t, last, 24*time.Hour)
	require.Len(t, w.deadLetters(t), 1)

	w.web.serve = func(context.Context, string) ([]byte, error) { return []byte(`{"name":"Lake"}`), nil }
	w.request(t, ask(mintKey(1), metadataSet, 6, "https://a.test/2"))
	w.start(t)
	w.drained(t)
	_, name := w.document(t, 1)
	require.Equal(t, "Lake", name, "another URI starts anew")
}

// TestARequestBringsADocumentForward, but not within a minute, and not one of ingest.
func TestARequestBringsADocumentForward(t *testing.T) {
	w, clock := newWorld(), newClock()
	w.deps.Clock = clock.now
	w.web.serve = func(context.Context, string) ([]byte, error) { return nil, failed(fetch.ClassHTTPStatus, 404) }
	w.rpc.putMint(mintKey(1), "Lake", "https://a.test/1")
	w.start(t)
	for i, step := range []struct {
		pass   time.Duration
		reason eventspb.RequestReason
		want   int
	}{
		{0, sighted, 1}, {0, apiBatch, 1}, {30 * time.Second, apiBatch, 1}, {time.Minute, sighted, 1}, {0, metadataSet, 1}, {0, apiBatch, 2},
		{0, eventspb.RequestReason_REQUEST_REASON_API_IMAGE, 2}, {time.Minute, eventspb.RequestReason_REQUEST_REASON_API_IMAGE, 3}, {time.Hour, sighted, 4},
	} {
		clock.pass(step.pass)
		for range 5 {
			w.request(t, ask(mintKey(1), step.reason, 1, "https://a.test/1"))
		}
		w.drained(t)
		require.Equal(t, step.want, w.web.fetched("https://a.test/1"), "step %d", i)
	}
	checks, _ := w.document(t, 1)
	require.EqualValues(t, 4, checks[len(checks)-1].GetFailures())
}

// TestTenThousandMintsOfOneSlowHost leave the room to others: what finds no place is put off, which
// costs no fetch, and comes again later and later.
func TestTenThousandMintsOfOneSlowHost(t *testing.T) {
	w := newWorld()
	w.cfg.maxInFlight = 1000
	release := w.slowHost()
	const tokens = 10_000
	for i := range tokens {
		w.request(t, ask(mintKey(i), metadataSet, 5, fmt.Sprintf("https://n%d.slow.test/%d", i%50, i)))
	}
	w.rpc.putMint(mintKey(tokens), "Lake", "https://quick.test/x")
	w.request(t, ask(mintKey(tokens), sighted, 5, ""))
	e, stop := w.start(t)
	require.Eventually(t, func() bool { return w.web.fetched("https://quick.test/x") == 1 }, hang, time.Millisecond)
	require.Eventually(t, func() bool { return len(w.facts(t)) == tokens-100+3 }, hang, 10*time.Millisecond)
	require.Equal(t, 100, e.offchain.waits.jobs)
	require.NoError(t, stop())

	// Those that have a place are put off as well, when they have waited for too long.
	w.cfg.queuePatience = time.Millisecond
	left := w.lag()
	e, _ = w.start(t)
	require.Eventually(t, func() bool {
		if counted(t, e.metrics.requests.WithLabelValues("metadata_set"))+counted(t, e.metrics.requests.WithLabelValues("sighted")) < left {
			return false // they are not read yet
		}
		var gauge dto.Metric
		require.NoError(t, e.metrics.inFlight.Write(&gauge))
		return gauge.GetGauge().GetValue() <= float64(w.cfg.Sockets)
	}, hang, 10*time.Millisecond, "only what is under way waits for the host")
	close(release)
	w.drained(t)
	require.Empty(t, w.deadLetters(t))
}

func TestRetriesOfOtherRooms(t *testing.T) {
	request := &eventspb.EnrichmentRequest{Reason: eventspb.RequestReason_REQUEST_REASON_DOCUMENT_RETRY, Failures: 3, Uri: []byte("https://a.test/1")}
	mint := mintKey(1)
	request.Mint = mint[:]
	value, err := proto.Marshal(request)
	require.NoError(t, err)
	w := newWorld()
	w.rpc = nil
	w.web.serve = func(context.Context, string) ([]byte, error) { return nil, &net.DNSError{} }
	w.raw([]byte("k"), value)
	w.start(t)
	w.drained(t)
	checks, _ := w.document(t, 1)
	require.EqualValues(t, 4, checks[0].GetFailures(), "the request knows of the failures before")
	require.Empty(t, w.deadLetters(t))
}
