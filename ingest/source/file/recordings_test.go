package file

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/mintlake/mintlake/ingest/source/parse"
	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
)

// record runs Recordings over what do taps.
func record(t *testing.T, cfg RecordingsConfig, do func(tap func([]byte), r *Recordings)) *Recordings {
	t.Helper()
	r, err := NewRecordings(cfg)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	do(r.Tap, r)
	stop()
	require.NoError(t, <-done)
	return r
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.geyser.zst"))
	require.NoError(t, err)
	return names
}

// TestRecordingsRotate: many files, one chain, in order.
func TestRecordingsRotate(t *testing.T) {
	c := sourcetest.NewChain(1000, 60)
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	var r *Recordings
	synctest.Test(t, func(t *testing.T) {
		r = record(t, RecordingsConfig{Dir: dir, MaxAge: 2 * time.Millisecond, syncEvery: time.Millisecond}, func(tap func([]byte), _ *Recordings) {
			for _, b := range c {
				tap(update(t, b.Update()))
				time.Sleep(200 * time.Microsecond)
			}
		})
	})
	messages, n, bytes := r.Recorded()
	require.EqualValues(t, len(c), messages)
	require.Greater(t, n, 2)
	require.Len(t, files(t, dir), n)
	require.NotZero(t, bytes)
	sink := &sourcetest.Sink{}
	require.NoError(t, open(t, Config{Paths: []string{dir}}).Run(t.Context(), sourcetest.Ledger{}, sink))
	sourcetest.RequireChain(t, c, sink.Blocks())
	require.Empty(t, sink.RefusedInputs())
}

// TestCutAnywhereIsReadUpToThere: whatever a crash leaves of a file, all messages up to the last
// sync before the cut are read, none of them twice or out of order, and nothing after it is
// invented.
func TestCutAnywhereIsReadUpToThere(t *testing.T) {
	c := sourcetest.NewChain(1000, 24)
	dir := t.TempDir()
	var synced []int64 // size of the file after the n-th block
	record(t, RecordingsConfig{Dir: dir, syncEvery: time.Hour}, func(tap func([]byte), r *Recordings) {
		for _, b := range c {
			tap(update(t, b.Update()))
			r.sync()
			info, err := os.Stat(files(t, dir)[0])
			require.NoError(t, err)
			synced = append(synced, info.Size())
		}
	})
	whole, err := os.ReadFile(files(t, dir)[0])
	require.NoError(t, err)
	cut := filepath.Join(t.TempDir(), "cut.geyser.zst")
	for size := 0; size < len(whole); size += 1 + size%61 {
		require.NoError(t, os.WriteFile(cut, whole[:size], 0o600))
		sink := &sourcetest.Sink{}
		require.NoError(t, open(t, Config{Paths: []string{cut}}).Run(t.Context(), sourcetest.Ledger{}, sink))
		kept := 0
		for kept < len(synced) && synced[kept] <= int64(size) {
			kept++
		}
		got := sink.Blocks()
		require.GreaterOrEqual(t, len(got), kept, "cut at %d of %d", size, len(whole))
		sourcetest.RequireChain(t, c[:len(got)], got)
	}
}

// TestADeathInTheNextFile: what a recording says of a slot may be about a block of the file before.
func TestADeathInTheNextFile(t *testing.T) {
	c := sourcetest.NewChain(1000, 5)
	dir := t.TempDir()
	status := func(slot uint64, s pb.SlotStatus) []byte {
		return update(t, &pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Slot{Slot: &pb.SubscribeUpdateSlot{Slot: slot, Status: s}}})
	}
	for i, messages := range [][][]byte{
		{update(t, c[0].Update()), update(t, c[1].Update()), update(t, c[2].Update())},
		{status(c[2].Slot, pb.SlotStatus_SLOT_DEAD), update(t, c[3].Update())},
	} {
		record(t, RecordingsConfig{Dir: filepath.Join(dir), syncEvery: time.Hour}, func(tap func([]byte), _ *Recordings) {
			for _, m := range messages {
				tap(m)
			}
		})
		require.Len(t, files(t, dir), i+1)
		time.Sleep(2 * time.Millisecond) // names are milliseconds
	}
	sink := &sourcetest.Sink{}
	require.NoError(t, open(t, Config{Paths: []string{dir}}).Run(t.Context(), sourcetest.Ledger{}, sink))
	sourcetest.RequireChain(t, c[:4], sink.Blocks())
	require.Equal(t, []uint64{c[2].Slot}, sink.DeadSlots())
}

