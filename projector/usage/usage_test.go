package usage_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
	"github.com/mintlake/mintlake/projector/usage"
	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

func TestMain(m *testing.M) { os.Exit(chtest.Main(m)) }

// world gives batches and stops the projector behind the last one.
type world struct {
	batches   [][]kafka.Record
	stop      context.CancelFunc
	committed int
	letters   []kafka.Record
}

func (w *world) FetchBatch(ctx context.Context, _ int, _ time.Duration) ([]kafka.Record, error) {
	if len(w.batches) == 0 {
		w.stop()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	batch := w.batches[0]
	w.batches = w.batches[1:]
	return batch, nil
}

func (w *world) Commit(_ context.Context, records []kafka.Record) error {
	w.committed += len(records)
	return nil
}

func (w *world) Produce(_ context.Context, records ...kafka.Record) error {
	w.letters = append(w.letters, records...)
	return nil
}

const minute = 1_800_000_000

func record(t testing.TB, u *eventspb.Usage) kafka.Record {
	t.Helper()
	value, err := proto.Marshal(u)
	require.NoError(t, err)
	return kafka.Record{Topic: schemas.TopicGatewayUsage, Value: value}
}

func used(node string, epoch, sequence uint64, at int64, requests, streams uint64) *eventspb.Usage {
	return &eventspb.Usage{
		Node: node, Epoch: epoch, Sequence: sequence, Minute: at, Product: "rpc", Key: "alice", Method: "getSlot",
		Requests: requests, Bytes: 100 * requests, Units: requests, Streams: streams,
	}
}

// Repeats, other orders and totals of several processes: each is counted once.
func TestEachTotalCountsOnce(t *testing.T) {
	conn, _ := chtest.Migrated(t)
	store := usage.NewClickHouse(conn, schema.Database)
	require.NoError(t, store.Check(t.Context()))
	early, late, other, next, again := used("a", 1, 1, minute, 3, 2), used("a", 1, 5, minute, 10, 2), used("b", 2, 1, minute, 4, 1),
		used("a", 1, 6, minute+60, 7, 0), used("a", 3, 1, minute, 100, 5)
	w := &world{batches: [][]kafka.Record{
		{record(t, late), record(t, other)}, {record(t, early), record(t, next), {Topic: schemas.TopicGatewayUsage, Value: []byte{1}}}, {record(t, late), record(t, again)},
	}}
	ctx, cancel := context.WithCancel(t.Context())
	w.stop = cancel
	p, err := usage.New(usage.Deps{Consumer: w, Producer: w, Store: store, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	require.NoError(t, p.Run(ctx))
	require.Equal(t, 7, w.committed)
	require.Len(t, w.letters, 1)
	var rows []struct {
		Requests uint64 `ch:"requests"`
		Bytes    uint64 `ch:"bytes"`
		Streams  uint64 `ch:"streams"`
	}
	require.NoError(t, conn.Select(t.Context(), &rows, "SELECT requests, bytes, streams FROM mintlake.key_usage_1m WHERE key = 'alice' ORDER BY minute"))
	require.Equal(t, "[{114 11400 8} {7 700 0}]", fmt.Sprint(rows))
}

// Whatever a record holds, it is a row that the table takes, or a dead letter.
func FuzzRecords(f *testing.F) {
	f.Add(record(f, used("a", 1, 1, minute, 3, 2)).Value)
	f.Add(record(f, used("", 1, 1, 7, 3, 2)).Value)
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, value []byte) {
		w := &world{batches: [][]kafka.Record{{{Topic: schemas.TopicGatewayUsage, Value: value}}}}
		ctx, cancel := context.WithCancel(t.Context())
		w.stop = cancel
		rows := &memory{}
		p, err := usage.New(usage.Deps{Consumer: w, Producer: w, Store: rows, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		require.NoError(t, p.Run(ctx))
		require.Equal(t, 1, len(rows.rows)+len(w.letters))
		for _, row := range rows.rows {
			require.Positive(t, row.GetMinute())
			require.Zero(t, row.GetMinute()%60)
			require.LessOrEqual(t, len(row.GetKey()), 64)
		}
	})
}

type memory struct{ rows []*eventspb.Usage }

func (m *memory) Insert(_ context.Context, rows []*eventspb.Usage) error {
	m.rows = append(m.rows, rows...)
	return nil
}

func (m *memory) Retryable(error) bool { return false }
