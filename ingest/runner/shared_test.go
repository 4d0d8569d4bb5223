package runner_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/runner"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/ingest/source/file"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

func sharedFiles(t testing.TB) source.Source {
	t.Helper()
	files, err := file.New(file.Config{Paths: []string{
		testkit.Shared(t, "data/blocks"), testkit.Shared(t, "data/transactions"),
	}}, file.Deps{})
	require.NoError(t, err)
	return files
}

// TestSharedFiles ingests all recorded blocks and transactions and compares what reaches the log
// with the goldens: where every event stands, and every mint.
func TestSharedFiles(t *testing.T) {
	l := &log{}
	r := newRunner(t, l, sharedFiles(t))
	require.NoError(t, r.Run(context.Background()))

	wantEvents, wantMints, wantTransactions := goldenPlaces(t)
	gotEvents, gotMints := make(map[string][]place), make(map[string]bool)
	for _, record := range l.records {
		if record.Topic != "chain.token-events.v1" {
			continue
		}
		var event eventspb.TokenEvent
		require.NoError(t, proto.Unmarshal(record.Value, &event))
		gotMints[string(record.Key)] = true
		if event.GetSighting() != nil || event.GetFreezeAccount() != nil || event.GetThawAccount() != nil || event.GetLaunch() != nil || event.GetGraduate() != nil {
			continue // the goldens list none of them; see the decoders' golden test
		}
		at := place{Outer: event.GetPosition().GetInstructionIndex(), Inner: event.GetPosition().InnerInstructionIndex}
		signature := base58.Encode(event.GetSignature())
		gotEvents[signature] = append(gotEvents[signature], at)
	}
	require.Equal(t, wantEvents, gotEvents)
	for mint := range wantMints {
		require.True(t, gotMints[mint], "mint %s is in the golden only", mint)
	}
	require.Len(t, gotMints, len(wantMints))
	require.NotZero(t, wantTransactions)

	statuses := l.statuses(t)
	last := statuses[len(statuses)-1]
	require.True(t, last.GetDone())
	require.Equal(t, uint64(3), last.GetBlocks())
	require.Equal(t, uint64(68+2+2+2+24+3), last.GetTokenEvents(), "the goldens', a freeze, a thaw, two launches and a graduation")
	require.Equal(t, uint64(1), last.GetFailedInputs(), "an account among the transactions")
	require.Len(t, l.of("dead_letter"), 1)
	require.Len(t, l.slots(t), 3)
	require.Len(t, r.Coverage().Gaps, 2)
}

type place struct {
	Outer uint32  `json:"outer"`
	Inner *uint32 `json:"inner"`
}

func goldenPlaces(t *testing.T) (events map[string][]place, mints map[string]bool, transactions int) {
	t.Helper()
	events, mints = make(map[string][]place), make(map[string]bool)
	for _, name := range []string{"254170887", "332254855", "361774429", "transactions"} {
		data, err := os.ReadFile(testkit.Shared(t, filepath.Join("data/golden", name+".json")))
		require.NoError(t, err)
		var golden struct {
			Transactions []struct {
				Sig    string `json:"sig"`
				Events []struct {
					place
					Mint string `json:"mint"`
				} `json:"token_events"`
				Mints []struct {
					Mint string `json:"mint"`
				} `json:"mints"`
			} `json:"transactions"`
		}
		require.NoError(t, json.Unmarshal(data, &golden))
		transactions += len(golden.Transactions)
		for _, tx := range golden.Transactions {
			for _, event := range tx.Events {
				events[tx.Sig] = append(events[tx.Sig], event.place)
				mints[event.Mint] = true
			}
			for _, m := range tx.Mints {
				mints[m.Mint] = true
			}
		}
	}
	return events, mints, transactions
}

// TestSharedFilesInterrupted: the same files, with runs that the broker ends early. These get what
// was read once, as parsing the files is most of a run. The last run reads them again.
func TestSharedFilesInterrupted(t *testing.T) {
	var read sourcetest.Sink
	require.NoError(t, sharedFiles(t).Run(context.Background(), sourcetest.Ledger{}, &read))
	again := blocks("file", read.Blocks()...)
	for name, reason := range read.RefusedInputs() {
		again.do = append(again.do, func(ctx context.Context, sink source.Sink) error {
			sink.Refused(ctx, name, reason)
			return nil
		})
	}
	undisturbed := &log{}
	require.NoError(t, newRunner(t, undisturbed, again).Run(context.Background()))
	l := &log{}
	for _, after := range []int{1, 50, 120, 200, 90, 60, 100, 110} {
		l.failAt = after
		require.ErrorIs(t, newRunner(t, l, again).Run(context.Background()), errBroker)
	}
	l.failAt = 0
	require.NoError(t, newRunner(t, l, sharedFiles(t)).Run(context.Background()))
	require.Equal(t, undisturbed.facts(), l.facts())
}

// BenchmarkRunner measures decoding, encoding and hand-over of parsed mainnet blocks: with a broker
// that costs nothing, and with the embedded one, which syncs to disk.
func BenchmarkRunner(b *testing.B) {
	b.Run("discard", func(b *testing.B) { benchmark(b, discard{}) })
	b.Run("broker", func(b *testing.B) {
		_, producer := startBroker(b.Context(), b)
		benchmark(b, producer)
	})
}

func benchmark(b *testing.B, producer kafka.RecordProducer) {
	var read sourcetest.Sink
	require.NoError(b, sharedFiles(b).Run(context.Background(), sourcetest.Ledger{}, &read))
	blocks := slices.DeleteFunc(read.Blocks(), func(block *chain.Block) bool { return !block.Whole })
	transactions, nonVote := 0, 0
	for _, block := range blocks {
		transactions += len(block.Transactions)
		for i := range block.Transactions {
			if !block.Transactions[i].Vote {
				nonVote++
			}
		}
	}
	s := &steps{kind: "file"}
	for i := range b.N {
		block := blocks[i%len(blocks)]
		s.do = append(s.do, func(ctx context.Context, sink source.Sink) error {
			again := copyOf(block)
			again.Slot = uint64(i) + 1
			return deliver(again)(ctx, sink)
		})
	}
	r, err := runner.New(runner.Config{Sources: sourcesOf(s)}, runner.Deps{Producer: producer})
	require.NoError(b, err)
	b.ReportAllocs()
	b.ResetTimer()
	begin := time.Now()
	require.NoError(b, r.Run(context.Background()))
	seconds := time.Since(begin).Seconds()
	perBlock := float64(b.N) / float64(len(blocks)) / seconds
	b.ReportMetric(float64(transactions)*perBlock, "tx/s")
	b.ReportMetric(float64(nonVote)*perBlock, "non-vote-tx/s")
}
