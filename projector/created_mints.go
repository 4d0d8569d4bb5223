package projector

import (
	"context"
	"math"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

const tableCreatedMints = "created_mints_raw"

func createdMintColumns() []clickhouse.Column {
	return []clickhouse.Column{
		{Name: "slot", Type: "UInt64"},
		{Name: "block_time", Type: "Nullable(DateTime('UTC'))"},
		{Name: "mint", Type: "String"},
		{Name: "program_id", Type: "LowCardinality(String)"},
		{Name: "signature", Type: "String"},
		{Name: "instruction_index", Type: "UInt16"},
		{Name: "inner_instruction_index", Type: "Int16"},
		{Name: "batch_index", Type: "Int16"},
		{Name: "version", Type: "UInt32"},
	}
}

// insertCreatedMints stores a second copy of the events that create a mint, in a table in the order
// of the chain. token_events_raw is in the order of mints: a query for the creations of some hours
// would have to read most of it. The copy is small, at most a hundredth of the events.
func (c *ClickHouse) insertCreatedMints(ctx context.Context, events []*eventspb.TokenEvent) error {
	var created []*eventspb.TokenEvent
	for _, event := range events {
		if schemas.KindOf(event) == schemas.KindInitializeMint {
			created = append(created, event)
		}
	}
	return c.insert(ctx, tableCreatedMints, createdMintColumns(), len(created), func(batch driver.Batch, i int) error {
		event := created[i]
		position := event.GetPosition()
		return batch.Append(
			position.GetSlot(), blockTime(event.GetBlockTime()), keyText(event.GetMint()), keyText(event.GetProgramId()), keyText(event.GetSignature()),
			uint16(min(position.GetInstructionIndex(), math.MaxUint16)),
			int16(place(position.InnerInstructionIndex, math.MaxInt16)),
			int16(place(position.BatchIndex, math.MaxInt16)),
			uint32(place(position.TransactionIndex, maxTransactionIndex)+1),
		)
	})
}
