package feed

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mintlake/mintlake/internal/testkit/apitest"
	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"
)

// TestCursorHoldsAfterRestartAndOnOtherNodes: whatever a client does between, it has seen every
// mint since its first place.
func TestCursorHoldsAfterRestartAndOnOtherNodes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		log := apitest.NewLog()
		cfg := Config{ring: rapid.SampledFrom([]int{4, 1_000}).Draw(rt, "ring")}
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
				n := nodes[rapid.IntRange(0, 1).Draw(rt, "node")]
				n.step(rt, rapid.IntRange(1, 5).Draw(rt, "records"), func() {
					if rapid.Bool().Draw(rt, "marked between") {
						n.mark()
					}
				})
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
			mint := r.node.name(&change)
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

// unread says that the log has a record of the mint that the node has not read: what it tells of
// the mint may be of before.
func unread(t require.TestingT, n *node, mint string) bool {
	for _, topic := range topics {
		for _, record := range n.log.Records(topic) {
			tp := record.TopicPartition()
			if string(record.Key) == named(mint).String() && record.Offset >= n.applied[tp] {
				return true
			}
		}
	}
	return false
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
