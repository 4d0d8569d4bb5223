package unknowns

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

func newBook(t *testing.T) *Book {
	t.Helper()
	b, err := New(nil, prometheus.NewRegistry())
	require.NoError(t, err)
	return b
}

// topic is a producer that keeps the records, and fails while err is set.
type topic struct {
	mu      sync.Mutex
	err     error
	records []kafka.Record
}

func (p *topic) Produce(_ context.Context, records ...kafka.Record) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.records = append(p.records, records...)
	}
	return p.err
}

func (p *topic) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = err
}

func (p *topic) written() []kafka.Record {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.records
}

func (p *topic) fold() []Known {
	var fold Fold
	for _, record := range p.written() {
		fold.Add(record.Value)
	}
	return fold.List(time.Now())
}

// TestEachKind: what is noted is counted by kind and told with its sample.
func TestEachKind(t *testing.T) {
	b, to := newBook(t), &topic{}
	for i, kind := range Kinds() {
		for range i + 1 {
			b.Note(kind, "7", Sighting{Source: "ingest", Slot: uint64(100 + i), Place: "here", Sample: []byte{byte(i)}})
		}
	}
	require.NoError(t, b.write(t.Context(), to, rewriteAfter))
	require.Len(t, to.fold(), len(Kinds()))
	for i, kind := range Kinds() {
		require.EqualValues(t, i+1, testutil.ToFloat64(b.counter.WithLabelValues(string(kind))), kind)
		slot := uint64(100 + i)
		found := find(to.fold(), kind, "7")
		require.NotNil(t, found, kind)
		require.Equal(t, Known{
			Kind: string(kind), Name: "7", Count: uint64(i + 1), Sources: []string{"ingest"}, FirstSlot: &slot, LastSlot: &slot,
			FirstSeenMS: found.FirstSeenMS, LastSeenMS: found.LastSeenMS, Sample: []byte{byte(i)}, SampleBytes: 1, SamplePlace: "here",
		}, *found)
	}
	require.Equal(t, schemas.TopicUnknowns, to.written()[0].Topic)
}

func find(list []Known, kind Kind, name string) *Known {
	for i := range list {
		if list[i].Kind == string(kind) && list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

// TestAFloodIsBounded: hostile names and samples take neither memory nor series, in the book and in
// the fold.
func TestAFloodIsBounded(t *testing.T) {
	b, to := newBook(t), &topic{}
	const flood = 10_000
	for i := range flood {
		name := fmt.Sprintf("%d\x1b[31m\xff%s", i, strings.Repeat("long", 1000))
		b.Note(Instruction, name, Sighting{Source: "ingest", Place: name, Sample: make([]byte, 64<<10)})
	}
	b.Note(Kind("invented"), "x", Sighting{})
	require.Len(t, b.kinds[Instruction], MaxNames+1)
	require.Equal(t, len(Kinds()), testutil.CollectAndCount(b.counter))
	require.NoError(t, b.write(t.Context(), to, rewriteAfter))
	list := to.fold()
	require.Len(t, list, MaxNames+1)
	require.EqualValues(t, flood-MaxNames, find(list, Instruction, Other).Count)
	for _, k := range list {
		require.LessOrEqual(t, len(k.Name), MaxName)
		require.LessOrEqual(t, len(k.SamplePlace), MaxName)
		require.NotContains(t, k.Name+k.SamplePlace, "\x1b")
		require.Len(t, k.Sample, MaxSample)
		require.EqualValues(t, 64<<10, k.SampleBytes)
	}
	for _, record := range to.written() {
		require.Less(t, len(record.Value), MaxSample+4*MaxName)
	}

	var fold Fold // of writers that keep no bounds
	for i := range flood {
		value, err := proto.Marshal(&eventspb.Unknown{
			Kind: fmt.Sprint("kind", i), Name: fmt.Sprint(i), Source: fmt.Sprint(i), Count: 1, LastSeenMs: time.Now().UnixMilli(), Sample: make([]byte, 64<<10),
		})
		require.NoError(t, err)
		fold.Add(value)
		fold.Add(value[:len(value)/2])
	}
	list = fold.List(time.Now())
	require.Len(t, list, MaxNames+1)
	for _, k := range list {
		require.Equal(t, Other, k.Kind)
		require.LessOrEqual(t, len(k.Sources), maxSources)
		require.LessOrEqual(t, len(k.Sample), MaxSample)
	}
}

// TestRun: a new name is written within seconds, its growth every ten minutes and at the end, and
// nothing is lost or counted twice while Kafka is away.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, to := newBook(t), &topic{err: errors.New("away")}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- b.Run(ctx, to) }()
		b.Note(SlotStatus, "9", Sighting{Source: "stream", Sample: []byte("one")})
		time.Sleep(10 * time.Second)
		require.Empty(t, to.fold())
		to.fail(nil)
		time.Sleep(2 * writeTimeout)
		require.EqualValues(t, 1, find(to.fold(), SlotStatus, "9").Count)

		for range 600 {
			b.Note(SlotStatus, "9", Sighting{Source: "stream", Sample: []byte("other")})
			time.Sleep(time.Second)
		}
		require.LessOrEqual(t, len(to.written()), 2)
		b.Note(SlotStatus, "9", Sighting{Source: "stream"})
		stop()
		require.NoError(t, <-done)
		known := find(to.fold(), SlotStatus, "9")
		require.EqualValues(t, 602, known.Count)
		require.Equal(t, "one", string(known.Sample))
	})
}

