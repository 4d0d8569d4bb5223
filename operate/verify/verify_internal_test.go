package verify

import (
	"context"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/operate/tables"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
)

// recorder keeps the statements that a cluster would get instead of running them.
type recorder struct {
	driver.Conn
	statements []string
}

func (r *recorder) Exec(_ context.Context, query string, _ ...any) error {
	r.statements = append(r.statements, query)
	return nil
}

func (r *recorder) Select(context.Context, any, string, ...any) error { return nil }

func (r *recorder) PrepareBatch(context.Context, string, ...driver.PrepareBatchOption) (driver.Batch, error) {
	return recorded{}, nil
}

// recorded is a batch that goes nowhere.
type recorded struct{ driver.Batch }

func (recorded) Append(...any) error { return nil }
func (recorded) Send() error         { return nil }
func (recorded) Abort() error        { return nil }
func (recorded) Close() error        { return nil }

// TestExpectedTablesAreSpread: in a cluster the expected rows lie on all shards, as the others do.
func TestExpectedTablesAreSpread(t *testing.T) {
	conn := &recorder{}
	run := &Run{Tables: &tables.Tables{Conn: conn, Cluster: "main"}}
	require.NoError(t, run.create(t.Context()))
	sent := strings.Join(conn.statements, ";\n")
	require.NotContains(t, sent, schema.Database+".", "only the database of the expected rows is written to")
	for _, statement := range conn.statements {
		if !strings.HasPrefix(statement, "INSERT") { // goes to a Distributed table
			require.Contains(t, statement, "ON CLUSTER 'main'")
		}
	}
	require.Contains(t, sent, "ENGINE = Distributed('main', '"+Database+"', 'tokens_raw_local', cityHash64(mint))")
}
