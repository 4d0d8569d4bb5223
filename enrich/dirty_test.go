package enrich

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/tokenaccount"
)

// events is a topic of token events with one partition.
type events struct {
	mu        sync.Mutex
	records   []kafka.Record
	next      int
	committed int64
}

func (e *events) add(t *testing.T, mint pubkey.Key, slot uint64, kind schemas.Kind, at time.Time) *eventspb.TokenEvent {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	event := &eventspb.TokenEvent{Mint: mint[:], Position: &eventspb.Position{Slot: slot}, Signature: fmt.Appendf(nil, "%08d", len(e.records))}
	switch kind {
	case schemas.KindMintTo:
		event.Payload = &eventspb.TokenEvent_MintTo{MintTo: &eventspb.AmountChange{Amount: 5}}
	case schemas.KindMetadataSet:
		event.Payload = &eventspb.TokenEvent_MetadataSet{MetadataSet: &eventspb.MetadataSet{}}
	case schemas.KindCloseMint:
		event.Payload = &eventspb.TokenEvent_CloseMint{CloseMint: &eventspb.CloseMint{}}
	case schemas.KindSighting:
		event.Payload = &eventspb.TokenEvent_Sighting{Sighting: &eventspb.Sighting{}}
	default:
		t.Fatalf("no event of kind %s here", kind)
	}
	e.records = append(e.records, kafka.Record{
		Topic: schemas.TopicTokenEvents, Offset: int64(len(e.records)), Value: marshalled(t, event), Time: at,
		Headers: []kafka.Header{{Key: schemas.HeaderType, Value: []byte("token_event." + string(kind))}},
	})
	return event
}

func (e *events) FetchBatch(ctx context.Context, limit int, _ time.Duration) ([]kafka.Record, error) {
	for {
		e.mu.Lock()
		batch := e.records[e.next:min(len(e.records), e.next+limit)]
		e.next += len(batch)
		e.mu.Unlock()
		if len(batch) > 0 {
			return batch, nil
		}
		if err := pause.For(ctx, time.Millisecond); err != nil {
			return nil, err
		}
	}
}

func (e *events) Commit(ctx context.Context, records []kafka.Record) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, record := range records {
		e.committed = record.Offset + 1
	}
	return ctx.Err()
}

func (e *events) lag() int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return int64(len(e.records)) - e.committed
}

type rereadWorld struct {
	*events
	out *broker
	rpc *ledger
}

func startRereads(t *testing.T, cfg RereadConfig) (*rereadWorld, *Rereader, func() error) {
	t.Helper()
	return startRereadsBy(t, cfg, time.Now)
}

// startRereadsBy has the due times by a clock of the test's own.
func startRereadsBy(t *testing.T, cfg RereadConfig, clock func() time.Time) (*rereadWorld, *Rereader, func() error) {
	t.Helper()
	w := &rereadWorld{events: &events{}, out: newBroker(), rpc: newLedger()}
	cfg.Quiet = cmp.Or(cfg.Quiet, 20*time.Millisecond)
	cfg.batchWait = cmp.Or(cfg.batchWait, 5*time.Millisecond)
	cfg.CallsPerSecond = cmp.Or(cfg.CallsPerSecond, 1000)
	cfg.maxRetryDelay = cmp.Or(cfg.maxRetryDelay, 5*time.Millisecond)
	cfg.commitInterval = cmp.Or(cfg.commitInterval, time.Millisecond)
	cfg.grace = cmp.Or(cfg.grace, hang)
	r, err := NewRereader(cfg, RereadDeps{Consumer: w.events, Producer: w.out, RPC: w.rpc, Registerer: prometheus.NewRegistry(), Clock: clock})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	stop := sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() { _ = stop() })
	return w, r, stop
}

func (w *rereadWorld) settled(t *testing.T, r *Rereader) {
	t.Helper()
	require.Eventually(t, func() bool { return w.lag() == 0 && r.dirty.size() == 0 }, hang, time.Millisecond)
}

