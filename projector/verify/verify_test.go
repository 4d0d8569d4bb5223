package verify

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// TestALaterStateOfAHistoryRowIsNoDifference: what several records state at the same position is
// one row of the history. It grows while a running node is compared with its log.
func TestALaterStateOfAHistoryRowIsNoDifference(t *testing.T) {
	conn, _ := chtest.Migrated(t)
	const expected = "expected_rows"
	chtest.Migrate(t, conn, expected)
	entry := func(mint byte, list string) kafka.Record {
		value, err := proto.Marshal(&eventspb.Enrichment{
			Mint: pubkey.Key{mint}.Bytes(),
			Fact: &eventspb.Enrichment_TokenListEntry{TokenListEntry: &eventspb.TokenListEntry{List: list, Name: "name", Symbol: "S"}},
		})
		require.NoError(t, err)
		return kafka.Record{Topic: schemas.TopicEnrichments, Value: value}
	}
	write := func(database string, records ...kafka.Record) {
		projection := NewProjection(conn, database)
		require.NoError(t, projection.Write(t.Context(), schemas.GroupProjector, records))
		require.Zero(t, projection.Unreadable)
	}
	compared := func() *TableReport {
		report, err := New(conn, expected, schema.Database, 0).Table(t.Context(), "token_fact_history_raw")
		require.NoError(t, err)
		return report
	}

	write(expected, entry(1, "first"), entry(2, "other"))
	write(schema.Database, entry(1, "first"), entry(2, "other"), entry(1, "second"))
	report := compared()
	require.False(t, report.Differs(), report.Findings)
	require.EqualValues(t, 2, report.Rows)

	// The other way round, the table lacks a fact that the log has.
	write(expected, entry(2, "second"))
	report = compared()
	require.Len(t, report.Findings, 1)
	require.Equal(t, Finding{Table: "token_fact_history_raw", Expected: 2, Found: 1, Rebuild: "mintlake rebuild --tables token_fact_history_raw"}, report.Findings[0])
}
