package replica_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/apitest"
	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/replica/evidence"
	"github.com/mintlake/mintlake/replica/search"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// kept is a node with evidence and a checkpoint.
type kept struct {
	*node
	evidence *evidence.Index
}

// rows are those of a node that is made after its listeners.
type rows struct{ n *kept }

func (r rows) Token(id uint32) *registry.Token { return r.n.Token(id) }
func (r rows) Thin(uint32) bool                { return false }
func (r rows) Extensions(uint32) []string      { return nil }

// startKept starts a node whose checkpoint is in folder; "" for one that is folded from the
// beginning.
func startKept(t testT, log *apitest.Log, snapshot replica.Snapshot, folder string) *kept {
	t.Helper()
	n := &kept{}
	var err error
	n.evidence, err = evidence.New(rows{n})
	require.NoError(t, err)
	n.node = start(t, context.Background(), log, snapshot, func(c *replica.Config, d *replica.Deps) {
		c.CheckpointFolder, c.SnapshotPatience = folder, time.Minute
		d.Listeners = []replica.Listener{n.evidence}
	})
	return n
}

// settled waits until the node has applied all records and has the root of them.
func (n *kept) settled(t require.TestingT, log *apitest.Log) {
	n.awaitReady(t)
	ends, err := log.EndOffsets(context.Background(), []string{schemas.TopicTokenEvents, schemas.TopicEnrichments})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		applied := n.Applied()
		for tp, end := range ends {
			if applied[tp] < end {
				return false
			}
		}
		n.Seal(0, true)
		_, known := n.Root()
		return known
	}, hang, time.Millisecond)
}

// queries ask for every class of search.
func queries() (list []search.Query) {
	for _, text := range []string{"", "a", "ab", "abc", "tok", "token", "test", "usdc", "a b", "TOKEN X", apitest.Address(registrytest.Mint(1))} {
		for _, order := range []search.Sort{search.SortRelevance, search.SortNewest, search.SortMint, search.SortVolume} {
			list = append(list, search.Query{Text: text, IncludeToken22: true, Sort: order, Limit: 50}, search.Query{Text: text, Sort: order, Limit: 3})
		}
	}
	return list
}

// requireSame compares two nodes in all that users see. Row ids may differ.
func requireSame(t require.TestingT, want, got *kept, mints []pubkey.Key) {
	require.Equal(t, want.Tokens(), got.Tokens())
	for _, mint := range mints {
		token := want.Lookup(mint)
		require.Equal(t, token, got.Lookup(mint))
		if token != nil {
			a, _ := want.ID(mint)
			b, _ := got.ID(mint)
			require.Equal(t, want.evidence.Of(a, token), got.evidence.Of(b, token))
			require.Equal(t, want.Lists(a), got.Lists(b))
		}
	}
	for _, query := range queries() {
		a, b := want.Search(query), got.Search(query)
		require.Equal(t, a.Total, b.Total, "%+v", query)
		require.Equal(t, a.Next, b.Next, "%+v", query)
		require.Len(t, b.Hits, len(a.Hits), "%+v", query)
		for i := range a.Hits {
			require.Equal(t, want.Token(a.Hits[i].ID).Mint, got.Token(b.Hits[i].ID).Mint, "%+v", query)
			hit := b.Hits[i]
			hit.ID = a.Hits[i].ID // the only thing that may differ
			require.Equal(t, a.Hits[i], hit, "%+v", query)
		}
	}
	rootWant, known := want.Root()
	require.True(t, known)
	rootGot, known := got.Root()
	require.True(t, known)
	require.Equal(t, rootWant, rootGot)
}

func say(log *apitest.Log, message registrytest.Message) {
	mint := message.Event.GetMint()
	if message.Enrichment != nil {
		mint = message.Enrichment.GetMint()
		log.Message(schemas.TopicEnrichments, apitest.Address(mint), message.Enrichment, time.Now())
		return
	}
	log.Message(schemas.TopicTokenEvents, apitest.Address(mint), message.Event, time.Now())
}

func mintsOf(messages []registrytest.Message) (mints []pubkey.Key) {
	for _, message := range messages {
		for _, fact := range message.Facts() {
			mints = append(mints, fact.Mint)
		}
	}
	return mints
}

