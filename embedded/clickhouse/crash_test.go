package chengine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	chengine "github.com/mintlake/mintlake/embedded/clickhouse"
	"github.com/mintlake/mintlake/internal/clickhouse"
)

// metric returns the value of a metric of the engine.
func metric(t *testing.T, r *running, name string) float64 {
	t.Helper()
	families, err := r.registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() == name {
			m := family.GetMetric()[0]
			if family.GetType() == dto.MetricType_COUNTER {
				return m.GetCounter().GetValue()
			}
			return m.GetGauge().GetValue()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

// writer inserts batches of its own ids and remembers which were acknowledged.
type writer struct {
	id           uint64
	acknowledged atomic.Uint64 // batches 0 … n-1
	attempts     atomic.Uint64
	odd          error // an error that Retryable did not take for retryable
}

const batchRows = 500

func (w *writer) run(ctx context.Context, conn driver.Conn) {
	for ctx.Err() == nil {
		if err := w.insert(ctx, conn, w.acknowledged.Load()); err != nil {
			if ctx.Err() == nil && !clickhouse.Retryable(err) && !errors.Is(err, context.Canceled) {
				w.odd = err
				return
			}
			w.attempts.Add(1)
			time.Sleep(5 * time.Millisecond)
			continue
		}
		w.acknowledged.Add(1)
	}
}

func (w *writer) insert(ctx context.Context, conn driver.Conn, n uint64) error {
	batch, err := conn.PrepareBatch(ctx, "INSERT INTO crash.rows (writer, n, text)")
	if err != nil {
		return err
	}
	for i := range uint64(batchRows) {
		if err := batch.Append(w.id, n*batchRows+i, fmt.Sprintf("row\n\n%d", i)); err != nil {
			return err
		}
	}
	return batch.Send()
}

// TestKillLosesNothing kills the engine again and again under four writers. Each kill may cost a
// second, and no row that was acknowledged.
func TestKillLosesNothing(t *testing.T) {
	kills := 12
	if testing.Short() {
		kills = 3
	}
	r := start(t, chengine.Config{})
	conn, err := clickhouse.Open(t.Context(), r.DSN())
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	require.NoError(t, conn.Exec(t.Context(), "CREATE DATABASE crash ENGINE = Atomic"))
	require.NoError(t, conn.Exec(t.Context(), "CREATE TABLE crash.rows (writer UInt64, n UInt64, text String) ENGINE = ReplacingMergeTree ORDER BY (writer, n)"))

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var group sync.WaitGroup
	writers := make([]*writer, 4)
	for i := range writers {
		writers[i] = &writer{id: uint64(i)}
		group.Go(func() { writers[i].run(ctx, conn) })
	}
	var outages []time.Duration
	for range kills {
		time.Sleep(time.Duration(200+rand.IntN(300)) * time.Millisecond)
		outages = append(outages, killAndMeasure(t, r))
	}
	cancel()
	group.Wait()

	// The pool of the writers may still hold connections of the child that was killed last.
	reader, err := clickhouse.Open(t.Context(), r.DSN())
	require.NoError(t, err)
	defer func() { _ = reader.Close() }()
	var batches, retries uint64
	for _, w := range writers {
		require.NoError(t, w.odd, "Retryable must know what a kill looks like")
		acknowledged := w.acknowledged.Load()
		batches += acknowledged
		retries += w.attempts.Load()
		var have uint64
		require.NoError(t, reader.QueryRow(t.Context(), "SELECT uniqExact(n) FROM crash.rows WHERE writer = ? AND n < ?", w.id, acknowledged*batchRows).Scan(&have))
		require.Equal(t, acknowledged*batchRows, have, "writer %d lost acknowledged rows", w.id)
	}
	slices.Sort(outages)
	median, worst := outages[len(outages)/2], outages[len(outages)-1]
	// A quiet machine has 0.4 s; what a busy one needs says nothing about us, but a hang would.
	require.Less(t, worst, 5*time.Minute)
	require.Equal(t, float64(kills), metric(t, r, "mintlake_embedded_clickhouse_restarts_total"))
	t.Logf("%d kills, %d batches acknowledged, %d repeated, outage %s median, %s worst", kills, batches, retries, median, worst)
}

// killAndMeasure kills the child and returns how long it took until a new connection, made right
// after, got an answer.
func killAndMeasure(t *testing.T, r *running) time.Duration {
	t.Helper()
	begin := time.Now()
	pid := signalChild(t, r, syscall.SIGKILL)
	require.Eventually(t, func() bool { return r.PID() != pid }, 2*time.Minute, time.Millisecond)
	// Not one attempt in a loop: the socket stays open, so a single connection waits and is
	// answered.
	require.Equal(t, "1\n", curl(t, r.Addr(), "SELECT 1", "").body)
	return time.Since(begin)
}

// TestConnectionsWaitDuringRestart: connections made while there is no child are served by the next
// one.
func TestConnectionsWaitDuringRestart(t *testing.T) {
	r := start(t, chengine.Config{})
	pid := signalChild(t, r, syscall.SIGKILL)
	require.Eventually(t, func() bool { return r.PID() != pid }, 2*time.Minute, time.Microsecond)
	var group sync.WaitGroup
	bodies := make([]string, 20)
	for i := range bodies {
		group.Go(func() { bodies[i] = curl(t, r.Addr(), "SELECT 1", "").body })
	}
	group.Wait()
	for _, body := range bodies {
		require.Equal(t, "1\n", body)
	}
}

// TestRepeatedCrashes: an engine that keeps crashing is restarted with growing pauses, and for
// ever, because each time it did start.
func TestRepeatedCrashes(t *testing.T) {
	r := start(t, chengine.Config{}.WithMaxFailedStarts(2))
	for range 4 {
		killAndMeasure(t, r)
	}
	require.Equal(t, 4.0, metric(t, r, "mintlake_embedded_clickhouse_restarts_total"))
	require.Zero(t, metric(t, r, "mintlake_embedded_clickhouse_failed_starts_total"))
	require.NoError(t, r.stop())
	require.Zero(t, metric(t, r, "mintlake_embedded_clickhouse_up"))
}

// TestStopLetsQueriesFinish: a clean stop waits for the running insert and answers it.
func TestStopLetsQueriesFinish(t *testing.T) {
	r := start(t, chengine.Config{}.WithStopTimeout(5*time.Minute))
	result := make(chan string, 1)
	go func() {
		var body string
		defer func() { result <- body }() // also when curl ends this goroutine
		body = curl(t, r.Addr(), "", "SELECT sleep(1), 'finished'").body
	}()
	running := "SELECT count() FROM system.processes WHERE query LIKE '%finished%' AND query NOT LIKE '%processes%'"
	for len(result) == 0 && curl(t, r.Addr(), running, "").body == "0\n" {
		time.Sleep(time.Millisecond)
	}
	require.NoError(t, r.stop())
	require.Contains(t, <-result, "finished")
}

// TestHangingChildIsReplaced: a child that lives and does not answer is killed.
func TestHangingChildIsReplaced(t *testing.T) {
	r := launch(t, chengine.Config{}, func(e *chengine.Engine) { e.SetPing(100*time.Millisecond, time.Second) })
	require.NoError(t, waitReady(t, r))
	pid := signalChild(t, r, syscall.SIGSTOP)
	require.Eventually(t, func() bool { now := r.PID(); return now != pid && now != 0 }, 2*time.Minute, 10*time.Millisecond)
	require.Equal(t, "1\n", curl(t, r.Addr(), "SELECT 1", "").body)
}

// TestPingEndsWithItsChild: a ping that a child did not take is no reason to wait with the next
// child.
func TestPingEndsWithItsChild(t *testing.T) {
	r := launch(t, chengine.Config{}, func(e *chengine.Engine) { e.SetPing(10*time.Millisecond, time.Hour) })
	require.NoError(t, waitReady(t, r))
	pid := signalChild(t, r, syscall.SIGSTOP)
	time.Sleep(200 * time.Millisecond) // a ping is under way
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	require.Eventually(t, func() bool { now := r.PID(); return now != pid && now != 0 }, 2*time.Minute, 10*time.Millisecond)
	require.Equal(t, "1\n", curl(t, r.Addr(), "SELECT 1", "").body)
}

// TestMoreQueriesThanConnections: the surplus waits its turn.
func TestMoreQueriesThanConnections(t *testing.T) {
	r := start(t, chengine.Config{}.WithConnections(2))
	var group sync.WaitGroup
	bodies := make([]string, 8)
	for i := range bodies {
		group.Go(func() { bodies[i] = curl(t, r.Addr(), "SELECT sleep(0.1)", "").body })
	}
	group.Wait()
	for _, body := range bodies {
		require.Equal(t, "0\n", body)
	}
}
