package replica_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/apitest"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/replica/search"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// hang is what anything may take before it counts as hanging.
const hang = 3 * time.Minute

type node struct {
	*replica.Replica
	mu    sync.Mutex
	tails []*apitest.Tail
	stop  func()
}

// starts is where the first tail began.
func (n *node) start() map[kafka.TopicPartition]int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.tails[0].Started()
}

type testT interface {
	require.TestingT
	Helper()
}

func start(t testT, ctx context.Context, log *apitest.Log, snapshot replica.Snapshot, configure ...func(*replica.Config, *replica.Deps)) *node {
	t.Helper()
	n := &node{}
	cfg, deps := replica.Config{SnapshotPatience: 200 * time.Millisecond}, replica.Deps{
		Snapshot: snapshot, Offsets: log, Registerer: prometheus.NewRegistry(),
		OpenTail: func(topics []string, start map[kafka.TopicPartition]int64) (kafka.TailReader, error) {
			tail := log.Tail(topics, start)
			n.mu.Lock()
			defer n.mu.Unlock()
			n.tails = append(n.tails, tail)
			return tail, nil
		},
	}
	for _, c := range configure {
		c(&cfg, &deps)
	}
	var err error
	n.Replica, err = replica.New(cfg, deps)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	n.stop = func() {
		cancel()
		require.NoError(t, <-done)
	}
	return n
}

func (n *node) awaitReady(t require.TestingT) {
	require.Eventually(t, n.Ready, hang, time.Millisecond)
}

func TestFoldsTheTopicsWhenNothingWasProjected(t *testing.T) {
	log := apitest.NewLog()
	mint := log.Token(1, 10, "ONE", "The One", time.Now())
	snapshot := &apitest.Snapshot{}
	n := start(t, t.Context(), log, snapshot)
	defer n.stop()
	n.awaitReady(t)
	require.Equal(t, "ONE", n.Lookup(pubkey.MustParse(mint)).Symbol)
	require.Zero(t, snapshot.Loads(), "ClickHouse is not needed")

	second := log.Token(2, 11, "TWO", "The Other", time.Now())
	// Lookups find a token before the index has it.
	require.Eventually(t, func() bool { return n.Search(search.Query{Text: "two", IncludeToken22: true, Limit: 1}).Total == 1 }, hang, time.Millisecond)
	require.Equal(t, "TWO", n.Lookup(pubkey.MustParse(second)).Symbol)
	require.Equal(t, 2, n.Tokens())
}

// facts of a mint as the projector stores them.
func snapshotOf(events ...*eventspb.TokenEvent) *apitest.Snapshot {
	s := &apitest.Snapshot{Facts: map[pubkey.Key][]registry.Fact{}}
	for _, event := range events {
		for _, fact := range registry.FactsOfEvent(event) {
			s.Facts[fact.Mint] = append(s.Facts[fact.Mint], fact)
		}
	}
	return s
}

func TestLoadsTheSnapshotAndTailsFromTheProjectorsOffsets(t *testing.T) {
	log := apitest.NewLog()
	mint := apitest.Mint(1)
	tp, _ := log.Message(schemas.TopicTokenEvents, apitest.Address(mint), apitest.Created(mint, 10), time.Now())
	log.Message(schemas.TopicTokenEvents, apitest.Address(mint), apitest.Named(mint, 10, "OLD", "Old"), time.Now())
	log.Commit(schemas.GroupProjector, tp, 1)
	snapshot := snapshotOf(apitest.Created(mint, 10), apitest.Created(apitest.Mint(7), 3))
	snapshot.Fail(1)
	n := start(t, t.Context(), log, snapshot, func(c *replica.Config, _ *replica.Deps) { c.SnapshotPatience = time.Minute })
	defer n.stop()
	n.awaitReady(t)
	require.Equal(t, 2, snapshot.Loads(), "tried again")
	require.EqualValues(t, 1, n.start()[tp])
	require.Equal(t, "OLD", n.Lookup(pubkey.Key(mint)).Symbol)
	require.NotNil(t, n.Lookup(pubkey.Key(apitest.Mint(7))), "known from the snapshot only")
	require.Equal(t, 2, n.Tokens())
}

func TestFoldsTheTopicsWhenClickHouseStaysAway(t *testing.T) {
	log := apitest.NewLog()
	mint := log.Token(1, 10, "ONE", "The One", time.Now())
	log.CommitAll(schemas.GroupProjector, schemas.TopicTokenEvents)
	snapshot := &apitest.Snapshot{}
	snapshot.Fail(1 << 30)
	n := start(t, t.Context(), log, snapshot)
	defer n.stop()
	n.awaitReady(t)
	require.Equal(t, "ONE", n.Lookup(pubkey.MustParse(mint)).Symbol)
}

func TestWaitsForClickHouseWhenTheTopicsAreNotWhole(t *testing.T) {
	log := apitest.NewLog()
	mint := log.Token(1, 10, "ONE", "The One", time.Now())
	log.CommitAll(schemas.GroupProjector, schemas.TopicTokenEvents)
	for tp, end := range log.Tail([]string{schemas.TopicTokenEvents}, nil).Started() {
		log.SetStart(tp, end+2)
	}
	snapshot := snapshotOf(apitest.Created(apitest.Mint(1), 10))
	snapshot.Fail(2)
	n := start(t, t.Context(), log, snapshot, func(c *replica.Config, _ *replica.Deps) { c.SnapshotPatience = time.Nanosecond })
	defer n.stop()
	n.awaitReady(t)
	require.Equal(t, 3, snapshot.Loads())
	require.NotNil(t, n.Lookup(pubkey.MustParse(mint)))
}

func TestReadyOnlyWhenCaughtUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := apitest.NewLog()
		log.Token(1, 10, "ONE", "The One", time.Now())
		log.SetDown(true)
		n := start(t, t.Context(), log, nil)
		defer n.stop()
		time.Sleep(time.Hour)
		synctest.Wait()
		require.False(t, n.Ready())
		log.SetDown(false)
		n.awaitReady(t)
		require.Equal(t, 1, n.Tokens())
		log.SetDown(true)
		time.Sleep(time.Hour)
		synctest.Wait()
		require.True(t, n.Ready(), "an outage later does not matter")
		require.NotNil(t, n.Lookup(pubkey.Key(apitest.Mint(1))))
	})
}

func TestBadRecordsAreSkipped(t *testing.T) {
	log := apitest.NewLog()
	for _, topic := range []string{schemas.TopicTokenEvents, schemas.TopicEnrichments, schemas.TopicSlots} {
		log.Append(kafka.Record{Topic: topic, Key: []byte("x"), Value: []byte("\xff\xff\xff")})
	}
	log.Append(kafka.Record{Topic: schemas.TopicTokenEvents, Key: []byte("x")})
	mint := log.Token(1, 10, "ONE", "The One", time.Now())
	n := start(t, t.Context(), log, nil)
	defer n.stop()
	n.awaitReady(t)
	require.NotNil(t, n.Lookup(pubkey.MustParse(mint)))
}

func TestNotAMintIsPassedOn(t *testing.T) {
	log := apitest.NewLog()
	mint := apitest.Mint(3)
	log.Message(schemas.TopicEnrichments, apitest.Address(mint), &eventspb.Enrichment{
		Mint: mint, Slot: 1, Fact: &eventspb.Enrichment_NotAMint{NotAMint: &eventspb.NotAMint{Reason: "no account"}},
	}, time.Now())
	heard := make(chan string, 1)
	n := start(t, t.Context(), log, nil, func(_ *replica.Config, d *replica.Deps) {
		d.NotAMint = func(mint pubkey.Key) { heard <- mint.String() }
	})
	defer n.stop()
	require.Equal(t, apitest.Address(mint), <-heard)
	require.Nil(t, n.Lookup(pubkey.Key(mint)))
}

// TestFreshnessCountsLiveEventsOnly has a clock that stands still, so the live event arrives in the
// very millisecond of the start: the header that says when is cut to milliseconds.
func TestFreshnessCountsLiveEventsOnly(t *testing.T) {
	log, now := apitest.NewLog(), time.UnixMilli(1_700_000_000_000).Add(999*time.Microsecond)
	log.Token(1, 10, "OLD", "History", now.Add(-time.Hour))
	n := start(t, t.Context(), log, nil, func(_ *replica.Config, d *replica.Deps) { d.Now = func() time.Time { return now } })
	defer n.stop()
	n.awaitReady(t)
	require.Zero(t, n.Freshness().Count)
	require.Nil(t, n.Freshness().P50)
	log.Token(2, 11, "NEW", "Live", now)
	require.Eventually(t, func() bool { return n.Freshness().Count == 2 }, hang, time.Millisecond)
	require.Zero(t, *n.Freshness().P99)
}

// TestAnySplitGivesTheSameCopy: whatever part of the events the snapshot holds, in whatever order
// and however often they come.
func TestAnySplitGivesTheSameCopy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var events []*eventspb.TokenEvent
		for i := range rapid.IntRange(1, 12).Draw(t, "events") {
			mint := apitest.Mint(rapid.IntRange(0, 3).Draw(t, "mint"))
			if rapid.Bool().Draw(t, "creation") {
				events = append(events, apitest.Created(mint, uint64(i)))
			} else {
				events = append(events, apitest.Named(mint, uint64(i), rapid.StringMatching("[A-Z]{3}").Draw(t, "symbol"), "name"))
			}
		}
		want := map[pubkey.Key]*registry.State{}
		log, durable := apitest.NewLog(), []*eventspb.TokenEvent{}
		offsets := map[kafka.TopicPartition]int64{}
		for _, event := range rapid.Permutation(events).Draw(t, "order") {
			address := apitest.Address(event.GetMint())
			for _, fact := range registry.FactsOfEvent(event) {
				if want[fact.Mint] == nil {
					want[fact.Mint] = &registry.State{}
				}
				want[fact.Mint].Apply(fact)
			}
			for range rapid.IntRange(1, 2).Draw(t, "times") {
				log.Message(schemas.TopicTokenEvents, address, event, time.Now())
			}
		}
		// The snapshot has everything below the committed offsets, and by chance more.
		for _, record := range log.Records(schemas.TopicTokenEvents) {
			tp := record.TopicPartition()
			if _, ok := offsets[tp]; !ok {
				offsets[tp] = int64(rapid.IntRange(0, 8).Draw(t, "committed"))
			}
			if record.Offset < offsets[tp] || rapid.Bool().Draw(t, "early") {
				for _, event := range events {
					if apitest.Address(event.GetMint()) == string(record.Key) {
						durable = append(durable, event)
					}
				}
			}
		}
		for tp, offset := range offsets {
			log.Commit(schemas.GroupProjector, tp, offset)
		}
		n := start(t, context.Background(), log, snapshotOf(durable...))
		defer n.stop()
		n.awaitReady(t)
		members := 0
		for mint, state := range want {
			token, member := state.Token(mint)
			if !member {
				require.Nil(t, n.Lookup(mint))
				continue
			}
			members++
			require.Equal(t, &token, n.Lookup(mint))
		}
		require.Equal(t, members, n.Tokens())
		require.Equal(t, members, n.Search(search.Query{IncludeToken22: true, Limit: 100}).Total)
	})
}
