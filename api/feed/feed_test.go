package feed

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mintlake/mintlake/api/apitest"
	"github.com/mintlake/mintlake/api/search"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
)

// node is an API node as the feed sees it: a copy that reads the log, and its feed.
type node struct {
	*Feed
	log     *apitest.Log
	applied Offsets
	ready   bool
	ids     map[string]uint32
	mints   []string
}

func newNode(t require.TestingT, log *apitest.Log, cfg Config) *node {
	n := &node{log: log, applied: Offsets{}, ids: map[string]uint32{}}
	starts, err := log.StartOffsets(context.Background(), topics[:])
	require.NoError(t, err)
	maps.Copy(n.applied, starts)
	n.Feed, err = New(cfg, Deps{
		Applied: func() Offsets { return maps.Clone(n.applied) }, Ready: func() bool { return n.ready }, Log: log,
		OpenTail: func(topics []string, start Offsets) (Tailer, error) { return log.Tail(topics, start), nil },
	})
	require.NoError(t, err)
	return n
}

// step applies at most limit records, in batches as the copy does: first the changes, then how far it is.
func (n *node) step(t require.TestingT, limit int) {
	ends, err := n.log.EndOffsets(context.Background(), topics[:])
	require.NoError(t, err)
	if !behind(n.applied, ends) {
		return
	}
	records, err := n.log.Tail(topics[:], n.applied).FetchBatch(context.Background(), limit, 0)
	require.NoError(t, err)
	var changes []search.Change
	for _, record := range records {
		changes = append(changes, n.change(string(record.Key)))
	}
	n.Apply(changes)
	for _, record := range records {
		n.applied[kafka.TopicPartition{Topic: record.Topic, Partition: record.Partition}] = record.Offset + 1
	}
}

func (n *node) catchUp(t require.TestingT) {
	for range 10 {
		n.step(t, 1_000)
	}
	n.ready = true
	n.mark()
}

func (n *node) change(mint string) search.Change {
	id, known := n.ids[mint]
	if !known {
		id = uint32(len(n.mints))
		n.ids[mint], n.mints = id, append(n.mints, mint)
	}
	return search.Change{ID: id, Mint: mint, Token: &registry.Token{Mint: mint}}
}

// reader is a client: what it has seen, and the last id it was given.
type reader struct {
	*Reader
	node   *node
	cursor string
	seen   map[string]Kind
	resets []Reset
}

func (n *node) open(t require.TestingT, cursor string) *reader {
	r, err := n.Open("client", cursor)
	require.NoError(t, err)
	return &reader{Reader: r, node: n, cursor: cursor, seen: map[string]Kind{}}
}

func (r *reader) read(t require.TestingT) Batch {
	batch, err := r.Next(0)
	require.NoError(t, err)
	for _, change := range batch.Changes {
		mint := change.Mint
		if mint == "" {
			mint = r.node.mints[change.ID]
		}
		r.seen[mint] = change.Kind
	}
	if batch.Cursor != "" {
		r.cursor = batch.Cursor
	}
	if batch.Reset != "" {
		r.resets = append(r.resets, batch.Reset)
	}
	return batch
}

// drain reads until there is nothing.
func (r *reader) drain(t require.TestingT) *reader {
	for {
		if batch := r.read(t); len(batch.Changes) == 0 && batch.Cursor == "" && batch.Reset == "" {
			return r
		}
	}
}

func write(log *apitest.Log, topic, mint, kind string) {
	log.Append(kafka.Record{Topic: topic, Key: []byte(mint), Headers: []kafka.Header{{Key: schemas.HeaderType, Value: []byte(kind)}}})
}

func TestReadersSeeWhatChanges(t *testing.T) {
	log := apitest.NewLog()
	n := newNode(t, log, Config{})
	write(log, schemas.TopicTokenEvents, "old", "token_event.initialize_mint")
	n.catchUp(t)
	r := n.open(t, "").drain(t)
	require.Empty(t, r.seen, "what was there is no news")
	require.NotEmpty(t, r.cursor, "it has a place at once")

	write(log, schemas.TopicTokenEvents, "old", "token_event.mint_to")
	write(log, schemas.TopicTokenEvents, "young", "token_event.initialize_mint")
	write(log, schemas.TopicEnrichments, "young", "enrichment.offchain")
	n.catchUp(t)
	batch := r.read(t)
	require.Len(t, batch.Changes, 2, "each mint once")
	require.Equal(t, map[string]Kind{"old": KindChanged, "young": KindNew}, r.seen)

	gone := n.change("young")
	gone.Token = nil
	n.Apply([]search.Change{gone, gone})
	n.mark()
	require.Equal(t, []Change{{Kind: KindRemoved, ID: gone.ID, Mint: "young"}}, r.read(t).Changes)
	n.Apply([]search.Change{gone})
	n.mark()
	require.Empty(t, r.drain(t).read(t).Changes, "it was gone already")
}

