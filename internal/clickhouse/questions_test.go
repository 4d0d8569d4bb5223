package clickhouse_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
)

// TestEveryQuestionEnds: those that run while ClickHouse hangs, and those that wait for a turn.
func TestEveryQuestionEnds(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and never answers
	require.NoError(t, err)
	defer listener.Close()
	_, dsn := chtest.Start(t)
	for name, dsn := range map[string]string{
		"hangs": "http://" + listener.Addr().String(),
		"slow":  dsn,
	} {
		t.Run(name, func(t *testing.T) {
			questions := clickhouse.NewQuestions(func(ctx context.Context) (driver.Conn, error) { return clickhouse.Open(ctx, dsn) },
				clickhouse.Bounds{Time: 300 * time.Millisecond, Concurrent: 2, Memory: 1 << 30, Threads: 1})
			defer func() { require.NoError(t, questions.Close()) }()
			errs := make(chan error, 6)
			for range 6 {
				go func() {
					errs <- questions.Ask(context.Background(), func(ctx context.Context, conn driver.Conn) error { return conn.Exec(ctx, "SELECT sleep(3)") })
				}()
			}
			hangs := time.After(30 * time.Second) // one connection after the other takes 10 s each
			for range 6 {
				select {
				case err := <-errs:
					require.ErrorIs(t, err, clickhouse.ErrUnavailable)
				case <-hangs:
					require.Fail(t, "a question does not end")
				}
			}
		})
	}
}
