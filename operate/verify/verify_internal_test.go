package verify

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/chtest"
	"github.com/mintlake/mintlake/operate/tables"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
)

// TestExpectedTablesAreSpread: in a cluster the expected rows lie on all shards, as the others do.
func TestExpectedTablesAreSpread(t *testing.T) {
	conn := &chtest.Recorder{}
	run := &Run{Tables: &tables.Tables{Conn: conn, Cluster: "main"}}
	require.NoError(t, run.create(t.Context()))
	sent := strings.Join(conn.Statements, ";\n")
	require.NotContains(t, sent, schema.Database+".", "only the database of the expected rows is written to")
	for _, statement := range conn.Statements {
		if !strings.HasPrefix(statement, "INSERT") { // goes to a Distributed table
			require.Contains(t, statement, "ON CLUSTER 'main'")
		}
	}
	require.Contains(t, sent, "ENGINE = Distributed('main', '"+Database+"', 'tokens_raw_local', cityHash64(mint))")
}