// TestACopyFromACheckpointIsTheFoldedOne: of whatever facts, written at whatever moments while
// facts arrive, and loaded as often.
func TestACopyFromACheckpointIsTheFoldedOne(t *testing.T) {
	base := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		folder, err := os.MkdirTemp(base, "")
		require.NoError(t, err)
		messages := registrytest.Messages(60).Draw(t, "messages")
		cuts := rapid.SliceOfN(rapid.IntRange(0, len(messages)), 1, 3).Draw(t, "cuts")
		beside := rapid.Bool().Draw(t, "facts arrive meanwhile")
		log, next := apitest.NewLog(), 0
		for i, cut := range cuts {
			n := startKept(t, log, nil, folder)
			for ; next < cut; next++ {
				say(log, messages[next])
			}
			n.awaitReady(t)
			require.Equal(t, i > 0, n.Checkpoint().Loaded)
			var saying sync.WaitGroup
			if beside {
				end := min(next+10, len(messages))
				part := messages[next:end]
				next = end
				saying.Go(func() {
					for _, message := range part {
						say(log, message)
					}
				})
			}
			_, err := n.WriteCheckpoint(context.Background())
			require.NoError(t, err)
			saying.Wait()
			n.stop()
		}
		for ; next < len(messages); next++ {
			say(log, messages[next])
		}
		want, got := startKept(t, log, nil, ""), startKept(t, log, nil, folder)
		defer want.stop()
		defer got.stop()
		want.settled(t, log)
		got.settled(t, log)
		require.True(t, got.Checkpoint().Loaded)
		requireSame(t, want, got, mintsOf(messages))
		// Both go on alike.
		say(log, registrytest.Message{Event: apitest.Created(registrytest.Mint(2), 1<<40)})
		say(log, registrytest.Message{Event: apitest.Named(registrytest.Mint(2), 1<<40, "AFTER", "after")})
		want.settled(t, log)
		got.settled(t, log)
		require.Eventually(t, func() bool {
			query := search.Query{Text: "after", IncludeToken22: true, Limit: 1}
			return want.Search(query).Total == got.Search(query).Total
		}, hang, time.Millisecond)
		requireSame(t, want, got, mintsOf(messages))
	})
}

// filled returns a log of many tokens, a checkpoint of them and their mints.
func filled(t *testing.T, tokens int) (log *apitest.Log, folder string, mints []pubkey.Key) {
	log, folder = apitest.NewLog(), t.TempDir()
	for i := range tokens {
		mints = append(mints, pubkey.MustParse(log.Token(i, uint64(i+1), "SYM"+string(rune('A'+i%7)), "Name of "+string(rune('a'+i%11)), time.Now())))
	}
	n := startKept(t, log, nil, folder)
	n.awaitReady(t)
	_, err := n.WriteCheckpoint(t.Context())
	require.NoError(t, err)
	n.stop()
	return log, folder, mints
}

// TestADamagedCheckpointIsNotServed: cut or with flipped bits anywhere, it is told and the copy is
// made anew.
func TestADamagedCheckpointIsNotServed(t *testing.T) {
	log, folder, mints := filled(t, 300)
	path := filepath.Join(folder, "replica.checkpoint")
	good, err := os.ReadFile(path)
	require.NoError(t, err)
	want := startKept(t, log, nil, "")
	defer want.stop()
	want.settled(t, log)
	random := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		bad := append([]byte(nil), good...)
		if random.IntN(2) == 0 {
			bad = bad[:random.IntN(len(bad))]
		} else {
			bad[random.IntN(len(bad))] ^= 1 << random.IntN(8)
		}
		require.NoError(t, os.WriteFile(path, bad, 0o600))
		got := startKept(t, log, nil, folder)
		got.settled(t, log)
		require.False(t, got.Checkpoint().Loaded)
		require.NotEmpty(t, got.Checkpoint().Refused)
		requireSame(t, want, got, mints)
		got.stop()
	}
}

// refused starts a node over a checkpoint and returns why it is not used.
func refused(t *testing.T, log *apitest.Log, snapshot replica.Snapshot, folder string) string {
	n := startKept(t, log, snapshot, folder)
	defer n.stop()
	n.awaitReady(t)
	require.False(t, n.Checkpoint().Loaded)
	return n.Checkpoint().Refused
}

func TestACheckpointOfAnotherLogIsNotServed(t *testing.T) {
	_, folder, _ := filled(t, 20)
	longer, shorter := apitest.NewLog(), apitest.NewLog()
	for i := range 40 {
		longer.Token(100+i, 5, "OTHER", "Other", time.Now())
	}
	shorter.Token(1, 5, "OTHER", "Other", time.Now())
	require.Contains(t, refused(t, longer, nil, folder), "the log was replaced")
	require.Contains(t, refused(t, shorter, nil, folder), "the log ends at")
}

func TestACheckpointBehindWhichRecordsAreGoneIsNotServed(t *testing.T) {
	log, folder, mints := filled(t, 20)
	log.CommitAll(schemas.GroupProjector, schemas.TopicTokenEvents)
	for range 20 {
		log.Message(schemas.TopicTokenEvents, mints[0].String(), apitest.Created(mints[0].Bytes(), 900), time.Now())
	}
	for tp := range log.Tail([]string{schemas.TopicTokenEvents}, nil).Started() {
		log.SetStart(tp, 60)
	}
	require.Contains(t, refused(t, log, &apitest.Snapshot{}, folder), "the log begins at")
}

