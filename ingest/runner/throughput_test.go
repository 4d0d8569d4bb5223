package runner_test

import (
	"math"
	"runtime"
	"strconv"
	"testing"
	"time"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/decode"
	"github.com/mintlake/mintlake/ingest/source/parse"
	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
)

// task is one way to read the recorded blocks, and what proto.Unmarshal does to the same blocks.
type task struct {
	name                string
	ours, peer          []func() error
	bytes               int
	transactions, votes int
}

// tasks are the recorded mainnet blocks in every format: as Geyser messages, as ConfirmedBlock, as
// the files lie in the folder, and as Geyser messages without votes, which is what a live node
// reads. The peer is always proto.Unmarshal into the generated types: of the very same bytes where
// they are protobuf, of the same block as a Geyser message where they are JSON.
func tasks(t testing.TB) []task {
	t.Helper()
	geyser, stored, files, filtered := task{name: "geyser"}, task{name: "confirmedblock"}, task{name: "files"}, task{name: "geyser-without-votes"}
	for _, b := range sourcetest.RealBlocks(t) {
		message := encode(t, &pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Block{Block: b.SubscribeUpdateBlock}})
		confirmed := encode(t, b.Confirmed())
		geyser.add(b, message, func() (*chain.Block, error) { u, err := parse.Reader{}.GeyserUpdate(message); return u.Block, err },
			func() error { return proto.Unmarshal(message, new(pb.SubscribeUpdate)) })
		stored.add(b, confirmed, func() (*chain.Block, error) { return parse.Reader{}.ConfirmedBlock(confirmed, b.Slot) },
			func() error { return proto.Unmarshal(confirmed, new(pb.ConfirmedBlock)) })
		thin := withoutVotes(b)
		short := encode(t, &pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Block{Block: thin.SubscribeUpdateBlock}})
		filtered.add(thin, short, func() (*chain.Block, error) { u, err := parse.Reader{}.GeyserUpdate(short); return u.Block, err },
			func() error { return proto.Unmarshal(short, new(pb.SubscribeUpdate)) })
		if b.Proto {
			files.add(b, b.File, func() (*chain.Block, error) { return parse.Reader{}.ConfirmedBlock(b.File, b.Slot) },
				func() error { return proto.Unmarshal(b.File, new(pb.ConfirmedBlock)) })
			continue
		}
		files.add(b, b.File, func() (*chain.Block, error) { return parse.Reader{}.BlockJSON(b.File, b.Slot) },
			func() error { return proto.Unmarshal(message, new(pb.SubscribeUpdate)) })
	}
	return []task{geyser, stored, files, filtered}
}

// withoutVotes is the block as a server filters it.
func withoutVotes(b sourcetest.RealBlock) sourcetest.RealBlock {
	all := b.SubscribeUpdateBlock
	b.Votes, b.SubscribeUpdateBlock = 0, &pb.SubscribeUpdateBlock{
		Slot: all.Slot, Blockhash: all.Blockhash, ParentSlot: all.ParentSlot, ParentBlockhash: all.ParentBlockhash, BlockTime: all.BlockTime,
		ExecutedTransactionCount: all.ExecutedTransactionCount,
	}
	for _, tx := range all.Transactions {
		if !tx.IsVote {
			b.Transactions = append(b.Transactions, tx)
		}
	}
	return b
}

func (k *task) add(b sourcetest.RealBlock, data []byte, read func() (*chain.Block, error), peer func() error) {
	decoder := decode.New(nil)
	k.ours = append(k.ours, func() error {
		block, err := read()
		if err != nil {
			return err
		}
		for i := range block.Transactions {
			tx := &block.Transactions[i]
			runtime.KeepAlive(decoder.Decode(tx, block.Slot, block.BlockTime))
			runtime.KeepAlive(decode.Sightings(tx))
			runtime.KeepAlive(decoder.Swaps(tx, block.Slot, block.BlockTime))
		}
		return nil
	})
	k.peer = append(k.peer, peer)
	k.bytes += len(data)
	k.transactions += len(b.Transactions)
	k.votes += b.Votes
}

// BenchmarkBlockToEvents: from a block's bytes to its events, sightings and swap legs in memory, on
// one core, beside proto.Unmarshal of the same blocks. The two take turns, block by block, and the
// quickest time of each block counts, so that a neighbour on the machine disturbs neither figure.
// x-unmarshal is how many times as fast as the peer.
func BenchmarkBlockToEvents(b *testing.B) {
	for _, k := range tasks(b) {
		b.Run(k.name, func(b *testing.B) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			best, bestPeer := slowest(len(k.ours)), slowest(len(k.peer))
			var total time.Duration
			var allocs uint64
			for b.Loop() {
				for i := range k.ours {
					clock(b, k.peer[i], &bestPeer[i])
					before := mallocs()
					total += clock(b, k.ours[i], &best[i])
					allocs += mallocs() - before
				}
			}
			seconds, peer := sum(best).Seconds(), sum(bestPeer).Seconds()
			b.ReportMetric(float64(k.bytes)/1e6/seconds, "MB/s")
			b.ReportMetric(float64(k.transactions)/seconds, "tx/s")
			b.ReportMetric(float64(k.transactions-k.votes)/seconds, "non-vote-tx/s")
			b.ReportMetric(float64(k.transactions-k.votes)/peer, "unmarshal-non-vote-tx/s")
			b.ReportMetric(peer/seconds, "x-unmarshal")
			b.ReportMetric(float64(allocs)/float64(b.N)/float64(k.transactions), "allocs/tx")
			b.ReportMetric(float64(total.Nanoseconds())/float64(b.N), "ns/op")
		})
	}
}

func slowest(n int) []time.Duration {
	all := make([]time.Duration, n)
	for i := range all {
		all[i] = math.MaxInt64 / time.Duration(n+1)
	}
	return all
}

// clock runs do and notes the time if it is the best.
func clock(b *testing.B, do func() error, best *time.Duration) time.Duration {
	begin := time.Now()
	err := do()
	took := time.Since(begin)
	if err != nil {
		b.Fatal(err)
	}
	*best = min(*best, took)
	return took
}

func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

func sum(all []time.Duration) (total time.Duration) {
	for _, d := range all {
		total += d
	}
	return total
}

// maxAllocs bounds allocations per transaction, votes included, from bytes to events. The generated
// types take some forty.
const maxAllocs = 8

func TestAllocationsPerTransaction(t *testing.T) {
	for _, k := range tasks(t) {
		allocs := testing.AllocsPerRun(1, func() {
			for _, do := range k.ours {
				require.NoError(t, do())
			}
		})
		per := allocs / float64(k.transactions)
		t.Log(k.name, strconv.FormatFloat(per, 'f', 2, 64), "allocations a transaction")
		require.Less(t, per, float64(maxAllocs), k.name)
	}
}

func encode(t testing.TB, m proto.Message) []byte {
	t.Helper()
	data, err := proto.Marshal(m)
	require.NoError(t, err)
	return data
}
