package volume_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/volume"
)

// inner is the leg as a record, at a place of its own in its transaction, with an aggregator, and
// at an offset of the log.
func (l leg) inner(t *testing.T, place uint32, aggregator string, offset int64) kafka.Record {
	t.Helper()
	record, message := l.record(t), new(eventspb.SwapLeg)
	require.NoError(t, proto.Unmarshal(record.Value, message))
	message.Position.InnerInstructionIndex, message.Aggregator, message.Agreed = proto.Uint32(place), aggregator, 3
	value, err := proto.Marshal(message)
	require.NoError(t, err)
	record.Value, record.Offset = value, offset
	return record
}

const (
	venueRows = "SELECT bucket, venue, aggregator, volume_usd, trades, unpriced, two_agree, disagree FROM mintlake.venue_volume_1m"
	poolRows  = "SELECT aggregator, pools, trades FROM mintlake.trade_pools_1m"
)

// TestVenuesOfAMinuteAreReplacedAtOnce: a valuation between two legs of one transaction leaves
// nothing behind of a trade through one pool.
func TestVenuesOfAMinuteAreReplacedAtOnce(t *testing.T) {
	s := migrated(t)
	first := leg{at: noon, pool: "sol-usdc", in: usdc, out: sol, paid: 100 * whole, got: 1e9, reserveIn: 1_000_000 * whole, reserveOut: 5_000e9, trader: "ann"}
	second := leg{at: noon, pool: "cat-sol", in: sol, out: "cat", paid: 1e9, got: 500 * whole, trader: "ann"}
	s.insert(t, first.inner(t, 0, "", 0))
	s.value(t)
	require.Equal(t, []string{"\t1\t1"}, s.rows(t, poolRows))
	require.Equal(t, []string{"2026-11-20 12:00:00\traydium_cpmm\t\t100\t1\t0\t1\t0"}, s.rows(t, venueRows))

	// the second time everything is delivered again
	for offset := int64(1); offset < 5; offset += 2 {
		s.insert(t, first.inner(t, 0, "", offset), second.inner(t, 1, "jupiter_v6", offset+1))
		s.value(t)
		require.Equal(t, []string{"jupiter_v6\t2\t1"}, s.rows(t, poolRows))
		require.Equal(t, []string{
			"2026-11-20 12:00:00\traydium_cpmm\t\t100\t1\t0\t1\t0", "2026-11-20 12:00:00\traydium_cpmm\tjupiter_v6\t100\t1\t0\t1\t0",
		}, s.rows(t, venueRows))
	}
}

// TestVenuesOfEarlierMinutesAreMade: minutes that an earlier version valued get their figures, an
// hour's worth at a time, and those whose legs are gone do not stop it.
func TestVenuesOfEarlierMinutesAreMade(t *testing.T) {
	s := migrated(t)
	var legs []kafka.Record
	for n := range uint32(130) {
		legs = append(legs, leg{n: n, at: noon.Add(time.Duration(n) * time.Minute), pool: "sol-usdc", in: usdc, out: sol, paid: 100 * whole, got: 1e9, trader: "ann"}.record(t))
	}
	s.insert(t, legs...)
	s.value(t)
	venues, pools := s.rows(t, venueRows), s.rows(t, poolRows)
	require.Len(t, venues, 130)
	for _, table := range []string{"venue_volume_1m_raw", "trade_pools_1m_raw"} {
		require.NoError(t, s.conn.Exec(t.Context(), "TRUNCATE TABLE mintlake."+table))
	}
	require.NoError(t, s.conn.Exec(t.Context(), "INSERT INTO mintlake.swap_minutes_raw (minute, partition, touched, valued) SELECT toDateTime('2026-11-20 13:00:30', 'UTC') + number, 0, 1, 1 FROM numbers(70)"))
	s.value(t)
	require.Empty(t, s.rows(t, venueRows), "a room asks once")

	room, err := volume.New(volume.DefaultConfig(), volume.Deps{Store: s.store, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	for range 5 {
		_, err := room.Once(t.Context())
		require.NoError(t, err)
	}
	require.Equal(t, venues, s.rows(t, venueRows))
	require.Equal(t, pools, s.rows(t, poolRows))
}
