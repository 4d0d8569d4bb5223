package swaps

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	chengine "github.com/mintlake/mintlake/embedded/clickhouse"
	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// oneBatch gives its records once and then none.
type oneBatch struct {
	records   []kafka.Record
	committed atomic.Bool
}

func (o *oneBatch) FetchBatch(ctx context.Context, _ int, _ time.Duration) ([]kafka.Record, error) {
	if records := o.records; records != nil {
		o.records = nil
		return records, nil
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func (o *oneBatch) Commit(context.Context, []kafka.Record) error {
	o.committed.Store(true)
	return nil
}

func (o *oneBatch) Produce(context.Context, ...kafka.Record) error { return nil }

func legRecords(t *testing.T, count int) []kafka.Record {
	t.Helper()
	records := make([]kafka.Record, count)
	for i := range records {
		signature := make([]byte, 64)
		binary.BigEndian.PutUint32(signature, uint32(i+1))
		key := func(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }
		value, err := proto.Marshal(&eventspb.SwapLeg{
			Position: &eventspb.Position{Slot: 400_000_000 + uint64(i), TransactionIndex: proto.Uint32(uint32(i))}, BlockTime: 1_800_000_000,
			Signature: signature, ProgramId: key(1), Venue: "raydium_cpmm", Pool: key(byte(2 + i%5)), MintIn: key(100), MintOut: key(101), AmountIn: 5, AmountOut: 7,
		})
		require.NoError(t, err)
		records[i] = kafka.Record{
			Topic: schemas.TopicSwaps, Offset: int64(i), Value: value, Headers: []kafka.Header{{Key: schemas.HeaderType, Value: []byte(schemas.TypeSwapLegIn)}},
		}
	}
	return records
}

// lines is a log that goroutines write.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// ownEngine starts an engine for a test that breaks it.
func ownEngine(t *testing.T, logger *slog.Logger, registry *prometheus.Registry) *chengine.Engine {
	t.Helper()
	chtest.NeedsEngine(t)
	engine, err := chengine.New(chengine.Config{DataDir: t.TempDir(), Addr: "127.0.0.1:0", LetGo: time.Second}, chengine.Deps{Logger: logger, Registerer: registry})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = engine.Run(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
	require.NoError(t, engine.WaitReady(t.Context()))
	return engine
}

// TestInsertThatTheEngineDoesNotLetGoOf: an insert into pools_raw hangs inside the engine where no
// KILL QUERY reaches it: a view of the table opens a pipe that nobody writes to. The projector goes
// on by itself, with a new engine, and every row is there once.
func TestInsertThatTheEngineDoesNotLetGoOf(t *testing.T) {
	log := &lines{}
	logger, registry := slog.New(slog.NewTextHandler(log, nil)), prometheus.NewRegistry()
	engine := ownEngine(t, logger, registry)
	conn, err := clickhouse.Open(t.Context(), engine.DSN(), clickhouse.WithWriteLimit(2*time.Second))
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	migrating, err := clickhouse.Open(t.Context(), engine.DSN())
	require.NoError(t, err)
	defer func() { _ = migrating.Close() }()
	chtest.Migrate(t, migrating, schema.Database)
	gate := filepath.Join(t.TempDir(), "gate")
	require.NoError(t, os.WriteFile(gate, []byte("open\n"), 0o600))
	require.NoError(t, migrating.Exec(t.Context(), "CREATE TABLE mintlake.copies (pool String) ENGINE = MergeTree ORDER BY pool"))
	require.NoError(t, migrating.Exec(t.Context(), fmt.Sprintf("CREATE MATERIALIZED VIEW mintlake.through TO mintlake.copies AS SELECT pool FROM mintlake.pools_raw "+
		"WHERE (SELECT count() FROM file('%s', 'LineAsString', 'line String')) > 0", gate)))
	require.NoError(t, os.Remove(gate))
	require.NoError(t, syscall.Mkfifo(gate, 0o600))

	const legs = 500
	delivery := &oneBatch{records: legRecords(t, legs)}
	room, err := New(Deps{Consumer: delivery, Producer: delivery, Store: NewClickHouse(conn, schema.Database), Logger: logger, Registerer: registry})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	child := engine.PID()
	go func() { ended <- room.Run(ctx) }()
	require.Eventually(t, func() bool { pid := engine.PID(); return pid != 0 && pid != child }, 2*time.Minute, 10*time.Millisecond, "the engine is replaced")
	require.False(t, delivery.committed.Load(), "nothing is committed that is not stored")
	require.NoError(t, os.Remove(gate))
	require.NoError(t, os.WriteFile(gate, []byte("open\n"), 0o600))
	require.Eventually(t, delivery.committed.Load, 2*time.Minute, 10*time.Millisecond, "the projector goes on by itself")
	stop()
	require.NoError(t, <-ended)

	for query, want := range map[string]uint64{
		"swaps_raw FINAL": legs, "pools_raw FINAL": 5, "last_trades_raw FINAL": 2, "swap_minutes_raw FINAL": 1,
	} {
		require.Equal(t, want, count(t, migrating, query), query)
	}
	require.Contains(t, log.String(), "clickhouse refused rows, trying again")
	require.Contains(t, log.String(), "insert pools_raw: send: the write did not end within its limit and was killed")
	require.Contains(t, log.String(), "embedded clickhouse does not end a query that was killed: its process is replaced")
	requireMetric(t, registry, "mintlake_swaps_write_limits_total")
	requireMetric(t, registry, "mintlake_embedded_clickhouse_stuck_total")
}

func count(t *testing.T, conn driver.Conn, table string) (rows uint64) {
	t.Helper()
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count() FROM mintlake."+table).Scan(&rows))
	return rows
}

// requireMetric wants a counter that has counted.
func requireMetric(t *testing.T, registry *prometheus.Registry, name string) {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() == name {
			require.Positive(t, family.GetMetric()[0].GetCounter().GetValue(), name)
			return
		}
	}
	t.Fatalf("no metric %s", name)
}
