package parts

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

// remote is a ClickHouse elsewhere with two parts, a and b. The check of a does what check says;
// that of b passes.
type remote struct {
	driver.Conn
	check func(ctx context.Context) error
	ping  error
}

func (r *remote) Select(_ context.Context, dest any, _ string, _ ...any) error {
	switch list := dest.(type) {
	case *[]table:
		*list = []table{{Name: "t", Folder: "/none"}}
	case *[]part:
		*list = []part{{Table: "t", Name: "a", Rows: 7}, {Table: "t", Name: "b"}}
	}
	return nil
}

func (r *remote) Query(ctx context.Context, query string, _ ...any) (driver.Rows, error) {
	if strings.Contains(query, "PART 'a'") {
		if err := r.check(ctx); err != nil {
			return nil, err
		}
	}
	return noRows{}, nil
}

func (r *remote) Ping(context.Context) error { return r.ping }

type noRows struct{ driver.Rows }

func (noRows) Next() bool   { return false }
func (noRows) Err() error   { return nil }
func (noRows) Close() error { return nil }

func watchOf(t *testing.T, conn *remote, log *bytes.Buffer, limit time.Duration) *Watch {
	t.Helper()
	w, err := New(Config{Database: "d", every: time.Millisecond, checkLimit: limit},
		Deps{Conn: conn, Logger: slog.New(slog.NewTextHandler(log, nil)), Registerer: prometheus.NewRegistry()})
	require.NoError(t, err)
	require.NoError(t, w.Look(t.Context()))
	return w
}

// TestACheckThatDoesNotEndIsTold, in the list, the log and the metrics, and taken back when a later
// check passes.
func TestACheckThatDoesNotEndIsTold(t *testing.T) {
	var log bytes.Buffer
	conn := &remote{check: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
	w := watchOf(t, conn, &log, 20*time.Millisecond)
	checks := schedule{}
	next, ok := checks.due(w.active, time.Now())
	require.True(t, ok)
	require.Equal(t, "a", next.Name)
	w.checkOne(t.Context(), checks, &next)
	require.NoError(t, w.Look(t.Context()))
	damage, _ := w.Damage()
	require.Len(t, damage, 1)
	require.Equal(t, Damage{Table: "t", Part: "a", Kind: Unchecked, Reason: damage[0].Reason, Rows: new(uint64(7))}, damage[0])
	require.Contains(t, log.String(), "it may be damaged")
	require.InDelta(t, 1, testutil.ToFloat64(w.metrics.damaged.WithLabelValues(Unchecked)), 0)

	other, ok := checks.due(w.active, time.Now())
	require.True(t, ok)
	require.Equal(t, "b", other.Name, "the others are checked meanwhile")
	w.checkOne(t.Context(), checks, &other)
	_, ok = checks.due(w.active, time.Now())
	require.False(t, ok, "nothing is due")
	again, ok := checks.due(w.active, time.Now().Add(firstRetry))
	require.True(t, ok)
	require.Equal(t, "a", again.Name)

	conn.check = func(context.Context) error { return nil }
	w.checkOne(t.Context(), checks, &again)
	require.NoError(t, w.Look(t.Context()))
	damage, _ = w.Damage()
	require.Empty(t, damage)
}

// TestAClickHouseThatIsAwayDamagesNoPart: what tells is a check that fails twice while ClickHouse
// answers.
func TestAClickHouseThatIsAwayDamagesNoPart(t *testing.T) {
	var log bytes.Buffer
	conn := &remote{check: func(context.Context) error { return errors.New("connection reset") }, ping: errors.New("connection refused")}
	w := watchOf(t, conn, &log, time.Minute)
	checks := schedule{}
	a := w.active[0]
	for range 3 {
		w.checkOne(t.Context(), checks, &a)
	}
	require.Empty(t, w.found)
	conn.ping = nil
	w.checkOne(t.Context(), checks, &a)
	require.Empty(t, w.found, "it may have been replaced for another's sake")
	w.checkOne(t.Context(), checks, &a)
	require.Equal(t, Unchecked, w.found[a.key()].kind)
}