func TestAFullDiskEndsTheRecording(t *testing.T) {
	file := filepath.Join(t.TempDir(), "taken")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	r, err := NewRecordings(RecordingsConfig{Dir: filepath.Join(file, "below a file")})
	require.NoError(t, err)
	r.Tap([]byte{})
	r.Tap([]byte{})
	require.Error(t, r.Run(t.Context()))
}

// TestReplayInTime: a replay takes as long as the recording did, divided by the speed; an outage is
// shortened; without speed there is no wait.
func TestReplayInTime(t *testing.T) {
	c := sourcetest.NewChain(1000, 9)
	var out []byte
	at := time.Unix(1_700_000_000, 0)
	for i, b := range c {
		u := b.Update()
		if at = at.Add(40 * time.Millisecond); i == 5 {
			at = at.Add(time.Hour)
		}
		u.CreatedAt = timestamppb.New(at)
		out = frame(out, update(t, u))
	}
	dir := t.TempDir()
	write(t, dir, "a.geyser.zst", zst(t, out))
	for _, tc := range []struct {
		speed       float64
		least, most time.Duration
	}{{1000, 30 * time.Millisecond, 10 * time.Second}, {200, 150 * time.Millisecond, 10 * time.Second}, {0, 0, 1}} {
		synctest.Test(t, func(t *testing.T) {
			sink := &sourcetest.Sink{}
			began := time.Now()
			require.NoError(t, open(t, Config{Paths: []string{dir}, Speed: tc.speed}).Run(t.Context(), sourcetest.Ledger{}, sink))
			took := time.Since(began)
			sourcetest.RequireChain(t, c, sink.Blocks())
			require.GreaterOrEqual(t, took, tc.least)
			require.Less(t, took, tc.most)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), 150*time.Millisecond)
		defer stop()
		sink := &sourcetest.Sink{}
		require.NoError(t, open(t, Config{Paths: []string{dir}, Speed: 1}).Run(ctx, sourcetest.Ledger{}, sink))
		require.NotEmpty(t, sink.Blocks())
		require.Less(t, len(sink.Blocks()), 6, "the rest is half a minute away")
	})
}

// TestKnownBlocksAreNotWaitedFor: a replay at the original speed that was interrupted goes on at
// once.
func TestKnownBlocksAreNotWaitedFor(t *testing.T) {
	c := sourcetest.NewChain(1000, 9)
	dir := t.TempDir()
	for _, b := range c {
		write(t, dir, fmt.Sprintf("%d.json", b.Slot), b.JSON(t))
	}
	synctest.Test(t, func(t *testing.T) {
		known := sourcetest.LedgerOf(c, 8)
		sink := &sourcetest.Sink{Ledger: known}
		began := time.Now()
		require.NoError(t, open(t, Config{Paths: []string{dir}, Speed: 1}).Run(t.Context(), known, sink))
		require.Zero(t, time.Since(began))
		sourcetest.RequireChain(t, c[8:], sink.Blocks())
		began = time.Now()
		require.NoError(t, open(t, Config{Paths: []string{dir}, Speed: 1}).Run(t.Context(), sourcetest.Ledger{}, &sourcetest.Sink{}))
		require.Greater(t, time.Since(began), 8*time.Second, "new ones are")
	})
}

func TestStamp(t *testing.T) {
	at := time.Unix(1_700_000_000, 5)
	message := update(t, sourcetest.NewChain(1000, 1)[0].Update())
	stamped := parse.Stamp(message, at)
	u, err := parse.Reader{}.GeyserUpdate(stamped)
	require.NoError(t, err)
	require.True(t, at.Equal(u.CreatedAt))
	var generated pb.SubscribeUpdate
	require.NoError(t, proto.Unmarshal(stamped, &generated))
	require.True(t, at.Equal(generated.CreatedAt.AsTime()))
	require.Equal(t, stamped, parse.Stamp(stamped, at.Add(time.Hour)), "what the server said stays")
	require.Equal(t, []byte{0xff}, parse.Stamp([]byte{0xff}, at))
}

func TestARecordingOfOneName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "stream.geyser.zst")
	cfg := RecordingsAt(path)
	cfg.syncEvery = time.Millisecond
	record := func() error {
		r, err := NewRecordings(cfg)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		r.Tap([]byte{0x32, 0})
		cancel()
		return <-done
	}
	require.NoError(t, record())
	require.FileExists(t, path)
	require.ErrorIs(t, record(), os.ErrExist, "no recording is written over")
	require.Equal(t, RecordingsConfig{Dir: "folder"}, RecordingsAt("folder"))
}
