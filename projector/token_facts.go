package projector

import (
	"context"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/internal/clickhouse"
)

const tableTokenFacts = "token_facts_raw"

func tokenFactColumns() []clickhouse.Column {
	return []clickhouse.Column{
		{Name: "mint", Type: "String"},
		{Name: "register", Type: "UInt8"},
		{Name: "item", Type: "String"},
		{Name: "fact", Type: "SimpleAggregateFunction(max, Tuple(position UInt128, value String))"},
	}
}

// insertTokenFacts inserts the facts statement by statement. It makes no list of all facts, which
// would be a large part of a large batch's memory.
func (c *ClickHouse) insertTokenFacts(ctx context.Context, statements []Statement) error {
	rows := 0
	for i := range statements {
		rows += len(statements[i].Facts)
	}
	next, of := 0, 0
	return c.insert(ctx, tableTokenFacts, tokenFactColumns(), rows, func(batch driver.Batch, _ int) error {
		for next == len(statements[of].Facts) {
			next, of = 0, of+1
		}
		fact := &statements[of].Facts[next]
		next++
		return batch.Append(fact.Mint.String(), uint8(fact.Register), fact.Item, []any{fact.Position.BigInt(), fact.Value})
	})
}
