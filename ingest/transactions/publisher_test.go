package transactions

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	geyserpb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// broker keeps what is written while it is up.
type broker struct {
	mu      sync.Mutex
	records []kafka.Record
	up      chan struct{} // closed: writes go on
}

func newBroker(up bool) *broker {
	b := &broker{up: make(chan struct{})}
	if up {
		close(b.up)
	}
	return b
}

func (b *broker) Produce(ctx context.Context, records ...kafka.Record) error {
	select {
	case <-b.up:
	case <-ctx.Done():
		return ctx.Err()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.records = append(b.records, records...)
	return nil
}

// told is the topic's content as text: "7.1" a transaction, "7 end 2/0" the end of a slot with what
// was published and left out, "7 finalized" a status.
func (b *broker) told(t *testing.T) (list []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.records {
		switch string(r.Headers[0].Value) {
		case schemas.TypeTransaction:
			var tx geyserpb.SubscribeUpdateTransaction
			require.NoError(t, proto.Unmarshal(r.Value, &tx))
			require.Equal(t, fmt.Sprint(tx.Slot), string(r.Key))
			list = append(list, fmt.Sprintf("%d.%d", tx.Slot, tx.Transaction.Index))
		case schemas.TypeStreamBlock:
			var end eventspb.StreamBlock
			require.NoError(t, proto.Unmarshal(r.Value, &end))
			list = append(list, fmt.Sprintf("%d end %d/%d", end.Slot, end.Published, end.LeftOut))
		case schemas.TypeStreamStatus:
			var status eventspb.StreamStatus
			require.NoError(t, proto.Unmarshal(r.Value, &status))
			list = append(list, fmt.Sprintf("%d finalized", status.Slot))
		}
	}
	return list
}

type rawUpdate []byte

func (r rawUpdate) AppendUpdate(to []byte, _ bool) ([]byte, error) { return append(to, r...), nil }

type rawBroken struct{}

func (rawBroken) AppendUpdate([]byte, bool) ([]byte, error) { return nil, os.ErrInvalid }

// blockOf has n transactions of size bytes.
func blockOf(slot uint64, n, size int) *Block {
	parent := slot - 1
	b := &chain.Block{Slot: slot, ParentSlot: &parent, Whole: true}
	for i := range n {
		raw, err := proto.Marshal(&geyserpb.SubscribeUpdateTransactionInfo{Index: uint64(i), Signature: make([]byte, size)})
		if err != nil {
			panic(err)
		}
		b.Transactions = append(b.Transactions, chain.Transaction{Raw: rawUpdate(raw)})
	}
	return NewBlock(b, time.UnixMilli(1), false)
}

func publisher(t *testing.T, folder string, spill int64, out *broker) *Publisher {
	t.Helper()
	p, err := New(Config{Folder: folder, SpillBytes: spill, memoryTime: 40 * time.Millisecond}, Deps{Producer: out})
	require.NoError(t, err)
	p.Live()
	return p
}

// run starts p at slot 0; what it returns stops it, as a kill would: nothing is written any more.
func run(t *testing.T, p *Publisher) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	select {
	case <-p.begun:
	default:
		p.Begin(0)
	}
	go func() { done <- p.Run(ctx) }()
	return func() {
		cancel()
		require.NoError(t, <-done)
	}
}

func TestASlotIsItsTransactionsAndThenItsEnd(t *testing.T) {
	out := newBroker(true)
	// However late the writer is, no block moves to a disk that may not hold any.
	p, err := New(Config{Folder: t.TempDir(), memoryTime: time.Hour}, Deps{Producer: out})
	require.NoError(t, err)
	defer run(t, p)()
	<-p.Block(blockOf(7, 2, 1))
	p.Status(6, eventspb.StreamSlotStatus_STREAM_SLOT_STATUS_FINALIZED)
	broken := &chain.Block{Slot: 8, Whole: true, Transactions: []chain.Transaction{{Raw: rawBroken{}}, {}, {Raw: rawUpdate(nil)}}}
	<-p.Block(NewBlock(broken, time.Now(), false))
	<-p.Block(nil)
	require.Equal(t, []string{"7.0", "7.1", "7 end 2/0", "6 finalized", "8 end 0/1"}, out.told(t))
	require.Equal(t, kafka.Header{Key: schemas.HeaderTip, Value: []byte("7")}, out.records[3].Headers[3], "a lower slot says how far the topic is")
	require.Len(t, out.records[0].Headers, 3)
}

