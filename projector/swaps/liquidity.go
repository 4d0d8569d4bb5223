package swaps

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/projector/delivery"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// change is a LiquidityChange whose mints are in the order of the table, which is that of their
// texts. turned says that this exchanged its sides: fields of LiquidityChange then have A for
// mintB.
type change struct {
	*eventspb.LiquidityChange
	position     schemas.Position
	mintA, mintB pubkey.Key
	turned       bool
}

// addLiquidity adds a change of liquidity, and what it shows of its pool.
func (b *Batch) addLiquidity(record *kafka.Record) error {
	m := new(eventspb.LiquidityChange)
	if err := proto.Unmarshal(record.Value, m); err != nil {
		return fmt.Errorf("decode change of liquidity: %w", err)
	}
	if err := checkKeys("change of liquidity", m.GetPool(), m.GetMintA()); err != nil {
		return err
	}
	if m.GetPosition() == nil || m.GetVenue() == "" {
		return errors.New("change of liquidity: no position or no venue")
	}
	if n := len(m.GetSignature()); n != 64 {
		return fmt.Errorf("change of liquidity: a signature has %d bytes instead of 64", n)
	}
	c := change{LiquidityChange: m, position: schemas.PositionOf(m.GetPosition(), m.GetSignature()), mintA: keyIn(m.GetMintA()), mintB: keyIn(m.GetMintB())}
	if !c.mintB.IsZero() && pubkey.Compare(c.mintA, c.mintB) > 0 {
		c.mintA, c.mintB, c.turned = c.mintB, c.mintA, true
	}
	b.Changes = append(b.Changes, c)
	b.addPoolOfChange(&c, record)
	return nil
}

// addPoolOfChange adds the pool of a change that names both mints. The minute of the change must be
// valued too, because a valuation counts the pools of a mint.
func (b *Batch) addPoolOfChange(c *change, record *kafka.Record) {
	if c.mintB.IsZero() || c.mintA == c.mintB {
		return
	}
	at := delivery.BlockTime(c.GetBlockTime())
	row := b.pool(poolKey{keyIn(c.GetPool()), c.mintA, c.mintB})
	row.noteSeen(c.position, at, c.GetVenue(), keyIn(c.GetProgramId()))
	vaultA, vaultB, decimalsA, decimalsB := keyIn(c.GetVaultA()), keyIn(c.GetVaultB()), c.DecimalsA, c.DecimalsB
	if c.turned {
		vaultA, vaultB, decimalsA, decimalsB = vaultB, vaultA, decimalsB, decimalsA
	}
	row.describe(vaultA, vaultB, decimalsA, decimalsB)
	row.lpMint = greater(row.lpMint, keyIn(c.GetLpMint()))
	if c.ReserveA != nil && c.ReserveB != nil && c.position.Compare(row.last.position) > 0 {
		row.last = reserves{c.position, at, c.GetReserveA(), c.GetReserveB()}
		if c.turned {
			row.last.a, row.last.b = row.last.b, row.last.a
		}
	}
	if at.Unix() != 0 {
		minute := touchedMinute{at.Truncate(time.Minute), record.Partition}
		b.touched[minute] = max(b.touched[minute], record.Offset+1)
	}
}

func liquidityColumns() []clickhouse.Column {
	const low = "LowCardinality(String)"
	return clickhouse.Columns("pool", "String", "slot", "UInt64", "block_time", "DateTime('UTC')", "transaction_index", "Int32", "instruction_index", "UInt16",
		"inner_instruction_index", "Int16", "batch_index", "Int16", "signature", "String", "position", "UInt128", "venue", low, "program_id", low, "added", "Bool",
		"mint_a", "String", "mint_b", "String", "amount_a", "UInt64", "amount_b", "UInt64", "decimals_a", "Nullable(UInt8)", "decimals_b", "Nullable(UInt8)",
		"fees_a", "Nullable(UInt64)", "fees_b", "Nullable(UInt64)", "provider", "String", "lp_mint", "String", "lp_amount", "Nullable(UInt64)",
		"reserve_a", "Nullable(UInt64)", "reserve_b", "Nullable(UInt64)", "agreed", "UInt8", "disagreed", "UInt8", "instruction", low, "version", "UInt8")
}

func (c *ClickHouse) insertLiquidity(ctx context.Context, batch *Batch) error {
	return c.insert(ctx, tableLiquidity, liquidityColumns(), len(batch.Changes), func(add func(...any) error) error {
		for i := range batch.Changes {
			if err := add(batch.Changes[i].row()...); err != nil {
				return err
			}
		}
		return nil
	})
}

// row returns the values of liquidityColumns.
func (c *change) row() []any {
	place, version := placeOf(c.GetPosition()), uint8(0)
	if place.transaction >= 0 {
		version = 1
	}
	amountA, amountB, decimalsA, decimalsB := c.GetAmountA(), c.GetAmountB(), c.DecimalsA, c.DecimalsB
	feesA, feesB, reserveA, reserveB := c.FeesA, c.FeesB, c.ReserveA, c.ReserveB
	if c.turned {
		amountA, amountB, decimalsA, decimalsB = amountB, amountA, decimalsB, decimalsA
		feesA, feesB, reserveA, reserveB = feesB, feesA, reserveB, reserveA
	}
	return []any{
		keyText(keyIn(c.GetPool())), c.GetPosition().GetSlot(), delivery.BlockTime(c.GetBlockTime()), place.transaction, place.outer, place.inner, place.batch,
		signatureText(c.GetSignature()), c.position.BigInt(), c.GetVenue(), keyText(keyIn(c.GetProgramId())), c.GetAdded(),
		keyText(c.mintA), keyText(c.mintB), amountA, amountB, higher(nil, decimalsA), higher(nil, decimalsB), feesA, feesB,
		keyText(keyIn(c.GetProvider())), keyText(keyIn(c.GetLpMint())), c.LpAmount, reserveA, reserveB,
		uint8(c.GetAgreed()), uint8(c.GetDisagreed()), c.GetInstruction(), version,
	}
}