func TestReaderIsWoken(t *testing.T) {
	n := newNode(t, apitest.NewLog(), Config{})
	n.ready = true
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	r := n.open(t, "")
	n.Apply([]search.Change{n.change("a")})
	for r.seen["a"] != KindNew {
		batch, err := r.Next(time.Minute)
		require.NoError(t, err)
		for range batch.Changes {
			r.seen["a"] = batch.Changes[0].Kind
		}
	}
	cancel()
	_, err := r.Next(time.Minute)
	require.ErrorIs(t, err, ErrClosed)
	require.NoError(t, <-done)
	_, err = n.Open("client", "")
	require.ErrorIs(t, err, ErrClosed)
}

// TestCursorHoldsAfterRestartAndOnOtherNodes: whatever a client does between, it has seen every mint since its first place.
func TestCursorHoldsAfterRestartAndOnOtherNodes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		log := apitest.NewLog()
		cfg := Config{Ring: rapid.SampledFrom([]int{4, 1_000}).Draw(rt, "ring")}
		nodes := []*node{newNode(rt, log, cfg), newNode(rt, log, cfg)}
		for _, n := range nodes {
			n.catchUp(rt)
		}
		r := nodes[0].open(rt, "").drain(rt)
		written, clock := map[string]int{}, 0
		seen := map[string]int{} // of what the client was told, when its node had read it
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			clock++
			switch rapid.IntRange(0, 5).Draw(rt, "step") {
			case 0, 1:
				mint := fmt.Sprint(rapid.IntRange(0, 30).Draw(rt, "mint"))
				write(log, rapid.SampledFrom(topics[:]).Draw(rt, "topic"), mint, "x.y")
				written[mint] = clock
			case 2:
				nodes[rapid.IntRange(0, 1).Draw(rt, "node")].step(rt, rapid.IntRange(1, 5).Draw(rt, "records"))
			case 3:
				nodes[rapid.IntRange(0, 1).Draw(rt, "node")].mark()
			case 4: // the client goes to some node
				r.Close()
				r = nodes[rapid.IntRange(0, 1).Draw(rt, "node")].open(rt, r.cursor)
			case 5: // a node starts anew
				i := rapid.IntRange(0, 1).Draw(rt, "node")
				old := nodes[i]
				old.end()
				nodes[i] = newNode(rt, log, cfg)
				nodes[i].catchUp(rt)
				if r.node == old {
					r = nodes[i].open(rt, r.cursor)
				}
			}
			r.follow(rt, seen, written)
		}
		for _, n := range nodes {
			n.catchUp(rt)
		}
		for range 3 {
			r.follow(rt, seen, written)
		}
		for mint, at := range written {
			require.GreaterOrEqual(rt, seen[mint], at, "mint %s was written at %d", mint, at)
		}
	})
}

// follow reads what there is. Who is too slow comes back.
func (r *reader) follow(t require.TestingT, seen, written map[string]int) {
	for {
		batch, err := r.Next(0)
		if err != nil {
			require.ErrorIs(t, err, ErrLagged)
			r.Close()
			*r = *r.node.open(t, r.cursor)
			continue
		}
		require.Empty(t, batch.Reset)
		for _, change := range batch.Changes {
			mint := change.Mint
			if mint == "" {
				mint = r.node.mints[change.ID]
			}
			if n := r.node; !unread(t, n, mint) {
				seen[mint] = written[mint]
			}
		}
		if batch.Cursor == "" && len(batch.Changes) == 0 {
			return
		}
		if batch.Cursor != "" {
			r.cursor = batch.Cursor
		}
	}
}

// unread says that the log has a record of the mint that the node has not read: what it tells of the mint may be of before.
func unread(t require.TestingT, n *node, mint string) bool {
	for _, topic := range topics {
		for _, record := range n.log.Records(topic) {
			tp := kafka.TopicPartition{Topic: record.Topic, Partition: record.Partition}
			if string(record.Key) == mint && record.Offset >= n.applied[tp] {
				return true
			}
		}
	}
	return false
}

