package verify

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/projector/swaps"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// inserts is a ClickHouse that notes which tables rows are inserted into.
type inserts struct {
	driver.Conn

	mu     sync.Mutex
	tables []string
}

func (i *inserts) PrepareBatch(_ context.Context, query string, _ ...driver.PrepareBatchOption) (driver.Batch, error) {
	table, _, _ := strings.Cut(strings.TrimPrefix(query, "INSERT INTO d."), " ")
	i.mu.Lock()
	defer i.mu.Unlock()
	i.tables = append(i.tables, table)
	return anyRows{}, nil
}

type anyRows struct{ driver.Batch }

func (anyRows) Append(...any) error { return nil }
func (anyRows) Send() error         { return nil }
func (anyRows) Abort() error        { return nil }

// TestAProjectionWritesItsTablesAlone: those of swaps, too.
func TestAProjectionWritesItsTablesAlone(t *testing.T) {
	key := func(b byte) []byte { return pubkey.Key{b, 31: b}.Bytes() }
	reserve := uint64(5)
	record := func(kind string, m proto.Message) kafka.Record {
		value, err := proto.Marshal(m)
		require.NoError(t, err)
		return kafka.Record{Topic: schemas.TopicSwaps, Value: value, Headers: []kafka.Header{{Key: schemas.HeaderType, Value: []byte(kind)}}}
	}
	records := []kafka.Record{
		record(schemas.TypeSwapLegIn, &eventspb.SwapLeg{
			Position: &eventspb.Position{Slot: 7}, BlockTime: 1_700_000_000, Signature: make([]byte, 64), Venue: "v", ProgramId: key(1), Pool: key(2),
			MintIn: key(3), MintOut: key(4), VaultIn: key(5), VaultOut: key(6), AmountIn: 1, AmountOut: 2, ReserveIn: &reserve, ReserveOut: &reserve,
		}),
		record(schemas.TypeRoute, &eventspb.Route{
			Position: &eventspb.Position{Slot: 7}, BlockTime: 1_700_000_000, Signature: make([]byte, 64), MintIn: key(3), MintOut: key(4), AmountIn: 1, AmountOut: 2,
		}),
		record(schemas.TypeLiquidity, &eventspb.LiquidityChange{
			Position: &eventspb.Position{Slot: 7}, BlockTime: 1_700_000_000, Signature: make([]byte, 64), Venue: "v", ProgramId: key(1), Pool: key(2),
			MintA: key(3), MintB: key(4), AmountA: 1, Added: true,
		}),
	}
	written := func(tables ...string) []string {
		conn := &inserts{}
		p := NewProjection(conn, "d")
		p.Tables = tables
		require.NoError(t, p.Write(t.Context(), schemas.GroupSwaps, records))
		require.Zero(t, p.Unreadable)
		return conn.tables
	}
	var all []string
	for table := range swaps.Columns() {
		all = append(all, table)
		require.Equal(t, []string{table}, written(table))
	}
	require.ElementsMatch(t, all, written(), "without a choice, all tables of the group")
}
