package projector

import (
	"context"
	"math"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/mr-tron/base58"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

const tableTokenEvents = "token_events_raw"

// maxTransactionIndex is one below the maximum, so that the version, which is one more, fits too.
const maxTransactionIndex = math.MaxInt32 - 1

func tokenEventColumns() []clickhouse.Column {
	return []clickhouse.Column{
		{Name: "slot", Type: "UInt64"},
		{Name: "block_time", Type: "Nullable(DateTime('UTC'))"},
		{Name: "transaction_index", Type: "Int32"},
		{Name: "instruction_index", Type: "UInt16"},
		{Name: "inner_instruction_index", Type: "Int16"},
		{Name: "batch_index", Type: "Int16"},
		{Name: "position", Type: "UInt128"},
		{Name: "signature", Type: "String"},
		{Name: "program_id", Type: "LowCardinality(String)"},
		{Name: "kind", Type: "LowCardinality(String)"},
		{Name: "instruction", Type: "LowCardinality(String)"},
		{Name: "mint", Type: "String"},
		{Name: "decimals", Type: "Nullable(UInt8)"},
		{Name: "amount", Type: "Nullable(UInt64)"},
		{Name: "token_account", Type: "String"},
		{Name: "authority", Type: "String"},
		{Name: "mint_authority", Type: "Nullable(String)"},
		{Name: "freeze_authority", Type: "Nullable(String)"},
		{Name: "authority_type", Type: "LowCardinality(String)"},
		{Name: "new_authority", Type: "Nullable(String)"},
		{Name: "name", Type: "Nullable(String)"},
		{Name: "symbol", Type: "Nullable(String)"},
		{Name: "uri", Type: "Nullable(String)"},
		{Name: "update_authority", Type: "Nullable(String)"},
		{Name: "seller_fee_basis_points", Type: "Nullable(UInt16)"},
		{Name: "token_standard", Type: "Nullable(UInt8)"},
		{Name: "extension", Type: "LowCardinality(String)"},
		{Name: "details", Type: "Map(LowCardinality(String), String)"},
		{Name: "version", Type: "UInt32"},
	}
}

func (c *ClickHouse) insertTokenEvents(ctx context.Context, events []*eventspb.TokenEvent) error {
	return c.insert(ctx, tableTokenEvents, tokenEventColumns(), len(events), func(batch driver.Batch, i int) error {
		event := events[i]
		position := event.GetPosition()
		transaction := place(position.TransactionIndex, maxTransactionIndex)
		p := payloadOf(event)
		return batch.Append(
			position.GetSlot(), blockTime(event.GetBlockTime()), transaction,
			uint16(min(position.GetInstructionIndex(), math.MaxUint16)),
			int16(place(position.InnerInstructionIndex, math.MaxInt16)),
			int16(place(position.BatchIndex, math.MaxInt16)),
			schemas.PositionOf(position, event.GetSignature()).BigInt(), keyText(event.GetSignature()), keyText(event.GetProgramId()),
			string(schemas.KindOf(event)), event.GetInstruction(), keyText(event.GetMint()),
			p.decimals, p.amount, p.tokenAccount, p.authority, p.mintAuthority, p.freezeAuthority, p.authorityType, p.newAuthority,
			p.name, p.symbol, p.uri, p.updateAuthority, p.sellerFeeBasisPoints, p.tokenStandard, p.extension, p.details,
			uint32(transaction+1),
		)
	})
}

// place returns an optional index as a signed number: -1 if it is absent, and limit at most.
func place(index *uint32, limit uint32) int32 {
	if index == nil {
		return -1
	}
	return int32(min(*index, limit))
}

// keyText returns the key in base58; empty if there is no key.
func keyText(key []byte) string {
	if len(key) == 0 {
		return ""
	}
	return base58.Encode(key)
}
