package file

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
)

// play reads an uncompressed recording.
func play(t testing.TB, data []byte, sink source.Sink) error {
	t.Helper()
	s := open(t, Config{Paths: []string{"x"}})
	return s.stream(t.Context(), bytes.NewReader(data), s.player(sink, &pacer{}))
}

func frame(out []byte, message []byte) []byte {
	return append(binary.BigEndian.AppendUint32(out, uint32(len(message))), message...)
}

func zst(t testing.TB, data []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	return w.EncodeAll(data, nil)
}

func update(t testing.TB, u *pb.SubscribeUpdate) []byte {
	t.Helper()
	data, err := proto.Marshal(u)
	require.NoError(t, err)
	return data
}

func TestRecordingKeepsTheContract(t *testing.T) {
	sourcetest.Contract(t, false, func(t *testing.T, setup sourcetest.Setup) source.Source {
		var out []byte
		for i, b := range setup.Chain {
			out = frame(out, update(t, &pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Ping{Ping: &pb.SubscribeUpdatePing{}}}))
			out = frame(out, update(t, b.Update()))
			if i%5 == 4 { // repeats, as after a reconnect
				out = frame(out, update(t, setup.Chain[i-2].Update()))
			}
			if setup.Broken && i == 7 {
				out = frame(out, []byte("\xff\xff garbage"))
			}
		}
		dir := t.TempDir()
		write(t, dir, "a.geyser.zst", zst(t, out))
		return open(t, Config{Paths: []string{dir}})
	})
}

func TestRecordingOutOfOrder(t *testing.T) {
	c := sourcetest.NewChain(1000, 30)
	var out []byte
	mixed := slices.Clone(c)
	for i := 1; i+3 < len(mixed); i += 3 {
		mixed[i], mixed[i+2] = mixed[i+2], mixed[i]
	}
	for _, b := range mixed {
		out = frame(out, update(t, b.Update()))
	}
	sink := &sourcetest.Sink{}
	require.NoError(t, play(t, out, sink))
	sourcetest.RequireChain(t, c, sink.Blocks())
}

func TestRecordingCutShortGivesWhatItHolds(t *testing.T) {
	c := sourcetest.NewChain(1000, 10)
	var out []byte
	for _, b := range c {
		out = frame(out, update(t, b.Update()))
	}
	dir := t.TempDir()
	whole := zst(t, out)
	write(t, dir, "cut-frame.geyser.zst", zst(t, out[:len(out)-5]))
	write(t, dir, "cut-zstd.geyser.zst", whole[:len(whole)-5])
	write(t, dir, "long.geyser.zst", zst(t, append(slices.Clone(out), 0xff, 0xff, 0xff, 0xff, 1, 2, 3)))
	sink := &sourcetest.Sink{}
	require.NoError(t, open(t, Config{Paths: []string{filepath.Join(dir, "cut-frame.geyser.zst")}}).Run(t.Context(), sourcetest.Ledger{}, sink))
	sourcetest.RequireChain(t, c[:9], sink.Blocks())
	require.ErrorContains(t, sink.RefusedInputs()[filepath.Join(dir, "cut-frame.geyser.zst")], "message 9: cut short")

	sink = &sourcetest.Sink{}
	require.NoError(t, open(t, Config{Paths: []string{filepath.Join(dir, "long.geyser.zst")}}).Run(t.Context(), sourcetest.Ledger{}, sink))
	sourcetest.RequireChain(t, c, sink.Blocks())
	require.ErrorIs(t, sink.RefusedInputs()[filepath.Join(dir, "long.geyser.zst")], errTooLarge)

	sink = &sourcetest.Sink{}
	require.NoError(t, open(t, Config{Paths: []string{filepath.Join(dir, "cut-zstd.geyser.zst")}}).Run(t.Context(), sourcetest.Ledger{}, sink))
	require.Len(t, sink.RefusedInputs(), 1)
}

func TestRealStream(t *testing.T) {
	data, err := os.ReadFile(testkit.Shared(t, "data/streams/geyser-slots-entries-20260205.bin"))
	require.NoError(t, err)
	sink := &sourcetest.Sink{}
	require.NoError(t, play(t, data, sink))
	require.Empty(t, sink.Blocks(), "entries, slots and metas only")
	require.Empty(t, sink.DeadSlots())
}
