package keys

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/keystest"
)

func openFrom(from *keystest.Topic) func([]string, map[kafka.TopicPartition]int64) (Tailer, error) {
	return func(_ []string, start map[kafka.TopicPartition]int64) (Tailer, error) { return from.Tail(start), nil }
}

// begin starts a node's store, which may not be loaded yet.
func begin(t testing.TB, from *keystest.Topic) *Live {
	t.Helper()
	live, err := NewLive(Deps{Offsets: from, OpenTail: openFrom(from), Registerer: prometheus.NewRegistry()})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- live.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	return live
}

func node(t testing.TB, from *keystest.Topic) *Live {
	t.Helper()
	live := begin(t, from)
	select {
	case <-live.Loaded():
	case <-time.After(time.Minute):
		t.Fatal("the keys were not loaded")
	}
	return live
}

func gateOf(t testing.TB, store Store) *Gate {
	t.Helper()
	g, err := NewGate(store, RPC, "127.0.0.1:1", "--rpc-keys")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		g.Run(ctx)
		close(done)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return g
}

// within waits until a condition holds.
func within(t testing.TB, d time.Duration, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(d); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s", d, what)
		}
	}
}

// ruleOf is the rule that refuses a request, empty for none.
func ruleOf(g *Gate, r Request) string {
	_, refused := g.Admit(r)
	if refused == nil {
		return ""
	}
	return refused.Rule
}
