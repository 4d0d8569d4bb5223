package replica

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/registry/root"
	"github.com/mintlake/mintlake/replica/checkpoint"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// TestStoreWithoutWhatWasTakenBack: a snapshot and facts in any order and in batches of any size,
// and for mints that lost facts the row that the projector makes of at least what had come by then:
// in the end the store and its root are those of the facts that nobody took back.
func TestStoreWithoutWhatWasTakenBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		messages := registrytest.WithRetractions(40).Draw(t, "messages")
		facts := registrytest.FactsOf(rapid.Permutation(messages).Draw(t, "order"))
		s := newStore(indexed{}, nil)
		r := &Replica{store: s}
		stored := rapid.IntRange(0, len(facts)).Draw(t, "stored")
		for range rapid.IntRange(0, 2).Draw(t, "loads") {
			require.NoError(t, s.load(t.Context(), snapshotOf(registrytest.Believed(facts[:stored]))))
			stored = rapid.IntRange(stored, len(facts)).Draw(t, "stored meanwhile")
		}
		waiting := map[pubkey.Key]bool{}
		apply := func(facts []registry.Fact) {
			for _, mint := range s.apply(facts) {
				waiting[mint] = true
			}
		}
		liveFrom := rapid.IntRange(0, len(facts)).Draw(t, "live from")
		for from := 0; from < len(facts); {
			to := min(from+rapid.IntRange(1, 20).Draw(t, "batch"), len(facts))
			if from >= liveFrom && !s.live {
				s.goLive()
			}
			apply(append([]registry.Fact{}, facts[from:to]...))
			if rapid.IntRange(0, 3).Draw(t, "projector") == 0 {
				refolded(waiting, facts[:rapid.IntRange(to, len(facts)).Draw(t, "folded")], apply)
			}
			from = to
		}
		if !s.live {
			s.goLive()
		}
		s.makeBase(t.Context())
		for len(waiting) > 0 {
			refolded(waiting, facts, apply)
		}
		s.seal(0, true)
		got, known := s.root()
		require.True(t, known)

		builder := new(root.Builder)
		for mint, state := range registrytest.Believed(facts) {
			builder.Add(mint, state)
			token, member := state.Token(mint)
			if _, isMember := r.ID(mint); !member {
				require.False(t, isMember)
				continue
			}
			require.Equal(t, &token, r.Lookup(mint))
		}
		require.Equal(t, builder.Root(got.Slot), got)
		require.Equal(t, got.Tokens, s.table.tokens())
	})
}

// refolded applies the rows that a projector has of the mints that wait.
func refolded(waiting map[pubkey.Key]bool, stored []registry.Fact, apply func(facts []registry.Fact)) {
	believed := registrytest.Believed(stored)
	for mint := range waiting {
		delete(waiting, mint)
		if state := believed[mint]; state != nil {
			apply(append([]registry.Fact{}, state.Facts()...))
		}
	}
}

// TestTakenMintsKeepTheirOffsets: a checkpoint that is written while mints are folded again has the
// offsets that the projector must have committed for these mints.
func TestTakenMintsKeepTheirOffsets(t *testing.T) {
	var q refoldQueue
	tp := kafka.TopicPartition{Topic: schemas.TopicTokenEvents, Partition: 1}
	q.add([]pubkey.Key{{1}}, map[kafka.TopicPartition]int64{tp: 70})
	mints, until := q.take()
	require.Equal(t, []pubkey.Key{{1}}, mints)
	require.Equal(t, map[kafka.TopicPartition]int64{tp: 70}, until)
	q.add([]pubkey.Key{{2}}, map[kafka.TopicPartition]int64{tp: 50})
	q.keep()
	q.take()
	q.take()
	mints, until = q.sinceKeep()
	require.Equal(t, []pubkey.Key{{1}, {2}}, mints)
	require.Equal(t, map[kafka.TopicPartition]int64{tp: 70}, until)
	q.drop()
	q.keep()
	mints, until = q.sinceKeep()
	require.Empty(t, mints)
	require.Empty(t, until)
}

// asked are the offsets of an empty log. It says when it is asked for the first ones.
type asked struct {
	Offsets
	starts chan struct{}
}

func (a *asked) StartOffsets(context.Context, []string) (map[kafka.TopicPartition]int64, error) {
	close(a.starts)
	return nil, nil
}

func (a *asked) EndOffsets(context.Context, []string) (map[kafka.TopicPartition]int64, error) {
	return nil, nil
}

// TestACheckpointKeepsMintsFoldedAgainWhileItIsWritten: their states may be in the table as they
// were before. The test holds the store's mutex, which the checkpoint needs after the table.
func TestACheckpointKeepsMintsFoldedAgainWhileItIsWritten(t *testing.T) {
	offsets := &asked{starts: make(chan struct{})}
	r, err := New(Config{CheckpointFolder: t.TempDir()}, Deps{
		Offsets:  offsets,
		OpenTail: func([]string, map[kafka.TopicPartition]int64) (kafka.TailReader, error) { return nil, nil },
	})
	require.NoError(t, err)
	tp := kafka.TopicPartition{Topic: schemas.TopicTokenEvents, Partition: 1}
	before, meanwhile := pubkey.Key{1}, pubkey.Key{2}
	r.refolds.add([]pubkey.Key{before}, map[kafka.TopicPartition]int64{tp: 50})
	r.store.mu.Lock()
	written := make(chan error, 1)
	go func() {
		_, err := r.writeCheckpoint(context.Background())
		written <- err
	}()
	<-offsets.starts // so the first hold of r.cut is over
	r.refolds.add([]pubkey.Key{meanwhile}, map[kafka.TopicPartition]int64{tp: 70})
	require.Eventually(t, func() bool {
		free := r.cut.TryLock()
		if free {
			r.cut.Unlock()
		}
		return !free
	}, time.Minute, time.Millisecond, "the table is written")
	r.refolds.take()
	r.refolds.take() // all are folded again
	r.store.mu.Unlock()
	require.NoError(t, <-written)

	file, err := checkpoint.Open(r.checkpointPath())
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	var info checkpointInfo
	require.NoError(t, file.About(&info))
	require.ElementsMatch(t, []pubkey.Key{before, meanwhile}, info.TookBack)
	require.Equal(t, map[kafka.TopicPartition]int64{tp: 70}, offsetsOf(info.Until))
}