// A changed mint is read once it is quiet, and what was read covers the changes of its supply.
func TestChangedMintsAreReadAndCoverTheirDeltas(t *testing.T) {
	var passed atomic.Int64
	start := time.Now()
	w, r, stop := startRereadsBy(t, RereadConfig{Quiet: time.Second}, func() time.Time { return start.Add(time.Duration(passed.Load())) })
	var state registry.State
	for i := range 30 {
		mint := mintKey(i)
		w.rpc.putMint(mint, "Lake", "https://u.test/x")
		for range 4 {
			event := w.add(t, mint, 990, schemas.KindMintTo, time.Now())
			for _, fact := range registry.FactsOfEvent(event) {
				if i == 0 {
					state.Apply(fact)
				}
			}
		}
	}
	require.Eventually(t, func() bool { return w.lag() == 0 }, hang, time.Millisecond)
	passed.Store(int64(2 * time.Second))
	w.settled(t, r)
	require.Eventually(t, func() bool { return len(w.out.facts(t)) >= 60 }, hang, time.Millisecond)
	require.NoError(t, stop())
	facts := w.out.facts(t)
	require.Len(t, facts, 60, "a mint account and a Metaplex account each, once")
	require.LessOrEqual(t, w.rpc.callCount(), 4, "in batches")
	held := len(state.Facts())
	for _, fact := range facts {
		require.EqualValues(t, 1000, fact.GetSlot())
		if first := mintKey(0); string(fact.GetMint()) == string(first[:]) {
			for _, f := range registry.FactsOfEnrichment(fact) {
				state.Apply(f)
			}
		}
	}
	require.Greater(t, held, 3)
	for _, fact := range state.Facts() {
		require.NotEqual(t, registry.RegisterSupplyDelta, fact.Register, "no delta is left")
	}
	for _, record := range w.out.records(schemas.TopicEnrichments) {
		require.Len(t, record.Headers, 4)
	}
}

// TestReadsOfLongAccountsKeepToTheRate: each long account costs a call of its own, and anyone can
// make accounts long.
func TestReadsOfLongAccountsKeepToTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r, stop := startRereads(t, RereadConfig{CallsPerSecond: 2, batchWait: 10 * time.Second})
		for i := range 5 {
			mint := mintKey(i)
			w.rpc.putMint(mint, "Lake", "https://u.test/x")
			address, _ := tokenaccount.MetaplexAddress(mint)
			long := w.rpc.accounts[address]
			long.Data = append(long.Data, make([]byte, firstRead)...)
			w.add(t, mint, 990, schemas.KindMintTo, time.Now())
		}
		for w.rpc.callCount() == 0 {
			time.Sleep(time.Millisecond)
		}
		began := time.Now()
		w.settled(t, r)
		require.Eventually(t, func() bool { return len(w.out.facts(t)) == 10 }, hang, time.Millisecond)
		require.Equal(t, 6, w.rpc.callCount(), "one for all mints, and one for each")
		require.GreaterOrEqual(t, time.Since(began), 5*time.Second/2-10*time.Millisecond)
		require.NoError(t, stop())
	})
}

func TestWhatChangesNoAccountIsNotRead(t *testing.T) {
	// a mint is closed long before it is due
	w, r, _ := startRereads(t, RereadConfig{Quiet: time.Hour})
	w.add(t, mintKey(1), 990, schemas.KindSighting, time.Now())
	w.add(t, mintKey(2), 990, schemas.KindMintTo, time.Now().Add(-2*time.Hour)) // long ago
	w.add(t, mintKey(3), 990, schemas.KindMintTo, time.Now())
	w.add(t, mintKey(3), 990, schemas.KindCloseMint, time.Now())
	w.settled(t, r)
	require.Zero(t, w.rpc.callCount())
	require.Equal(t, 1, counted(t, r.metrics.skipped.WithLabelValues(rereadOld)))
}

