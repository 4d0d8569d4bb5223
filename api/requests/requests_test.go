package requests

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/mintlake/mintlake/access/limits"
	"github.com/mintlake/mintlake/internal/kafka"
	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

type fakeProducer struct {
	mu      sync.Mutex
	records []kafka.Record
	fail    func(ctx context.Context) error
}

func (p *fakeProducer) Produce(ctx context.Context, records ...kafka.Record) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fail != nil {
		if err := p.fail(ctx); err != nil {
			return err
		}
	}
	p.records = append(p.records, records...)
	return nil
}

func (p *fakeProducer) mints() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var mints []string
	for _, record := range p.records {
		mints = append(mints, string(record.Key))
	}
	return mints
}

func newQueue(t *testing.T, cfg Config, producer kafka.RecordProducer, now *time.Time) *Queue {
	t.Helper()
	q, err := New(cfg, Deps{Producer: producer, Registerer: prometheus.NewRegistry(), Now: func() time.Time { return *now }})
	require.NoError(t, err)
	return q
}

func run(t *testing.T, q *Queue) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- q.Run(ctx) }()
	return func() {
		cancel()
		require.NoError(t, <-done)
	}
}

const batch = eventspb.RequestReason_REQUEST_REASON_API_BATCH

func TestAskOnceAndInForm(t *testing.T) {
	now, producer := time.UnixMilli(1_700_000_000_123), &fakeProducer{}
	q := newQueue(t, Config{}, producer, &now)
	require.Equal(t, Queued, q.Ask("c", named("mint"), batch).Outcome)
	require.Equal(t, Duplicate, q.Ask("other client", named("mint"), batch).Outcome)
	run(t, q)()
	require.Equal(t, []string{named("mint").String()}, producer.mints())
	record := producer.records[0]
	require.Equal(t, schemas.TopicEnrichmentRequests, record.Topic)
	require.Equal(t, []kafka.Header{
		{Key: "type", Value: []byte("enrichment_request")}, {Key: "schema-version", Value: []byte("1")}, {Key: "received-at", Value: []byte("1700000000123")},
	}, record.Headers)
	var message eventspb.EnrichmentRequest
	require.NoError(t, proto.Unmarshal(record.Value, &message))
	require.Equal(t, named("mint").Bytes(), message.GetMint())
	require.Equal(t, batch, message.GetReason())

	now = now.Add(10 * time.Minute)
	require.Equal(t, Queued, q.Ask("c", named("mint"), batch).Outcome, "asked again after the TTL")
}

// TestDocumentsAreAskedForWithinBounds: once in a minute for each mint, also one that was given up,
// and each request counts against its client.
func TestDocumentsAreAskedForWithinBounds(t *testing.T) {
	now, producer := time.UnixMilli(1_700_000_000_123), &fakeProducer{}
	q := newQueue(t, Config{PerClient: 3}, producer, &now)
	ask := func(client, mint string, want int) {
		t.Helper()
		for range 10 {
			q.AskDocument(client, named(mint), batch)
		}
		require.Len(t, q.waiting, want)
	}
	ask("c", "mint", 1)
	ask("other client", "mint", 1)
	q.Failed(named("failed"))
	ask("c", "failed", 2)
	now = now.Add(time.Minute - 1)
	ask("c", "mint", 2)
	now = now.Add(1)
	ask("c", "mint", 3)
	ask("c", "capped", 3)
	ask("other client", "capped", 4)
	require.Equal(t, Duplicate, q.Ask("c", named("mint"), batch).Outcome)
	require.Equal(t, Queued, q.Ask("c", named("unknown"), batch).Outcome, "mints that are not known have an allowance of their own")
	run(t, q)()
	require.Len(t, producer.mints(), 5)
}

func TestNotAMintIsNotAsked(t *testing.T) {
	now := time.Unix(1_000, 0)
	q := newQueue(t, Config{}, &fakeProducer{}, &now)
	q.NotAMint(named("wallet"))
	require.Equal(t, NotAMint, q.Ask("c", named("wallet"), batch).Outcome)
	now = now.Add(time.Hour)
	require.Equal(t, Queued, q.Ask("c", named("wallet"), batch).Outcome)
}

