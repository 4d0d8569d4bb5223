package volume_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/projector/swaps"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// withoutPlace is the leg's record as a single transaction's file has it.
func withoutPlace(t *testing.T, record kafka.Record) kafka.Record {
	t.Helper()
	message := new(eventspb.SwapLeg)
	require.NoError(t, proto.Unmarshal(record.Value, message))
	message.Position.TransactionIndex = nil
	value, err := proto.Marshal(message)
	require.NoError(t, err)
	record.Value = value
	return record
}

// TestRepeatsFallTogetherAfterTheirSignaturesWent: the last of the signature goes when its days are
// over and nothing else does; the legs told again then, in whole and without the place of their
// transaction, are the ones that are stored.
func TestRepeatsFallTogetherAfterTheirSignaturesWent(t *testing.T) {
	s := migrated(t)
	records := make([]kafka.Record, 20)
	for i := range records {
		records[i] = leg{n: uint32(i), at: noon, pool: "sol-usdc", in: sol, out: usdc, paid: 100e9, got: 20_000 * whole, reserveIn: 5_000e9, reserveOut: 1_000_000 * whole, trader: "ann"}.record(t)
	}
	s.insert(t, records...)
	s.value(t)
	const rest = "SELECT * EXCEPT signature FROM mintlake.swaps"
	want, figures := s.rows(t, rest), s.rows(t, "SELECT * FROM mintlake.volume_1m")
	require.Len(t, want, len(records))
	require.Empty(t, s.rows(t, "SELECT position FROM mintlake.swaps WHERE length(base58Decode(signature)) != 64"))

	require.NoError(t, s.conn.Exec(t.Context(), "ALTER TABLE mintlake.swaps_raw UPDATE stored_on = stored_on - 31 WHERE true SETTINGS mutations_sync = 2"))
	require.NoError(t, s.conn.Exec(t.Context(), "OPTIMIZE TABLE mintlake.swaps_raw FINAL"))
	require.Empty(t, s.rows(t, "SELECT position FROM mintlake.swaps WHERE signature != ''"))
	require.Equal(t, want, s.rows(t, rest))

	for i := range records {
		s.insert(t, withoutPlace(t, records[i]))
	}
	s.insert(t, records...)
	s.value(t)
	require.Equal(t, want, s.rows(t, rest))
	require.Equal(t, figures, s.rows(t, "SELECT * FROM mintlake.volume_1m"))
}

// TestHowLongSignaturesAreKept: the setting reaches the table, once.
func TestHowLongSignaturesAreKept(t *testing.T) {
	s := migrated(t)
	column := func() []string {
		return s.rows(t, "SELECT extract(create_table_query, 'signature_rest[^,]*?(TTL [^,]*)') FROM system.tables WHERE database = 'mintlake' AND name = 'swaps_raw'")
	}
	changes := func() []string {
		return s.rows(t, "SELECT count() FROM system.mutations WHERE database = 'mintlake' AND table = 'swaps_raw' AND command NOT LIKE '%INDEX%'")
	}
	require.NoError(t, s.swaps.KeepSignatures(t.Context(), swaps.DefaultSignatureDays, ""))
	require.Equal(t, []string{"0"}, changes(), "the migration has the default")
	require.Equal(t, []string{"TTL stored_on + toIntervalDay(30)"}, column())
	for _, days := range []int{7, 7, 0, 0, 90} {
		require.NoError(t, s.swaps.KeepSignatures(t.Context(), days, ""))
		want := map[int]string{7: "TTL stored_on + toIntervalDay(7)", 90: "TTL stored_on + toIntervalDay(90)"}[days]
		if want == "" {
			require.Empty(t, column())
			continue
		}
		require.Equal(t, []string{want}, column())
	}
}

// TestPoolMintAndTraderSkipLegs: a filter on the view reaches the indexes.
func TestPoolMintAndTraderSkipLegs(t *testing.T) {
	s := migrated(t)
	s.insert(t, leg{at: noon, pool: "sol-usdc", in: sol, out: usdc, paid: 1, got: 1, trader: "ann"}.record(t))
	for _, column := range []string{"trader", "pool", "mint_in", "mint_out", "trader"} {
		require.Contains(t, s.rows(t, "SELECT trim(explain) FROM (EXPLAIN indexes = 1 SELECT count() FROM mintlake.swaps WHERE "+column+" = 'nobody')"),
			"Name: "+column+"_index", column)
	}
}