// TestVotesAreLeftOut: a source that is asked for all brings votes, too.
func TestVotesAreLeftOut(t *testing.T) {
	b := NewBlock(&chain.Block{Slot: 5, Whole: true, Transactions: []chain.Transaction{{Raw: rawUpdate("a")}, {Raw: rawUpdate("v"), Vote: true}}}, time.Now(), true)
	require.EqualValues(t, 1, b.end.GetPublished())
	require.Zero(t, b.end.GetLeftOut())
}

// While Kafka says nothing blocks become durable on disk, and are written in their order when it is
// back, by this process or by the next one.
func TestBlocksWaitOnDisk(t *testing.T) {
	folder, out := t.TempDir(), newBroker(false)
	p := publisher(t, folder, 1<<20, out)
	stop := run(t, p)
	var want []string
	for slot := range uint64(50) {
		<-p.Block(blockOf(100+slot, 1, 1))
		want = append(want, fmt.Sprintf("%d.0", 100+slot), fmt.Sprintf("%d end 1/0", 100+slot))
	}
	require.Empty(t, out.told(t))
	stop()
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	// A kill in the middle of an entry leaves a part of it.
	torn, err := os.OpenFile(files[len(files)-1], os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = torn.Write([]byte{0, 0, 1, 0, 1, 2, 3, 4, 5})
	require.NoError(t, err)
	require.NoError(t, torn.Close())

	out = newBroker(true)
	p = publisher(t, folder, 1<<20, out)
	<-p.Block(nil)
	defer run(t, p)()
	<-p.Block(blockOf(150, 0, 0))
	want = append(want, "150 end 0/0")
	// The last block is durable once it is in the topic or, behind the older ones, on disk.
	require.Eventually(t, func() bool { return len(out.told(t)) >= len(want) }, time.Minute, time.Millisecond)
	require.Equal(t, want, out.told(t), "the older ones first")
	require.Eventually(t, func() bool {
		files, err := filepath.Glob(filepath.Join(folder, "*"))
		return err == nil && len(files) == 0
	}, time.Minute, time.Millisecond, "nothing stays on disk")
}

// TestFilesWaitForKafka: what comes before Live waits in memory, however long Kafka takes.
func TestFilesWaitForKafka(t *testing.T) {
	folder, out := t.TempDir(), newBroker(false)
	p, err := New(Config{Folder: folder, SpillBytes: 1 << 20, memoryTime: time.Millisecond}, Deps{Producer: out})
	require.NoError(t, err)
	defer run(t, p)()
	var durable []<-chan struct{}
	for slot := range uint64(2 * memoryBlocks) {
		durable = append(durable, p.Block(blockOf(100+slot, 0, 0)))
	}
	p.age(time.Now().Add(time.Hour))
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	require.NoError(t, err)
	require.Empty(t, files)
	for _, one := range durable {
		select {
		case <-one:
			t.Fatal("durable nowhere")
		default:
		}
	}
	close(out.up)
	for _, one := range durable {
		<-one
	}
	require.Len(t, out.told(t), 2*memoryBlocks)
}

// TestASpillOfLongAgoKeepsTheOrder: another process led meanwhile. What was left is written with
// the tip of now, since a reader that looks for a slot relies on tips that never fall.
func TestASpillOfLongAgoKeepsTheOrder(t *testing.T) {
	folder := t.TempDir()
	p := publisher(t, folder, 1<<20, newBroker(false))
	stop := run(t, p)
	for slot := range uint64(4) {
		<-p.Block(blockOf(100+slot, 1, 1))
	}
	p.Status(102, eventspb.StreamSlotStatus_STREAM_SLOT_STATUS_FINALIZED) // it has a tip already
	stop()

	out := newBroker(true)
	p = publisher(t, folder, 1<<20, out)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	require.Eventually(t, func() bool { // the spill is open, so what is in it could be written
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.spill != nil
	}, time.Minute, time.Millisecond)
	p.Begin(500)
	p.Status(501, eventspb.StreamSlotStatus_STREAM_SLOT_STATUS_FINALIZED)
	require.Eventually(t, func() bool { return slices.Contains(out.told(t), "501 finalized") }, time.Minute, time.Millisecond)
	cancel()
	require.NoError(t, <-done)
	require.Equal(t, []string{
		"100.0", "100 end 1/0", "101.0", "101 end 1/0", "102.0", "102 end 1/0", "103.0", "103 end 1/0", "102 finalized", "501 finalized",
	}, out.told(t))
	for i := range out.records {
		var tips []string
		for _, h := range out.records[i].Headers {
			if h.Key == schemas.HeaderTip {
				tips = append(tips, string(h.Value))
			}
		}
		if i < len(out.records)-1 {
			require.Equal(t, []string{"500"}, tips, "record %d", i)
		}
	}
}

// TestADamagedSpillIsTold: a wrong bit costs one entry, which the log names; those behind it are
// written.
func TestADamagedSpillIsTold(t *testing.T) {
	folder := t.TempDir()
	p := publisher(t, folder, 1<<20, newBroker(false))
	stop := run(t, p)
	var want []string
	for slot := range uint64(9) {
		<-p.Block(blockOf(100+slot, 1, 1))
		if slot != 4 {
			want = append(want, fmt.Sprintf("%d.0", 100+slot), fmt.Sprintf("%d end 1/0", 100+slot))
		}
	}
	stop()
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	text, err := os.ReadFile(files[0])
	require.NoError(t, err)
	text[len(text)/2] ^= 1 // entries have one length: it is the middle one's
	require.NoError(t, os.WriteFile(files[0], text, 0o600))

	var log bytes.Buffer
	out := newBroker(true)
	p, err = New(Config{Folder: folder, SpillBytes: 1 << 20}, Deps{Producer: out, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	stop = run(t, p)
	require.Eventually(t, func() bool { return len(out.told(t)) >= len(want) }, time.Minute, time.Millisecond)
	stop()
	require.Equal(t, want, out.told(t))
	require.Contains(t, log.String(), "the stream's spill is damaged")
	require.Contains(t, log.String(), filepath.Base(files[0]))
}

// When the spill is full, transactions are left out, and the ends of their slots say so.
func TestAFullSpillIsTold(t *testing.T) {
	for _, spill := range []int64{0, 50_000} {
		out := newBroker(false)
		p := publisher(t, t.TempDir(), spill, out)
		stop := run(t, p)
		for slot := range uint64(100) {
			<-p.Block(blockOf(100+slot, 3, 1000))
		}
		close(out.up)
		last := p.Block(blockOf(200, 0, 0))
		<-last
		require.Eventually(t, func() bool { told := out.told(t); return len(told) > 0 && told[len(told)-1] == "200 end 0/0" }, time.Minute, time.Millisecond)
		ends, missing := 0, 0
		seen := map[string]bool{}
		for _, line := range out.told(t) {
			var slot, published, leftOut int
			if n, _ := fmt.Sscanf(line, "%d end %d/%d", &slot, &published, &leftOut); n == 3 && slot < 200 && !seen[line] {
				seen[line] = true
				require.Equal(t, 3, published+leftOut, line)
				ends++
				if missing += leftOut; leftOut == 0 {
					require.True(t, seen[fmt.Sprintf("%d.2", slot)], line)
				}
			}
			seen[line] = true
		}
		require.Equal(t, 100, ends)
		require.NotZero(t, missing)
		stop()
	}
}

// Random schedules of a broker that comes and goes and of processes that are killed: what became
// durable is on the topic, each slot whole and behind the one before, whatever repeats.
func TestNothingDurableIsLost(t *testing.T) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 1))
		folder, durable, all := t.TempDir(), map[uint64]bool{}, []string(nil)
		slot := uint64(0)
		for life := range 4 {
			out := newBroker(r.IntN(2) == 0 || life == 3)
			p := publisher(t, folder, 1<<20, out)
			stop := run(t, p)
			for range r.IntN(60) {
				slot++
				waits := p.Block(blockOf(slot, r.IntN(3), 100))
				if r.IntN(4) > 0 {
					<-waits
					durable[slot] = true
				}
			}
			if life == 3 {
				slot++
				<-p.Block(blockOf(slot, 1, 1))
				durable[slot] = true
				// It may be durable on disk, behind others. The topic has all once it has this one.
				last := fmt.Sprintf("%d end 1/0", slot)
				require.Eventually(t, func() bool { return slices.Contains(out.told(t), last) }, time.Minute, time.Millisecond)
			}
			stop()
			all = append(all, out.told(t)...)
		}
		whole, open := map[uint64]bool{}, map[uint64]int{}
		for _, line := range all {
			var at uint64
			var a, b int
			if n, _ := fmt.Sscanf(line, "%d end %d/%d", &at, &a, &b); n == 3 {
				require.Equal(t, a, open[at], "seed %d: %s", seed, line)
				require.Zero(t, b)
				whole[at], open[at] = true, 0
				continue
			}
			_, err := fmt.Sscanf(line, "%d.%d", &at, &a)
			require.NoError(t, err)
			open[at] = a + 1
		}
		for at := range durable {
			require.True(t, whole[at], "seed %d: slot %d became durable and is not on the topic", seed, at)
		}
	}
}