// A server that is away delays, a server that is behind is asked again, and a mint that is gone
// says nothing.
func TestTroubleOfTheServerLosesNothing(t *testing.T) {
	w, r, _ := startRereads(t, RereadConfig{})
	failures := 3
	w.rpc.fail = func(keys []pubkey.Key) error {
		if failures--; failures >= 0 {
			return errAway
		}
		for _, key := range keys {
			// whether the other mint is read in the same call or not
			if key == mintKey(1) {
				w.rpc.slot += 4
			}
		}
		return nil
	}
	w.rpc.slot = 1001
	w.rpc.putMint(mintKey(1), "", "")
	w.add(t, mintKey(1), 1010, schemas.KindMintTo, time.Now())
	w.add(t, mintKey(2), 1001, schemas.KindMetadataSet, time.Now())
	require.Eventually(t, func() bool {
		return len(w.out.facts(t)) == 1 && counted(t, r.metrics.mints.WithLabelValues(rereadAbsent)) == 1
	}, hang, time.Millisecond)
	require.GreaterOrEqual(t, w.out.facts(t)[0].GetSlot(), uint64(1010))
	require.Equal(t, 2, counted(t, r.metrics.mints.WithLabelValues(rereadBehind)))
}

func TestARefusalIsCountedAndNothingElse(t *testing.T) {
	w, r, stop := startRereads(t, RereadConfig{})
	w.rpc.fail = func([]pubkey.Key) error { return errRefused }
	w.add(t, mintKey(1), 990, schemas.KindMintTo, time.Now())
	w.settled(t, r)
	require.Eventually(t, func() bool { return counted(t, r.metrics.mints.WithLabelValues(rereadRefused)) == 1 }, hang, time.Millisecond)
	require.NoError(t, stop())
}

// When a mint becomes due, by a clock of the test's own.
func TestWhenAMintIsDue(t *testing.T) {
	cfg := RereadConfig{maxDeltas: 10, maxMints: 3}.withDefaults()
	s := newDirtySet(cfg)
	start := time.Unix(1000, 0)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	require.True(t, s.mark(mintKey(1), 5, true, at(0)))
	require.Empty(t, s.take(50, time.Second, at(9)))
	require.Empty(t, s.take(50, time.Second, at(10)), "others may share the call")
	require.Len(t, s.take(50, time.Second, at(11)), 1, "quiet")

	for second := range 60 {
		s.mark(mintKey(1), 5, second%10 == 0, at(second))
		require.Empty(t, s.take(50, time.Second, at(second)))
	}
	taken := s.take(50, time.Second, at(61))
	require.Len(t, taken, 1, "changes all the time")
	require.Equal(t, dueMaxWait, taken[0].trigger)

	for range 10 {
		require.Empty(t, s.take(50, time.Second, at(100)))
		s.mark(mintKey(2), 7, true, at(100))
	}
	taken = s.take(50, time.Second, at(100))
	require.Len(t, taken, 1, "at once")
	require.Equal(t, dueDeltas, taken[0].trigger)
	s.mark(mintKey(2), 8, true, at(101))
	taken[0].behind = 1
	s.putBack(taken[0], at(102))
	require.Empty(t, s.take(50, time.Second, at(102)), "no hurry while the server is behind")
	taken = s.take(50, time.Second, at(120))
	require.EqualValues(t, 8, taken[0].slot)
	require.Equal(t, 11, taken[0].deltas)

	for i := range 3 {
		require.True(t, s.mark(mintKey(i), 1, false, at(200)))
	}
	require.False(t, s.mark(mintKey(9), 1, false, at(200)), "full")
	require.True(t, s.mark(mintKey(0), 1, false, at(200)))
	require.Len(t, s.take(2, time.Second, at(210)), 2, "a full call does not wait")
}

func TestWrongRereadSettingsAreRefused(t *testing.T) {
	_, err := NewRereader(RereadConfig{Quiet: -1, batchMints: 51}, RereadDeps{})
	for _, text := range []string{"quiet", "batch_mints", "a consumer, a producer and an RPC client"} {
		require.ErrorContains(t, err, text)
	}
}
