package logos

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// failing writes the check of a document that could not be read.
func (w *world) failing(t testing.TB, name string, slot uint64, uri string, failures uint32, next time.Time) {
	t.Helper()
	mint := w.mint(name)
	w.write(t, &eventspb.Enrichment{Mint: mint[:], Slot: slot, Fact: &eventspb.Enrichment_DocumentCheck{DocumentCheck: &eventspb.DocumentCheck{
		Uri: []byte(uri), Failures: failures, ErrorClass: "http_status", HttpStatus: 404, NextCheckAtMs: next.UnixMilli(),
	}}})
}

func (w *world) asked(t testing.TB) (texts []string) {
	t.Helper()
	w.topic.mu.Lock()
	defer w.topic.mu.Unlock()
	for _, record := range w.requests {
		request := &eventspb.EnrichmentRequest{}
		require.NoError(t, proto.Unmarshal(record.Value, request))
		require.Equal(t, eventspb.RequestReason_REQUEST_REASON_DOCUMENT_RETRY, request.GetReason())
		texts = append(texts, fmt.Sprintf("%d %s %d", request.GetSlot(), request.GetUri(), request.GetFailures()))
	}
	return texts
}

// TestBrokenDocumentsAreAskedForAgain when they are due, also after a restart, and also if no logo
// is checked.
func TestBrokenDocumentsAreAskedForAgain(t *testing.T) {
	w := newWorld()
	at := w.now()
	w.failing(t, "a", 5, "u", 1, at.Add(time.Hour))
	w.failing(t, "changed", 5, "u", 7, at.Add(time.Hour))
	w.failing(t, "changed", 6, "v", 1, at.Add(time.Hour))
	w.failing(t, "changed", 5, "u", 8, at) // late
	w.failing(t, "within a slot", 9, "u", 7, at.Add(time.Hour))
	w.failing(t, "within a slot", 9, "w", 1, at.Add(time.Hour))
	w.failing(t, "read", 5, "u", 1, at.Add(time.Hour))
	w.document(t, "read", "https://a.test/1") // of an earlier slot
	mint := w.mint("read")
	w.write(t, &eventspb.Enrichment{Mint: mint[:], Slot: 5, Fact: &eventspb.Enrichment_Offchain{Offchain: &eventspb.OffchainMetadata{Uri: []byte("u")}}})
	lied := w.mint("taken back")
	w.failing(t, "taken back", 1<<60, "lie", 3, at.Add(time.Hour))
	w.write(t, &eventspb.Enrichment{Mint: lied[:], Fact: &eventspb.Enrichment_Retraction{Retraction: &eventspb.Retraction{
		Slots: []*eventspb.SlotRange{{From: 1 << 60, To: 1 << 60}},
	}}})
	w.failing(t, "taken back", 6, "true", 1, at.Add(time.Hour))
	w.failing(t, "never", 5, "u", 1, at.Add(10*time.Hour))
	for life := range 2 {
		m, err := New(w.cfg, Deps{
			Offsets: w.topic, OpenTail: func() (kafka.TailReader, error) { return &reader{t: w.topic}, nil }, Producer: w.topic,
			Registerer: prometheus.NewRegistry(), Now: w.now,
		})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- m.Run(ctx) }()
		require.Eventually(t, func() bool { return m.documents.size() == 5 }, 30*time.Second, time.Millisecond)
		if life == 1 {
			w.pass(2 * time.Hour)
			m.awaken()
			require.Eventually(t, func() bool { return len(w.asked(t)) >= 4 }, 30*time.Second, time.Millisecond)
		}
		cancel()
		require.NoError(t, <-done)
	}
	require.ElementsMatch(t, []string{"5 u 1", "6 true 1", "6 v 1", "9 w 1"}, w.asked(t))
	require.Empty(t, w.checks(t, "read"), "no logo is checked without a loader")
	for _, record := range w.requests {
		require.Equal(t, schemas.TopicEnrichmentRequests, record.Topic)
		require.Len(t, string(record.Key), 44)
	}
}

// TestDocumentsAreAskedForAtABoundedRate: a hundred thousand that are due at once come in turn, and
// a request that nobody answers is made again.
func TestDocumentsAreAskedForAtABoundedRate(t *testing.T) {
	d, now := newDocuments(), time.Unix(1e9, 0)
	const tokens = 100_000
	for i := range tokens {
		w := newWorld()
		mint := w.mint(fmt.Sprint(i))
		d.apply(&eventspb.Enrichment{Mint: mint[:], Fact: &eventspb.Enrichment_DocumentCheck{DocumentCheck: &eventspb.DocumentCheck{Uri: []byte("u"), Failures: 1}}})
	}
	seen := 0
	for range tokens / documentsASecond {
		requests, wait := d.take(now)
		require.LessOrEqual(t, len(requests), documentsASecond)
		require.Equal(t, time.Second, wait)
		again, _ := d.take(now.Add(time.Second - 1))
		require.Empty(t, again)
		seen += len(requests)
		now = now.Add(wait)
	}
	require.Equal(t, tokens, seen)
	none, _ := d.take(now)
	require.Empty(t, none)
	again, _ := d.take(now.Add(documentPatience))
	require.Len(t, again, documentsASecond)
}
