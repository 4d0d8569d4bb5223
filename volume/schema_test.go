package volume_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// TestPositionsAreThoseOfEvents: swaps_raw computes what schemas.PositionOf packs, known place or
// not, up to the limits of its bits.
func TestPositionsAreThoseOfEvents(t *testing.T) {
	s := migrated(t)
	random := rand.New(rand.NewPCG(3, 4))
	optional := func(limit uint32) *uint32 {
		return []*uint32{nil, proto.Uint32(0), proto.Uint32(limit), proto.Uint32(random.Uint32N(limit))}[random.IntN(4)]
	}
	var want []string
	records := make([]kafka.Record, 200)
	for i := range records {
		record := leg{n: uint32(i), at: noon, pool: "sol-usdc", in: sol, out: usdc, paid: 1, got: 1, trader: "ann"}.record(t)
		message := new(eventspb.SwapLeg)
		require.NoError(t, proto.Unmarshal(record.Value, message))
		message.Position.Slot = 1<<40 + random.Uint64N(1_000_000)
		message.Position.TransactionIndex, message.Position.InnerInstructionIndex, message.Position.BatchIndex = optional(1<<24), optional(1<<15-1), optional(1<<15-1)
		message.Position.InstructionIndex = random.Uint32N(1 << 13)
		for j := range message.Signature {
			message.Signature[j] = byte(random.Uint32())
		}
		value, err := proto.Marshal(message)
		require.NoError(t, err)
		record.Value = value
		records[i] = record
		position := schemas.PositionOf(message.Position, message.Signature)
		want = append(want, strings.Join([]string{
			base58.Encode(message.Signature), strconv.FormatUint(position.Slot, 10), strconv.FormatUint(position.Order, 10),
		}, "\t"))
	}
	s.insert(t, records...)
	require.ElementsMatch(t, want, s.rows(t, "SELECT signature, toUInt64(bitShiftRight(position, 64)) AS slot_, toUInt64(bitAnd(position, 18446744073709551615)) AS order_ FROM mintlake.swaps"))
}

// TestEveryColumnHasAComment, in views and in tables, and so has every view, table and dictionary
// itself.
func TestEveryColumnHasAComment(t *testing.T) {
	s := migrated(t)
	require.Empty(t, s.rows(t, "SELECT name FROM system.tables WHERE comment = '' AND database = 'mintlake'"))
	// Attributes of dictionaries cannot have one.
	require.Empty(t, s.rows(t, "SELECT table, name FROM system.columns WHERE comment = '' AND database = 'mintlake' AND table NOT IN "+
		"(SELECT name FROM system.tables WHERE database = 'mintlake' AND engine = 'Dictionary')"))
	require.NotEmpty(t, s.rows(t, "SELECT name FROM system.tables WHERE database = 'mintlake' AND engine = 'View'"))
	require.Equal(t, []string{"token_names"}, s.rows(t, "SELECT name FROM system.dictionaries WHERE database = 'mintlake'"))
}

// TestTheSwapDashboardAsksWhatExists runs each query of the dashboard, with Grafana's macros filled
// in.
func TestTheSwapDashboardAsksWhatExists(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(testkit.Root(t), "deploy/grafana/swaps.json"))
	require.NoError(t, err)
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct {
				RawSQL string `json:"rawSql"`
			}
		}
	}
	require.NoError(t, json.Unmarshal(text, &dashboard))
	s := migrated(t)
	s.insert(t, leg{at: noon, pool: "sol-usdc", in: sol, out: usdc, paid: 100e9, got: 20_000 * whole, reserveIn: 5_000e9, reserveOut: 1_000_000 * whole, trader: "ann"}.record(t))
	s.value(t)
	require.NotEmpty(t, dashboard.Panels)
	for _, panel := range dashboard.Panels {
		require.NotEmpty(t, panel.Targets, panel.Title)
		for _, target := range panel.Targets {
			query := strings.NewReplacer(
				"$__timeFilter(bucket)", "bucket >= toDateTime('2026-11-20 00:00:00', 'UTC') AND bucket < toDateTime('2026-11-21 00:00:00', 'UTC')",
				"$__timeFilter(minute)", "minute >= toDateTime('2026-11-20 00:00:00', 'UTC') AND minute < toDateTime('2026-11-21 00:00:00', 'UTC')",
				"$__timeFilter(block_time)", "block_time >= toDateTime('2026-11-20 00:00:00', 'UTC') AND block_time < toDateTime('2026-11-21 00:00:00', 'UTC')",
				"${mint}", sol,
			).Replace(target.RawSQL)
			require.NotContains(t, query, "$", panel.Title)
			rows, err := s.conn.Query(t.Context(), query)
			require.NoError(t, err, "%s: %s", panel.Title, query)
			require.True(t, rows.Next(), "%s: %s", panel.Title, query)
			require.NoError(t, rows.Err())
			require.NoError(t, rows.Close())
		}
	}
}
