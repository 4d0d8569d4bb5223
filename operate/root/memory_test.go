package root

import (
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/registry/root"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// launches is a log of that many mints, three events each, which is made as it is read.
type launches int

func (l launches) Records(context.Context, []string) (int64, error) { return 3 * int64(l), nil }

func (l launches) Read(_ context.Context, _ []string, visit func(*kafka.Record)) error {
	program := pubkey.MustParse(schemas.ProgramToken2022).Bytes()
	for number := range int(l) {
		mint := make([]byte, 32)
		binary.BigEndian.PutUint64(mint, uint64(number)+1)
		for i, event := range []*eventspb.TokenEvent{
			{Payload: &eventspb.TokenEvent_InitializeMint{InitializeMint: &eventspb.InitializeMint{Decimals: 6, MintAuthority: mint}}},
			{Payload: &eventspb.TokenEvent_MetadataSet{MetadataSet: &eventspb.MetadataSet{
				MetadataProgram: eventspb.MetadataProgram_METADATA_PROGRAM_TOKEN_2022, MetadataAccount: mint, Name: []byte("The coin of today"), Symbol: []byte("COIN"),
				Uri: []byte("https://ipfs.io/ipfs/bafkreihq6d0000000000000000000000000000000000000"), UpdateAuthority: mint, Creates: true,
			}}},
			{Payload: &eventspb.TokenEvent_MintTo{MintTo: &eventspb.AmountChange{Amount: 1_000_000_000, TokenAccount: mint, Authority: mint}}},
		} {
			event.Position = &eventspb.Position{Slot: uint64(number) + 1, TransactionIndex: proto.Uint32(1), InstructionIndex: uint32(i)}
			event.ProgramId, event.Mint, event.Signature = program, mint, append(mint[:32:32], mint...)
			value, err := proto.Marshal(event)
			if err != nil {
				return err
			}
			visit(&kafka.Record{Topic: schemas.TopicTokenEvents, Value: value})
		}
	}
	return nil
}

// peak returns the most bytes of live and dead objects that the heap has while work is done.
func peak(work func()) uint64 {
	stop, highest := make(chan struct{}), make(chan uint64)
	go func() {
		sample, most := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}, uint64(0)
		for {
			metrics.Read(sample)
			most = max(most, sample[0].Value.Uint64())
			select {
			case <-stop:
				highest <- most
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	work()
	close(stop)
	return <-highest
}

// TestMemoryDoesNotGrowWithMints: four times the mints in four times the parts, as perPart divides
// them, need as much memory but for what the tree has of digests. In one part a mint needs 2 KiB.
// The root is the one of a replay that has all mints in memory.
func TestMemoryDoesNotGrowWithMints(t *testing.T) {
	taken := func(mints, parts int) (bytes uint64, found root.Root) {
		q := Query{AtSlot: root.EverySlot, Log: launches(mints), Logger: slog.New(slog.DiscardHandler), Out: io.Discard, Folder: t.TempDir()}
		runtime.GC()
		bytes = peak(func() {
			var err error
			found, err = q.replayParts(t.Context(), nil, parts)
			require.NoError(t, err)
		})
		return bytes, found
	}
	defer debug.SetGCPercent(debug.SetGCPercent(20)) // little garbage
	const mints = 32_000
	few, _ := taken(mints/4, 4)
	many, found := taken(mints, 16)
	whole := root.NewReplay(root.EverySlot)
	require.NoError(t, launches(mints).Read(t.Context(), nil, func(record *kafka.Record) {
		facts, err := factsOfRecord(record)
		require.NoError(t, err)
		whole.Apply(facts)
	}))
	require.Equal(t, whole.Root(), found)
	require.Equal(t, mints, found.Tokens)
	grown := (float64(many) - float64(few)) / (mints - mints/4)
	t.Logf("%d MB with %d mints, %d MB with %d: %.0f bytes for each more", few>>20, mints/4, many>>20, mints, grown)
	// Most of it are digests of the tree and buffers of the parts' files, which have bounds.
	require.Less(t, grown, 500.)
}

// spent is the processor time of this process.
func spent() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkRootOfALog is `mintlake root` without Kafka: mints a second, and the most memory that
// the heap takes.
func BenchmarkRootOfALog(b *testing.B) {
	const mints = 300_000
	q := Query{AtSlot: root.EverySlot, Log: launches(mints), Logger: slog.New(slog.DiscardHandler), Out: io.Discard, Folder: b.TempDir()}
	for b.Loop() {
		most := peak(func() {
			found, err := q.replay(b.Context())
			require.NoError(b, err)
			require.Equal(b, mints, found.Tokens)
		})
		b.ReportMetric(float64(most)/1e6, "heap-MB")
	}
	b.ReportMetric(float64(mints*b.N)/b.Elapsed().Seconds(), "mints/s")
	b.ReportMetric(float64(spent())/float64(mints*b.N)/1e3, "cpu-µs/mint")
}
