package projector

import (
	"context"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

const tableSlots = "slots_raw"

func slotColumns() []clickhouse.Column {
	return []clickhouse.Column{
		{Name: "slot", Type: "UInt64"},
		{Name: "blockhash", Type: "String"},
		{Name: "parent_slot", Type: "Nullable(UInt64)"},
		{Name: "parent_blockhash", Type: "String"},
		{Name: "block_time", Type: "Nullable(DateTime('UTC'))"},
		{Name: "status", Type: "Enum8('skipped' = 1, 'ingested' = 2, 'dead' = 3)"},
		{Name: "transactions", Type: "UInt32"},
		{Name: "token_events", Type: "UInt32"},
		{Name: "source", Type: "LowCardinality(String)"},
		{Name: "balances", Type: "UInt64"},
		{Name: "version", Type: "UInt8"},
	}
}

// slotStatus returns the name of a status in the table, and its rank. The rank is the row's
// version: of two records of one block, the one with the higher rank holds.
func slotStatus(status eventspb.SlotStatus) (name string, rank uint8) {
	switch status {
	case eventspb.SlotStatus_SLOT_STATUS_DEAD:
		return "dead", 3
	case eventspb.SlotStatus_SLOT_STATUS_INGESTED:
		return "ingested", 2
	default:
		return "skipped", 1
	}
}

func (c *ClickHouse) insertSlots(ctx context.Context, slots []*eventspb.SlotRecord) error {
	return c.insert(ctx, tableSlots, slotColumns(), len(slots), func(batch driver.Batch, i int) error {
		slot := slots[i]
		status, rank := slotStatus(slot.GetStatus())
		return batch.Append(slot.GetSlot(), keyText(slot.GetBlockhash()), slot.ParentSlot, keyText(slot.GetParentBlockhash()),
			blockTime(slot.GetBlockTime()), status, slot.GetTransactions(), slot.GetTokenEvents(), slot.GetSource(), slot.GetBalances(), rank)
	})
}

// blockTime returns nil for a time that the source did not state, or that ClickHouse's DateTime
// (seconds in 32 bits) cannot hold.
func blockTime(seconds int64) *time.Time {
	if seconds <= 0 || seconds > 1<<32-1 {
		return nil
	}
	t := time.Unix(seconds, 0).UTC()
	return &t
}
