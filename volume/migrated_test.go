package volume_test

import (
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	schema "github.com/mintlake/mintlake/schemas/clickhouse"
)

// markMinutesWithoutBuys does what migration 0030 does.
func (s *tables) markMinutesWithoutBuys(t *testing.T) {
	t.Helper()
	text, err := fs.ReadFile(schema.Migrations, "migrations/0030_minutes_without_buys.sql")
	require.NoError(t, err)
	_, statement, found := strings.Cut(string(text), "\nINSERT INTO ")
	require.True(t, found)
	require.NoError(t, s.conn.Exec(t.Context(), "INSERT INTO "+strings.TrimSuffix(strings.TrimSpace(strings.ReplaceAll(statement, "{{.Database}}", schema.Database)), ";")))
}

// TestMinutesWithoutBuysAreValuedAgain: those that an earlier version valued, but none of an hour
// of which legs were dropped: figures that need legs would be lost.
func TestMinutesWithoutBuysAreValuedAgain(t *testing.T) {
	const bought, traded = "SELECT bucket, mint, buys FROM mintlake.volume_1m", "SELECT bucket, mint, traders, organic_volume_usd FROM mintlake.volume_1h"
	s := migrated(t)
	var slot uint32
	for _, at := range []time.Time{noon, noon.Add(time.Minute), noon.Add(time.Hour)} {
		for _, trader := range []string{"ann", "bob"} {
			slot++
			s.insert(t, leg{n: slot, at: at, pool: "sol-usdc", in: usdc, out: sol, paid: 100 * whole, got: 1e9, reserveIn: 1_000_000 * whole, reserveOut: 5_000e9, trader: trader}.record(t))
		}
	}
	s.value(t)
	minutes, hours := s.rows(t, bought), s.rows(t, traded)
	forget := "ALTER TABLE mintlake.volume_1m_raw UPDATE buys = 0, bought_usd = 0 WHERE true SETTINGS mutations_sync = 2"
	require.NoError(t, s.conn.Exec(t.Context(), forget))
	require.NotEqual(t, minutes, s.rows(t, bought))
	s.markMinutesWithoutBuys(t)
	require.Len(t, s.rows(t, "SELECT minute FROM mintlake.waiting_minutes"), 3)
	s.value(t)
	require.Equal(t, minutes, s.rows(t, bought))
	require.Equal(t, hours, s.rows(t, traded))
	s.markMinutesWithoutBuys(t)
	require.Empty(t, s.rows(t, "SELECT minute FROM mintlake.waiting_minutes"))

	require.NoError(t, s.conn.Exec(t.Context(), "OPTIMIZE TABLE mintlake.volume_1m_raw FINAL"))
	require.NoError(t, s.conn.Exec(t.Context(), forget))
	require.NoError(t, s.conn.Exec(t.Context(), "DELETE FROM mintlake.swaps_raw WHERE block_time = toDateTime('2026-11-20 12:00:00', 'UTC')"))
	s.markMinutesWithoutBuys(t)
	require.Equal(t, []string{"2026-11-20 13:00:00"}, s.rows(t, "SELECT minute FROM mintlake.waiting_minutes"))
	s.value(t)
	require.Equal(t, hours, s.rows(t, traded))

	require.NoError(t, s.conn.Exec(t.Context(), forget))
	require.NoError(t, s.conn.Exec(t.Context(), "TRUNCATE TABLE mintlake.swaps_raw"))
	s.markMinutesWithoutBuys(t)
	require.Empty(t, s.rows(t, "SELECT minute FROM mintlake.waiting_minutes"))
}
