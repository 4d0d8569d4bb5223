package feed

import (
	"context"
	"maps"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/apitest"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
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
	if cfg.replayTimeout == 0 {
		cfg.replayTimeout = 5 * time.Minute // a machine may stand still for a while
	}
	n := &node{log: log, applied: Offsets{}, ids: map[string]uint32{}}
	starts, err := log.StartOffsets(context.Background(), topics[:])
	require.NoError(t, err)
	maps.Copy(n.applied, starts)
	n.Feed, err = New(cfg, Deps{
		Applied: func() Offsets { return maps.Clone(n.applied) }, Ready: func() bool { return n.ready }, Log: log,
		OpenTail: func(topics []string, start Offsets) (kafka.TailReader, error) { return log.Tail(topics, start), nil },
	})
	require.NoError(t, err)
	return n
}

// step applies at most limit records, in batches as the copy does: first the changes, then how far
// it is. between is what happens meanwhile.
func (n *node) step(t require.TestingT, limit int, between ...func()) {
	ends, err := n.log.EndOffsets(context.Background(), topics[:])
	require.NoError(t, err)
	if kafka.Covers(n.applied, ends) {
		return
	}
	records, err := n.log.Tail(topics[:], n.applied).FetchBatch(context.Background(), limit, 0)
	require.NoError(t, err)
	var changes []replica.Change
	for _, record := range records {
		changes = append(changes, n.change(nameOf(pubkey.MustParse(string(record.Key)))))
	}
	n.Apply(changes)
	for _, happen := range between {
		happen()
	}
	for _, record := range records {
		n.applied[record.TopicPartition()] = record.Offset + 1
	}
}

func (n *node) catchUp(t require.TestingT) {
	for range 10 {
		n.step(t, 1_000)
	}
	n.ready = true
	n.mark()
}

func (n *node) change(mint string) replica.Change {
	id, known := n.ids[mint]
	if !known {
		id = uint32(len(n.mints))
		n.ids[mint], n.mints = id, append(n.mints, mint)
	}
	return replica.Change{Row: replica.Row{ID: id, Mint: named(mint), Token: &registry.Token{Mint: named(mint)}}, Was: known}
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
		r.seen[r.node.name(&change)] = change.Kind
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

// named is the key of a mint with a name.
func named(name string) (key pubkey.Key) {
	copy(key[:], name)
	return key
}

// name is the name of the mint that a change is about.
func (n *node) name(change *Change) string {
	if change.Mint == nil {
		return n.mints[change.ID]
	}
	return nameOf(*change.Mint)
}

func nameOf(mint pubkey.Key) string { return strings.TrimRight(string(mint[:]), "\x00") }

func write(log *apitest.Log, topic, mint, kind string) {
	log.Append(kafka.Record{Topic: topic, Key: []byte(named(mint).String()), Headers: []kafka.Header{{Key: schemas.HeaderType, Value: []byte(kind)}}})
}
