package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/durable"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/venue"
)

// restart returns the fold of a new process, that goes on from a checkpoint of the old one. The
// stream either replays what it told of later slots, or cannot.
func (w *world) restart(old *Fold, told []message, now time.Time, sealedAt map[uint64]time.Time) *Fold {
	c := old.Checkpoint()
	if c == nil {
		return old
	}
	c, err := ReadCheckpoint(bytes.NewReader(bytesOf(w.t, c)), int64(len(bytesOf(w.t, c))))
	require.NoError(w.t, err)
	f := NewFold(FoldConfig{}, venue.List{twin{}})
	f.steps = w.step
	require.NoError(w.t, f.Restore(c))
	require.Equal(w.t, c.Slot, f.Snapshot().Slot)
	require.Zero(w.t, f.Snapshot().At, "nothing says that it is fresh")
	for _, pool := range w.pools { // those that the root does not have are listed again
		f.Listed(pool.keys[0], pool.account(0, 0))
		f.Ask(pool.coin, swaptest.WrappedSOL)
	}
	f.Covered(f.Fresh(), 0)
	defer w.complete(f)
	if w.random.IntN(3) == 0 {
		f.Reset()
		return f
	}
	clear(sealedAt)
	sealedAt[c.Slot] = time.Time{}
	for _, m := range told {
		if m.sealed == 0 {
			m.apply(f)
			continue
		}
		if _, again := sealedAt[m.sealed]; !again {
			sealedAt[m.sealed] = now
		}
		f.Block(Block{Slot: m.sealed, Parent: w.blocks[m.sealed].parent, UnixTime: now.Unix(), At: now})
	}
	if f.Broken() {
		f.Reset()
	}
	return f
}

func bytesOf(t testing.TB, c *Checkpoint) []byte {
	t.Helper()
	var file bytes.Buffer
	n, err := c.WriteTo(&file)
	require.NoError(t, err)
	require.EqualValues(t, file.Len(), n)
	return file.Bytes()
}

// quotable is a fold with some pools, each of a pair that was asked for.
func quotable(t testing.TB, names ...string) *Fold {
	t.Helper()
	f := NewFold(FoldConfig{}, venue.List{twin{}})
	begin(f)
	for i, name := range names {
		k := newTwin(name)
		ask(f, k.coin)
		born(f, 11+uint64(i), k)
		read(f, 11+uint64(i), k)
	}
	f.Finalized(10+uint64(len(names)), 0)
	f.Publish()
	return f
}