func TestClientIsCapped(t *testing.T) {
	now := time.Unix(1_000, 0)
	q := newQueue(t, Config{PerClient: 3}, &fakeProducer{}, &now)
	for i := range 3 {
		require.Equal(t, Queued, q.Ask("greedy", named(fmt.Sprint(i)), batch).Outcome)
	}
	require.Equal(t, Capped, q.Ask("greedy", named("3"), batch).Outcome)
	require.Equal(t, Queued, q.Ask("modest", named("3"), batch).Outcome, "what one client may not ask, another may")
	now = now.Add(11 * time.Minute)
	require.Equal(t, Queued, q.Ask("greedy", named("4"), batch).Outcome)
}

// TestNetworksAreCapped: the clients of one IPv6 /48 are no 65,536 clients.
func TestNetworksAreCapped(t *testing.T) {
	now := time.Unix(1_000, 0)
	q := newQueue(t, Config{PerClient: 3, Networks: limits.Networks{Factor48: 2}}, &fakeProducer{}, &now)
	queued := 0
	for i := range 20 {
		if q.Ask(fmt.Sprintf("2001:db8:1:%x::/64", i), named(fmt.Sprint(i)), batch).Outcome == Queued {
			queued++
		}
	}
	require.Equal(t, 6, queued)
	require.Equal(t, Queued, q.Ask("2001:db8:2::/64", named("x"), batch).Outcome)
}

// TestClientIsCappedWhereverTheWindowBegins: no ten minutes hold more than the bound, also when
// they begin in the middle.
func TestClientIsCappedWhereverTheWindowBegins(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		now := time.Unix(1_000, 0)
		q := newQueue(t, Config{PerClient: 5}, &fakeProducer{}, &now)
		var queued []time.Time
		for i := range 60 {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(3*time.Minute)).Draw(rt, "pause")))
			answer := q.Ask("c", named(fmt.Sprint(i)), batch)
			if answer.Outcome == Queued {
				queued = append(queued, now)
			} else {
				require.Equal(rt, Capped, answer.Outcome)
				require.LessOrEqual(rt, answer.RetryAfter, 11*time.Minute)
			}
		}
		for i := 5; i < len(queued); i++ {
			require.GreaterOrEqual(rt, queued[i].Sub(queued[i-5]), 10*time.Minute)
		}
		now = now.Add(11 * time.Minute)
		require.Equal(rt, Queued, q.Ask("c", named("last"), batch).Outcome)
	})
}

func TestOutageNeitherBlocksNorForgets(t *testing.T) {
	now, down := time.Unix(1_000, 0), make(chan struct{})
	producer := &fakeProducer{fail: func(ctx context.Context) error {
		select {
		case <-down:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}
	q := newQueue(t, Config{QueueSize: 10}, producer, &now)
	stop := run(t, q)
	outcomes := map[Outcome]int{}
	for i := range 1_000 {
		outcomes[q.Ask("c", named(fmt.Sprint(i)), batch).Outcome]++
	}
	require.Positive(t, outcomes[Dropped])
	require.Positive(t, outcomes[Queued])
	close(down)
	require.Eventually(t, func() bool { return len(producer.mints()) == outcomes[Queued] }, 3*time.Minute, time.Millisecond)
	require.Equal(t, Queued, q.Ask("c", named("999"), batch).Outcome, "a dropped request may be asked again at once")
	stop()
}

func TestRefusedRequestMayBeAskedAgain(t *testing.T) {
	now := time.Unix(1_000, 0)
	q := newQueue(t, Config{}, &fakeProducer{fail: func(context.Context) error { return errors.New("too large") }}, &now)
	require.Equal(t, Queued, q.Ask("c", named("mint"), batch).Outcome)
	run(t, q)()
	require.Equal(t, Queued, q.Ask("c", named("mint"), batch).Outcome)
}

// named is the key of a mint with a name.
func named(name string) (key pubkey.Key) {
	copy(key[:], name)
	return key
}