func TestConcurrentNotes(t *testing.T) {
	b, to := newBook(t), &topic{}
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := range 1000 {
				b.Note(RPCErrorCode, fmt.Sprint(i%10), Sighting{Slot: uint64(worker)})
				if i%100 == 0 {
					_ = b.write(t.Context(), &topic{err: errors.New("away")}, 0)
				}
			}
		})
	}
	all.Wait()
	require.NoError(t, b.write(t.Context(), to, 0))
	for i := range 10 {
		require.EqualValues(t, 400, find(to.fold(), RPCErrorCode, fmt.Sprint(i)).Count)
	}
}

// TestOldOnesGo: what was last seen before the topic's retention is not listed.
func TestOldOnesGo(t *testing.T) {
	b, to := newBook(t), &topic{}
	b.Note(RewardType, "12", Sighting{})
	require.NoError(t, b.write(t.Context(), to, 0))
	var fold Fold
	fold.Add(to.written()[0].Value)
	require.Len(t, fold.List(time.Now().Add(29*24*time.Hour)), 1)
	require.Empty(t, fold.List(time.Now().Add(31*24*time.Hour)))
}

// TestFields: the fields of a message that the generated code lacks are named by message and
// number, and a nil book takes them too.
func TestFields(t *testing.T) {
	raw := protowire.AppendTag(nil, 9, protowire.VarintType)
	raw = protowire.AppendVarint(raw, 5)
	raw = protowire.AppendTag(raw, 1000, protowire.BytesType)
	raw = protowire.AppendBytes(raw, []byte("new"))
	update := &pb.SubscribeUpdateSlot{Slot: 4}
	update.ProtoReflect().SetUnknown(raw)
	b, to := newBook(t), &topic{}
	b.Fields(update.ProtoReflect(), Sighting{Source: "swap", Slot: 4})
	b.Fields((&pb.SubscribeUpdateSlot{Slot: 4}).ProtoReflect(), Sighting{})
	(*Book)(nil).Fields(update.ProtoReflect(), Sighting{})
	(*Book)(nil).Note(SlotStatus, "1", Sighting{})
	require.NoError(t, b.write(t.Context(), to, 0))
	require.Len(t, to.fold(), 2)
	require.Equal(t, raw[:2], find(to.fold(), ProtobufField, "geyser.SubscribeUpdateSlot.9").Sample)
	require.NotNil(t, find(to.fold(), ProtobufField, "geyser.SubscribeUpdateSlot.1000"))
}
