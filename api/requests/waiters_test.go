package requests

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

func TestAnswersSayWhenToAskAgain(t *testing.T) {
	now := time.Unix(1_000, 0)
	q := newQueue(t, Config{PerClient: 1, QueueSize: 2}, &fakeProducer{}, &now)
	require.Equal(t, Answer{Queued, time.Second}, q.Ask("c", named("mint"), batch))
	require.Equal(t, Answer{Capped, 620 * time.Second}, q.Ask("c", named("other"), batch))
	now = now.Add(40 * time.Second)
	require.Equal(t, Answer{Duplicate, 40 * time.Second}, q.Ask("c", named("mint"), batch), "what has taken 40 s may take as long again")
	now = now.Add(9 * time.Minute)
	require.Equal(t, Answer{Duplicate, 20 * time.Second}, q.Ask("c", named("mint"), batch), "but then it is asked for again")

	q.NotAMint(named("wallet"))
	require.Equal(t, Answer{NotAMint, time.Hour}, q.Ask("c", named("wallet"), batch))
	q.Failed(named("mint"))
	require.Equal(t, Answer{Failed, 10 * time.Minute}, q.Ask("d", named("mint"), batch))
	answer, known := q.Known(named("mint"))
	require.True(t, known)
	require.Equal(t, Failed, answer.Outcome)
	_, known = q.Known(named("stranger"))
	require.False(t, known)
	now = now.Add(10 * time.Minute)
	require.Equal(t, Queued, q.Ask("d", named("mint"), batch).Outcome, "asked for again in time")
	require.Equal(t, Answer{Dropped, time.Second}, q.Ask("e", named("third"), batch), "two wait for Kafka already")
}

func TestWaitEndsWhenAllIsSettled(t *testing.T) {
	now := time.Unix(1_000, 0)
	q := newQueue(t, Config{}, &fakeProducer{}, &now)
	var member atomic.Bool // a is one
	looks := make(chan string, 100)
	pending := func(mint pubkey.Key) bool {
		looks <- strings.TrimRight(string(mint[:]), "\x00")
		_, known := q.Known(mint)
		return !known && (mint != named("a") || !member.Load())
	}
	done := make(chan bool, 1)
	go func() { done <- q.Wait(t.Context(), "c", []pubkey.Key{named("a"), named("b"), named("c")}, pending) }()
	for range 3 {
		<-looks
	}
	member.Store(true) // before the change is told, as the copy does
	q.Apply([]replica.Change{{Row: replica.Row{Mint: named("x"), Token: &registry.Token{}}}, {Row: replica.Row{Mint: named("a"), Token: &registry.Token{}}}, {Row: replica.Row{Mint: named("b")}}})
	for _, want := range []string{"a", "b", "c"} {
		require.Equal(t, want, <-looks)
	}
	q.NotAMint(named("b"))
	for _, want := range []string{"b", "c"} {
		require.Equal(t, want, <-looks, "what is settled is not looked at again")
	}
	q.Failed(named("c"))
	require.True(t, <-done)
	require.Empty(t, q.waiters.byMint)
	require.Zero(t, q.waiters.clients.Len())
	require.Zero(t, q.waiters.count)
}

func TestWaitsAreCounted(t *testing.T) {
	now := time.Unix(1_000, 0)
	q := newQueue(t, Config{}, &fakeProducer{}, &now)
	entered, done := make(chan struct{}, 10), make(chan bool, 10)
	wait := func(client string) {
		done <- q.Wait(t.Context(), client, []pubkey.Key{named("a")}, func(pubkey.Key) bool {
			entered <- struct{}{}
			return true
		})
	}
	for range maxWaitingPerClient {
		go wait("greedy")
		<-entered
	}
	require.False(t, q.Wait(t.Context(), "greedy", []pubkey.Key{named("a")}, nil), "one too many is answered at once")
	go wait("modest")
	<-entered
	q.EndWaits()
	q.EndWaits()
	for range maxWaitingPerClient + 1 {
		require.True(t, <-done)
	}
	require.True(t, q.Wait(t.Context(), "late", []pubkey.Key{named("a")}, func(pubkey.Key) bool { return true }), "a node that stops makes nobody wait")
}

// oneTail gives its records once and then ends as a tail does that fails.
type oneTail struct{ records []kafka.Record }

func (t *oneTail) FetchBatch(context.Context, int, time.Duration) ([]kafka.Record, error) {
	if t.records == nil {
		return nil, context.Canceled
	}
	records := t.records
	t.records = nil
	return records, nil
}
func (*oneTail) Close() {}

func TestOnlyEnrichmentsLettersAreFailures(t *testing.T) {
	request, err := proto.Marshal(&eventspb.EnrichmentRequest{Mint: make([]byte, 32)})
	require.NoError(t, err)
	letter := func(topic string, value []byte) kafka.Record {
		value, err := proto.Marshal(&eventspb.DeadLetter{Topic: topic, Value: value})
		require.NoError(t, err)
		return kafka.Record{Topic: schemas.TopicDeadLetters, Value: value}
	}
	tail := &oneTail{records: []kafka.Record{
		letter(schemas.TopicTokenEvents, request), letter(schemas.TopicEnrichmentRequests, []byte("\xff")), letter(schemas.TopicEnrichmentRequests, nil),
		{Value: []byte("\xff")}, letter(schemas.TopicEnrichmentRequests, request),
	}}
	var failed []string
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f := &Failures{Open: func(context.Context, []string) (kafka.TailReader, error) { return tail, nil }, Failed: func(mint pubkey.Key) {
		failed = append(failed, mint.String())
		cancel() // it is about the last record
	}}
	require.NoError(t, f.Run(ctx))
	require.Equal(t, []string{"11111111111111111111111111111111"}, failed)
}
