package verify

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
	"github.com/mintlake/mintlake/projector"
	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

const expectedRows = "expected_rows"

// compareTable returns how records are written as a projector writes them, into the database of a
// running node or into expectedRows, and how the node's table is compared.
func compareTable(t *testing.T, group, table string) (write func(database string, records ...kafka.Record), compared func() *TableReport) {
	t.Helper()
	conn, _ := chtest.Migrated(t)
	chtest.Migrate(t, conn, expectedRows)
	require.NoError(t, projector.NewClickHouse(conn, schema.Database).NoteFactRules(t.Context()))
	write = func(database string, records ...kafka.Record) {
		t.Helper()
		projection := NewProjection(conn, database)
		require.NoError(t, projection.Write(t.Context(), group, records))
		require.Zero(t, projection.Unreadable)
	}
	return write, func() *TableReport {
		t.Helper()
		report, err := New(conn, expectedRows, schema.Database, 0).Table(t.Context(), table)
		require.NoError(t, err)
		return report
	}
}

// TestALaterStateOfAHistoryRowIsNoDifference: what several records state at the same position is
// one row of the history. It grows while a running node is compared with its log.
func TestALaterStateOfAHistoryRowIsNoDifference(t *testing.T) {
	write, compared := compareTable(t, schemas.GroupProjector, "token_fact_history_raw")
	entry := func(mint byte, list string) kafka.Record {
		value, err := proto.Marshal(&eventspb.Enrichment{
			Mint: pubkey.Key{mint}.Bytes(),
			Fact: &eventspb.Enrichment_TokenListEntry{TokenListEntry: &eventspb.TokenListEntry{List: list, Name: "name", Symbol: "S"}},
		})
		require.NoError(t, err)
		return kafka.Record{Topic: schemas.TopicEnrichments, Value: value}
	}

	write(expectedRows, entry(1, "first"), entry(2, "other"))
	write(schema.Database, entry(1, "first"), entry(2, "other"), entry(1, "second"))
	report := compared()
	require.Equal(t, Equal, report.State, report.Findings)
	require.EqualValues(t, 2, report.Rows)

	// The other way round, the table lacks a fact that the log has.
	write(expectedRows, entry(2, "second"))
	report = compared()
	require.Len(t, report.Findings, 1)
	require.Equal(t, Finding{Table: "token_fact_history_raw", Expected: 2, Found: 1, Rebuild: "mintlake rebuild --tables token_fact_history_raw"}, report.Findings[0])
}

// TestALaterStateOfAPoolsRowIsNoDifference: a pool's legs come on another topic than the records of
// the pool itself, which may come while a running node is compared with its log.
func TestALaterStateOfAPoolsRowIsNoDifference(t *testing.T) {
	write, compared := compareTable(t, schemas.GroupSwaps, "pools_raw")
	key := func(n byte) []byte { return pubkey.Key{n}.Bytes() }
	leg := func(pool byte) kafka.Record {
		reserve := uint64(5)
		value, err := proto.Marshal(&eventspb.SwapLeg{
			Position: &eventspb.Position{Slot: 7}, BlockTime: 1_700_000_000, Signature: make([]byte, 64), Venue: "venue", ProgramId: key(9), Pool: key(pool),
			MintIn: key(11), MintOut: key(12), AmountIn: 1, AmountOut: 2, ReserveIn: &reserve, ReserveOut: &reserve,
		})
		require.NoError(t, err)
		return kafka.Record{Topic: schemas.TopicSwaps, Value: value, Headers: []kafka.Header{{Key: schemas.HeaderType, Value: []byte(schemas.TypeSwapLegIn)}}}
	}
	pool := func(pool byte, slot uint64, created bool) kafka.Record {
		decimals := uint32(0)
		value, err := proto.Marshal(&eventspb.Pool{
			Position: &eventspb.Position{Slot: slot}, BlockTime: 1_700_000_000, Signature: make([]byte, 64), Venue: "venue", ProgramId: key(9), Pool: key(pool),
			MintA: key(11), MintB: key(12), DecimalsA: &decimals, Created: created, Creator: key(13),
		})
		require.NoError(t, err)
		return kafka.Record{Topic: schemas.TopicPools, Value: value}
	}

	write(expectedRows, leg(1), leg(2), leg(3))
	write(schema.Database, leg(1), leg(2), leg(3), pool(1, 6, true), pool(2, 8, false))
	report := compared()
	require.Equal(t, Equal, report.State, report.Findings)
	require.EqualValues(t, 3, report.Rows)

	// The other way round, the table lacks a creation that the log has.
	write(expectedRows, pool(3, 6, true))
	report = compared()
	require.Len(t, report.Findings, 1)
	require.Equal(t, Finding{Table: "pools_raw", FromSlot: 6, ToSlot: 6, Expected: 3, Found: 2, Rebuild: "mintlake rebuild --tables pools_raw --from-slot 6 --to-slot 6"}, report.Findings[0])
}

// TestTablesOfEarlierRulesAreOutdated: rows that this version's rules add are no damage, until the
// tables are made anew.
func TestTablesOfEarlierRulesAreOutdated(t *testing.T) {
	conn, _ := chtest.Migrated(t)
	chtest.Migrate(t, conn, expectedRows)
	value, err := proto.Marshal(&eventspb.Enrichment{
		Mint: pubkey.Key{1}.Bytes(), Fact: &eventspb.Enrichment_TokenListEntry{TokenListEntry: &eventspb.TokenListEntry{List: "list", Name: "name", Symbol: "S"}},
	})
	require.NoError(t, err)
	require.NoError(t, NewProjection(conn, expectedRows).Write(t.Context(), schemas.GroupProjector, []kafka.Record{{Topic: schemas.TopicEnrichments, Value: value}}))
	states := func() map[string]string {
		states := map[string]string{}
		for _, table := range append(projector.FactTables(), "slots_raw") {
			report, err := New(conn, expectedRows, schema.Database, 0).Table(t.Context(), table)
			require.NoError(t, err)
			states[table] = report.State
			require.Equal(t, report.State == Differs, len(report.Findings) > 0, table)
		}
		return states
	}
	require.Equal(t, map[string]string{"token_facts_raw": Outdated, "token_fact_history_raw": Outdated, "tokens_raw": Outdated, "slots_raw": Equal}, states())
	require.NoError(t, projector.NewClickHouse(conn, schema.Database).NoteFactRules(t.Context()))
	require.Equal(t, map[string]string{"token_facts_raw": Differs, "token_fact_history_raw": Differs, "tokens_raw": Equal, "slots_raw": Equal}, states())
}
