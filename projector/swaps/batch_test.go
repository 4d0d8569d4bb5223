package swaps

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// TestKeep: rows of tables that are not wanted go, and no others.
func TestKeep(t *testing.T) {
	key := func(b byte) []byte { return pubkey.Key{b, 31: b}.Bytes() }
	reserve := uint64(5)
	leg, err := proto.Marshal(&eventspb.SwapLeg{
		Position: &eventspb.Position{Slot: 7}, BlockTime: 1_700_000_000, Signature: make([]byte, 64), Venue: "v", ProgramId: key(1), Pool: key(2),
		MintIn: key(3), MintOut: key(4), VaultIn: key(5), VaultOut: key(6), AmountIn: 1, AmountOut: 2, ReserveIn: &reserve, ReserveOut: &reserve,
	})
	require.NoError(t, err)
	rows := func(b *Batch) map[string]int {
		return map[string]int{
			tableSwaps: len(b.Legs), tableRoutes: len(b.Routes), tableLiquidity: len(b.Changes), tablePools: len(b.pools), tablePoolReserves: len(b.reserves),
			tableLastTrades: len(b.trades), tableSwapMinutes: len(b.touched),
		}
	}
	filled := func() *Batch {
		b := NewBatch()
		require.NoError(t, b.Add(&kafka.Record{
			Topic: schemas.TopicSwaps, Value: leg, Headers: []kafka.Header{{Key: schemas.HeaderType, Value: []byte(schemas.TypeSwapLegIn)}},
		}))
		b.Routes = append(b.Routes, &eventspb.Route{})
		b.Changes = append(b.Changes, change{})
		return b
	}
	all := rows(filled())
	for table, count := range all {
		require.Positive(t, count, table)
		b := filled()
		b.Keep(func(wanted string) bool { return wanted == table })
		for other, left := range rows(b) {
			if other == table {
				require.Equal(t, count, left, other)
			} else {
				require.Zero(t, left, "%s where %s is wanted", other, table)
			}
		}
	}
}
