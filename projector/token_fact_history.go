package projector

import (
	"context"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/internal/clickhouse"
)

const tableTokenFactHistory = "token_fact_history_raw"

func tokenFactHistoryColumns() []clickhouse.Column {
	return []clickhouse.Column{
		{Name: "mint", Type: "String"},
		{Name: "slot", Type: "UInt64"},
		{Name: "signature", Type: "String"},
		{Name: "place", Type: "UInt64"},
		{Name: "kind", Type: "LowCardinality(String)"},
		{Name: "source", Type: "SimpleAggregateFunction(max, String)"},
		{Name: "instruction", Type: "SimpleAggregateFunction(max, String)"},
		{Name: "position", Type: "SimpleAggregateFunction(max, UInt128)"},
		{Name: "transaction_index", Type: "SimpleAggregateFunction(max, Int32)"},
		{Name: "block_time", Type: "SimpleAggregateFunction(max, Nullable(DateTime('UTC')))"},
		{Name: "facts", Type: "SimpleAggregateFunction(groupUniqArrayArray, Array(Tuple(register UInt8, item String, value String)))"},
	}
}

func (c *ClickHouse) insertTokenFactHistory(ctx context.Context, statements []Statement) error {
	return c.insert(ctx, tableTokenFactHistory, tokenFactHistoryColumns(), len(statements), func(batch driver.Batch, i int) error {
		s := &statements[i]
		facts := make([][]any, len(s.Facts))
		for i := range s.Facts {
			facts[i] = []any{uint8(s.Facts[i].Register), s.Facts[i].Item, s.Facts[i].Value}
		}
		return batch.Append(s.Mint.String(), s.Position.Slot, s.Signature, s.Place, s.Kind, s.Source, s.Instruction, s.Position.BigInt(),
			s.TransactionIndex, blockTime(s.BlockTime), facts)
	})
}
