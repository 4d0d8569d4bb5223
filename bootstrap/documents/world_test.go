package documents_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/bootstrap/documents"
	"github.com/mintlake/mintlake/enrich"
	"github.com/mintlake/mintlake/internal/kafka"
)

// walkAll walks over all documents of the internet with a real Asker and a real Enricher, which
// fetches with fetcher, until all have come.
func walkAll(t *testing.T, net *internet, fetcher enrich.Fetcher, within time.Duration) *log {
	t.Helper()
	l := newLog()
	asker, err := documents.New(documents.Config{PerMinute: 600_000, StateFile: filepath.Join(t.TempDir(), "documents.json")}, documents.Deps{
		Source: net, Producer: l, Waiting: l.waiting, Logger: slog.New(slog.DiscardHandler),
		OpenTail: func(context.Context) (kafka.TailReader, error) { return answersTail{l}, nil },
	})
	require.NoError(t, err)
	enricher, err := enrich.New(enrich.Config{OffchainEnabled: true, Sockets: 1024, BytesPerSecond: 1 << 30}, enrich.Deps{Consumer: l, Producer: l, Fetcher: fetcher})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	var group sync.WaitGroup
	group.Go(func() { _ = asker.Run(ctx) })
	group.Go(func() { _ = enricher.Run(ctx) })
	for ctx.Err() == nil && !net.done() {
		time.Sleep(time.Second)
	}
	time.Sleep(20 * time.Second) // what remains is told
	cancel()
	group.Wait()
	return l
}

func (n *internet) done() bool {
	for _, s := range n.order {
		s.mu.Lock()
		missing := s.docs - s.answered
		s.mu.Unlock()
		if missing > 0 {
			return false
		}
	}
	return true
}

// hold holds each host to what it bears, and prints the table.
func (n *internet) hold(t *testing.T, start time.Time, found time.Duration) {
	t.Helper()
	var table strings.Builder
	fmt.Fprintf(&table, "%-14s %9s %8s %9s %8s %8s %8s %8s\n", "host", "documents", "bears/s", "took", "worked", "a minute", "asked", "refused")
	for _, s := range n.order {
		fmt.Fprintf(&table, "%-14s %9d %8.2f %9s %7.0f%% %7.0f%% %8d %8d\n", s.name, s.docs, s.bears, s.last.Sub(start).Round(time.Second), 100*s.worked(start, found), 100*s.most(), s.asked, s.refused)
	}
	t.Log("\n" + table.String())
	for _, s := range n.order {
		require.Equal(t, s.docs, s.answered, s.name)
		require.GreaterOrEqual(t, s.worked(start, found), 0.8, s.name)
		require.LessOrEqual(t, s.most(), 1.05, s.name)
		underWay := int(2 * s.bears * s.latency.Seconds()) // when it refuses
		require.LessOrEqual(t, s.refused, 20+s.docs/50+underWay, s.name)
	}
}

// TestEachHostWorksAtItsOwnPace: 200,000 documents, of which one host has 40 % and ten others
// another 40 %; hosts that bear from a request in two seconds to 200 a second, that refuse, with
// and without Retry-After, or become slow.
func TestEachHostWorksAtItsOwnPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net, start := newInternet(200_000, 289, 100, 4, 0.5, 200), time.Now()
		l := walkAll(t, net, net, 6*time.Hour)
		net.hold(t, start, time.Minute)
		require.Zero(t, l.letters, "no document fails because its host is busy")
		require.Greater(t, l.told[0].GetLeft(), uint64(150_000))
		require.Positive(t, l.told[len(l.told)/2].GetLeftSeconds())
		require.Zero(t, l.told[len(l.told)-1].GetLeft())
	})
}