func TestACheckpointOfAnotherFormIsNotServed(t *testing.T) {
	log, folder, mints := filled(t, 20)
	// Without evidence, so with fewer parts.
	n := start(t, t.Context(), log, nil, func(c *replica.Config, _ *replica.Deps) { c.CheckpointFolder = folder })
	defer n.stop()
	n.awaitReady(t)
	require.False(t, n.Checkpoint().Loaded)
	require.Contains(t, n.Checkpoint().Refused, "its form is")
	require.NotNil(t, n.Lookup(mints[3]))
}

// TestTwoProcessesDoNotShareACheckpoint: the second one goes on without.
func TestTwoProcessesDoNotShareACheckpoint(t *testing.T) {
	log, folder, _ := filled(t, 20)
	first := startKept(t, log, nil, folder)
	defer first.stop()
	first.awaitReady(t)
	require.True(t, first.Checkpoint().Loaded)
	second := startKept(t, log, nil, folder)
	defer second.stop()
	second.awaitReady(t)
	require.False(t, second.Checkpoint().Loaded)
	require.Contains(t, second.Checkpoint().Failed, "another process")
}

// TestWhatWaitsToBeFoldedAgainIsInTheCheckpoint: a state that lost facts is completed after a
// restart too.
func TestWhatWaitsToBeFoldedAgainIsInTheCheckpoint(t *testing.T) {
	log, folder, mint := apitest.NewLog(), t.TempDir(), registrytest.Mint(1)
	key := pubkey.Key(mint)
	messages := []registrytest.Message{
		{Event: apitest.Created(mint, 10)}, {Event: apitest.Named(mint, 11, "OLD", "Old")}, {Event: apitest.Named(mint, 12, "LIE", "Lie")},
		{Enrichment: &eventspb.Enrichment{Mint: mint, Fact: &eventspb.Enrichment_Retraction{
			Retraction: &eventspb.Retraction{Version: 1, Events: true, Slots: []*eventspb.SlotRange{{From: 12, To: 12}}},
		}}},
	}
	for _, message := range messages[:3] {
		say(log, message)
	}
	snapshot := &apitest.Snapshot{}
	n := startKept(t, log, snapshot, folder)
	n.awaitReady(t)
	require.Equal(t, "LIE", n.Lookup(key).Symbol)
	say(log, messages[3])
	n.settled(t, log)
	_, err := n.WriteCheckpoint(t.Context())
	require.NoError(t, err)
	n.stop()
	require.Empty(t, n.Lookup(key).Symbol, "the projector has not stored it")

	snapshot.Set(key, registrytest.Believed(registrytest.FactsOf(messages))[key].Facts())
	log.CommitAll(schemas.GroupProjector, schemas.TopicTokenEvents, schemas.TopicEnrichments)
	again := startKept(t, log, snapshot, folder)
	defer again.stop()
	again.awaitReady(t)
	require.True(t, again.Checkpoint().Loaded)
	require.Eventually(t, func() bool { return again.Lookup(key).Symbol == "OLD" }, hang, time.Millisecond)
}

// TestACheckpointIsWrittenWhenTheCopyIsReady, and a start from one tells when it was written.
func TestACheckpointIsWrittenWhenTheCopyIsReady(t *testing.T) {
	log, folder := apitest.NewLog(), filepath.Join(t.TempDir(), "replica")
	log.Token(1, 10, "ONE", "The One", time.Now())
	n := startKept(t, log, nil, folder)
	n.awaitReady(t)
	require.Eventually(t, func() bool { return n.Checkpoint().Bytes > 0 }, hang, time.Millisecond)
	written := n.Checkpoint().WrittenAt
	n.stop()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	require.Equal(t, "lock replica.checkpoint", strings.Join(names, " "))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "replica.checkpoint.new"), []byte("half"), 0o600))
	again := startKept(t, log, nil, folder)
	defer again.stop()
	again.awaitReady(t)
	require.True(t, again.Checkpoint().Loaded)
	require.True(t, written.Equal(again.Checkpoint().WrittenAt))
	require.NoFileExists(t, filepath.Join(folder, "replica.checkpoint.new"))
	again.mu.Lock()
	defer again.mu.Unlock()
	require.EqualValues(t, 2, again.tails[len(again.tails)-1].Started()[tpOf(log)], "nothing is read twice")
}

// tpOf is the partition of the only token's events.
func tpOf(log *apitest.Log) kafka.TopicPartition {
	record := log.Records(schemas.TopicTokenEvents)[0]
	return record.TopicPartition()
}