func TestOldCursors(t *testing.T) {
	log := apitest.NewLog()
	n := newNode(t, log, Config{MaxReplay: 50})
	n.catchUp(t)
	begin := n.open(t, "").drain(t).cursor
	for i := range 40 {
		write(log, schemas.TopicTokenEvents, fmt.Sprint(i), "token_event.initialize_mint")
	}
	restarted := newNode(t, log, Config{MaxReplay: 50})
	restarted.catchUp(t)
	r := restarted.open(t, begin).drain(t)
	require.Len(t, r.seen, 40, "read from the topics")
	require.Equal(t, KindNew, r.seen["7"])
	require.Empty(t, r.resets)
	last := r.cursor

	for i := range 60 {
		write(log, schemas.TopicTokenEvents, fmt.Sprint(i), "token_event.mint_to")
	}
	restarted = newNode(t, log, Config{MaxReplay: 50})
	restarted.catchUp(t)
	r = restarted.open(t, last)
	require.Equal(t, ResetTooOld, r.read(t).Reset, "too much has come since")
	require.NotEmpty(t, r.drain(t).cursor, "and it goes on from now")
	write(log, schemas.TopicTokenEvents, "next", "token_event.mint_to")
	restarted.catchUp(t)
	require.Contains(t, r.drain(t).seen, "next")

	ahead := r.cursor
	other := newNode(t, apitest.NewLog(), Config{})
	other.catchUp(t)
	require.Equal(t, []Reset{ResetUnknown}, other.open(t, ahead).drain(t).resets, "of another installation")

	for p := range 4 {
		log.SetStart(kafka.TopicPartition{Topic: schemas.TopicTokenEvents, Partition: p}, 3)
	}
	require.Equal(t, []Reset{ResetTooOld}, restarted.open(t, begin).drain(t).resets, "expired")
}

func TestOutageOfTheTopicsEndsOnlyWhoNeedsThem(t *testing.T) {
	log := apitest.NewLog()
	first := newNode(t, log, Config{})
	first.catchUp(t)
	begin := first.open(t, "").drain(t).cursor
	write(log, schemas.TopicTokenEvents, "a", "x.y")
	n := newNode(t, log, Config{ReplayTimeout: 20 * time.Millisecond})
	n.catchUp(t)
	log.SetDown(true)
	_, err := n.open(t, begin).Next(0)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	now := n.open(t, "")
	n.Apply([]search.Change{n.change("b")})
	n.mark()
	require.Contains(t, now.drain(t).seen, "b")
	log.SetDown(false)
	require.Eventually(t, func() bool {
		batch, err := n.open(t, begin).Next(0)
		return err == nil && len(batch.Changes) > 0
	}, 30*time.Second, 10*time.Millisecond)
}

func TestSlowReaderIsToldSo(t *testing.T) {
	log := apitest.NewLog()
	n := newNode(t, log, Config{Ring: 10})
	n.catchUp(t)
	slow := n.open(t, "").drain(t)
	for i := range 11 {
		write(log, schemas.TopicTokenEvents, fmt.Sprint(i), "x.y")
	}
	n.catchUp(t)
	_, err := slow.Next(0)
	require.ErrorIs(t, err, ErrLagged)
	require.Len(t, n.open(t, slow.cursor).drain(t).seen, 11, "and misses nothing when it comes back")
}

func TestStreamsAreCounted(t *testing.T) {
	n := newNode(t, apitest.NewLog(), Config{MaxStreams: 3, MaxPerClient: 2})
	a, err := n.Open("greedy", "")
	require.NoError(t, err)
	_, err = n.Open("greedy", "")
	require.NoError(t, err)
	_, err = n.Open("greedy", "")
	require.ErrorIs(t, err, ErrTooManyClient)
	_, err = n.Open("modest", "")
	require.NoError(t, err)
	_, err = n.Open("late", "")
	require.ErrorIs(t, err, ErrTooMany)
	a.Close()
	a.Close()
	_, err = n.Open("late", "")
	require.NoError(t, err)
	require.Len(t, n.clients, 3)
}

func TestMarksAreBounded(t *testing.T) {
	log := apitest.NewLog()
	n := newNode(t, log, Config{Ring: 4})
	for i := range 100 {
		write(log, schemas.TopicTokenEvents, fmt.Sprint(i), "x.y")
		n.catchUp(t)
	}
	require.LessOrEqual(t, len(n.marks), 5, "those that lead into the ring")
	n.ring = make([]Change, 1<<20)
	for i := range maxMarks + 100 {
		n.applied[kafka.TopicPartition{Topic: schemas.TopicTokenEvents, Partition: 0}] = int64(1_000 + i)
		n.mark()
	}
	require.LessOrEqual(t, len(n.marks), maxMarks)
}

func FuzzCursor(f *testing.F) {
	v := vector{{1, 2, 1 << 40}, {0}}
	f.Add(v.String())
	f.Add("AQ")
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := parseCursor(text)
		if err != nil {
			require.ErrorIs(t, err, ErrCursor)
			return
		}
		require.Equal(t, text, parsed.String(), "one text for one place")
	})
}

func TestCursorSaysWhereItIs(t *testing.T) {
	v := vector{{1, 2, 1 << 40}, {0}}
	parsed, err := parseCursor(v.String())
	require.NoError(t, err)
	require.Equal(t, v, parsed)
	require.Equal(t, v, vectorOf(parsed.offsets()))
	for i := range v.String() {
		cut := v.String()[:i]
		_, err := parseCursor(cut)
		require.ErrorIs(t, err, ErrCursor, cut)
	}
}