// TestACheckpointBringsBackPairsWithoutAnyReading, all that the root has.
func TestACheckpointBringsBackPairsWithoutAnyReading(t *testing.T) {
	before := quotable(t, "one", "two")
	file := bytesOf(t, before.Checkpoint())
	c, err := ReadCheckpoint(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	after := NewFold(FoldConfig{}, venue.List{twin{}})
	require.NoError(t, after.Restore(c))
	require.Empty(t, after.Fresh(), "all are certain from the root on")
	require.Empty(t, after.Wanted(100, 0, 1).Keys)
	require.Equal(t, before.Bytes(), after.Bytes())
	for _, name := range []string{"one", "two"} {
		coin := newTwin(name).coin
		want, err := before.Snapshot().Pair(coin, swaptest.WrappedSOL)
		require.NoError(t, err)
		got, err := after.Snapshot().Pair(coin, swaptest.WrappedSOL)
		require.NoError(t, err)
		require.Equal(t, want.Pools[0].Pool.(*twinPool).numbers, got.Pools[0].Pool.(*twinPool).numbers)
		require.Equal(t, want.Slot, got.Slot)
		require.Zero(t, got.ReadAt, "it is never fresh by itself")
	}
	require.Equal(t, file, bytesOf(t, after.Checkpoint()), "equal states give equal files")
}

// TestAPairIsNotWholeWithoutAllOfItsPools: it is listed again if the root lacks one.
func TestAPairIsNotWholeWithoutAllOfItsPools(t *testing.T) {
	f := quotable(t, "one")
	late := newTwin("late")
	late.coin = newTwin("one").coin
	f.Listed(late.keys[0], late.account(0, 1)) // nothing has read it yet
	file := bytesOf(t, f.Checkpoint())
	c, err := ReadCheckpoint(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	after := NewFold(FoldConfig{}, venue.List{twin{}})
	require.NoError(t, after.Restore(c))
	_, err = after.Snapshot().Pair(late.coin, swaptest.WrappedSOL)
	require.ErrorIs(t, err, errNotAsked)
	_, listable := after.Listable(late.coin, swaptest.WrappedSOL)
	require.True(t, listable)
}

// TestPairsOfACheckpointOfOtherVenuesAreListedAgain: a new venue may have pools of them.
func TestPairsOfACheckpointOfOtherVenuesAreListedAgain(t *testing.T) {
	c := again(t, quotable(t, "one", "two").Checkpoint())
	f := NewFold(FoldConfig{}, venue.List{twin{}, mute{}})
	require.NoError(t, f.Restore(c))
	coin := newTwin("one").coin
	require.Contains(t, f.Fresh(), muteAddress(coin))
	_, err := f.Snapshot().Pair(coin, swaptest.WrappedSOL)
	require.ErrorIs(t, err, market.ErrNotHeld, "nobody knows whether the mute venue has a pool")
	_, listable := f.Listable(coin, swaptest.WrappedSOL)
	require.True(t, listable)
}

// TestACheckpointThatIsTooLargeIsRefused, and the fold is as it was.
func TestACheckpointThatIsTooLargeIsRefused(t *testing.T) {
	c := again(t, quotable(t, "one", "two").Checkpoint())
	for _, cfg := range []FoldConfig{{MaxPools: 1}, {MaxAsked: 1}} {
		f := NewFold(cfg, venue.List{twin{}})
		require.ErrorIs(t, f.Restore(c), errCheckpoint)
		require.Zero(t, f.Snapshot().Slot)
		require.Zero(t, f.Bytes())
	}
}

// TestAStateWithoutRoomForMoreIsRestoredWhole: what was held has room again.
func TestAStateWithoutRoomForMoreIsRestoredWhole(t *testing.T) {
	before := quotable(t, "one", "two")
	f := NewFold(FoldConfig{MaxPools: 2, MaxAsked: 2, maxBytes: before.Bytes()}, venue.List{twin{}})
	require.NoError(t, f.Restore(again(t, before.Checkpoint())))
	for _, name := range []string{"one", "two"} {
		_, err := f.Snapshot().Pair(newTwin(name).coin, swaptest.WrappedSOL)
		require.NoError(t, err)
	}
}

// TestAnotherChainWithTheSameSlotsIsReadAnew: its confirmed block behind the root names another
// hash.
func TestAnotherChainWithTheSameSlotsIsReadAnew(t *testing.T) {
	c := quotable(t, "one").Checkpoint()
	c.Hash = swaptest.Named("hash")
	for _, parent := range []string{"hash", "another hash"} {
		f := NewFold(FoldConfig{}, venue.List{twin{}})
		require.NoError(t, f.Restore(c))
		f.Block(Block{Slot: c.Slot + 1, Parent: c.Slot, ParentHash: swaptest.Named(parent)})
		require.Equal(t, parent == "hash", f.Head() > c.Slot)
		f.Confirmed(c.Slot+1, 0)
		require.Equal(t, parent != "hash", f.Broken())
	}
}

// TestDamagedCheckpointsAreRefused: cut at any byte, changed in any byte, or longer.
func TestDamagedCheckpointsAreRefused(t *testing.T) {
	whole := bytesOf(t, quotable(t, "one").Checkpoint())
	for n := range whole {
		_, err := ReadCheckpoint(bytes.NewReader(whole[:n]), int64(n))
		require.Error(t, err, "the first %d bytes", n)
		changed := bytes.Clone(whole)
		changed[n] ^= 1 << (n % 8)
		_, err = ReadCheckpoint(bytes.NewReader(changed), int64(len(changed)))
		require.ErrorIs(t, err, errCheckpoint, "byte %d", n)
	}
	longer := append(bytes.Clone(whole), 0)
	_, err := ReadCheckpoint(bytes.NewReader(longer), int64(len(longer)))
	require.ErrorIs(t, err, errCheckpoint)
}

var errCrash = errors.New("the process is dead")

// dying is a file of a process that dies after so many bytes.
type dying struct {
	io.Writer
	left int
}

func (d *dying) Write(b []byte) (int, error) {
	n := min(len(b), d.left)
	d.left -= n
	_, _ = d.Writer.Write(b[:n])
	if n < len(b) {
		return n, errCrash
	}
	return n, nil
}

// TestACrashAtAnyWriteKeepsTheOldCheckpoint, and the next process writes again.
func TestACrashAtAnyWriteKeepsTheOldCheckpoint(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pools.checkpoint")
	old, next := quotable(t, "one").Checkpoint(), quotable(t, "one", "two").Checkpoint()
	write := func(c *Checkpoint, left int) error {
		return durable.ReplaceWith(name, func(w io.Writer) error {
			_, err := c.WriteTo(&dying{w, left})
			return err
		})
	}
	require.NoError(t, write(old, 1<<20))
	whole, err := os.ReadFile(name)
	require.NoError(t, err)
	longer := bytesOf(t, next)
	for n := range longer {
		// A power cut leaves a part of the new file beside the old one.
		require.NoError(t, os.WriteFile(name+durable.Suffix, longer[:n], 0o600))
		if n%64 == 0 {
			require.ErrorIs(t, write(next, n), errCrash)
			require.NoFileExists(t, name+durable.Suffix)
		}
		got, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, whole, got)
	}
	require.NoError(t, write(next, 1<<20))
	got, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, longer, got)
}

// FuzzReadCheckpoint: whatever a file has, it is refused or gives a fold that works.
func FuzzReadCheckpoint(f *testing.F) {
	whole := bytesOf(f, quotable(f, "one", "two").Checkpoint())
	f.Add(whole[:len(whole)-8])
	f.Add(whole[:100])
	f.Fuzz(func(t *testing.T, body []byte) {
		file := binary.LittleEndian.AppendUint64(bytes.Clone(body), xxhash.Sum64(body))
		c, err := ReadCheckpoint(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return
		}
		if len(c.pairs) > 100 { // each is looked up on all venues
			return
		}
		state := NewFold(FoldConfig{MaxPools: 8, MaxAsked: 8}, venue.List{twin{}})
		if state.Restore(c) != nil {
			return
		}
		for _, p := range c.pairs {
			_, _ = state.Snapshot().Pair(p.pair.a, p.pair.b)
		}
		state.Block(Block{Slot: c.Slot + 1, Parent: c.Slot})
		state.Publish()
		state.Reset()
	})
}
