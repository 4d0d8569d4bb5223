package swaps

import (
	"context"
	"time"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/projector/delivery"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

const (
	tableSwaps        = "swaps_raw"
	tableRoutes       = "routes_raw"
	tableLiquidity    = "liquidity_raw"
	tablePools        = "pools_raw"
	tablePoolReserves = "pool_reserves_raw"
	tableLastTrades   = "last_trades_raw"
	tableSwapMinutes  = "swap_minutes_raw"

	// versionKnown is the bit of swaps_raw.version that is set if the transaction's place in its
	// block is known.
	versionKnown = 1 << 63
)

func swapColumns() []clickhouse.Column {
	const low = "LowCardinality(String)"
	return clickhouse.Columns("slot", "UInt64", "block_time", "DateTime('UTC')", "transaction_index", "Int32", "instruction_index", "UInt16",
		"inner_instruction_index", "Int16", "batch_index", "Int16", "signature_head", "FixedString(12)", "signature_rest", "FixedString(52)", "venue", low,
		"program_id", low, "pool", "String", "mint_a", "String", "mint_b", "String", "in_is_a", "Bool", "amount_in", "UInt64", "amount_out", "UInt64", "decimals_in", "Nullable(UInt8)",
		"decimals_out", "Nullable(UInt8)", "trader", "String", "agreed", "UInt8", "disagreed", "UInt8", "aggregator", low, "instruction", low, "version", "UInt64")
}

// signatureHead is how many bytes of a signature are kept for good to tell transactions apart.
const signatureHead = 12

func (c *ClickHouse) insertSwaps(ctx context.Context, batch *Batch, cache texts) error {
	return c.insert(ctx, tableSwaps, swapColumns(), len(batch.Legs), func(add func(...any) error) error {
		for _, leg := range batch.Legs {
			place := placeOf(leg.GetPosition())
			version := uint64(0)
			if place.transaction >= 0 {
				version = versionKnown
			}
			signature := string(leg.GetSignature())
			mintA, mintB := cache.of(leg.GetMintIn()), cache.of(leg.GetMintOut())
			inIsA := mintA < mintB
			if !inIsA {
				mintA, mintB = mintB, mintA
			}
			if err := add(leg.GetPosition().GetSlot(), delivery.BlockTime(leg.GetBlockTime()), place.transaction, place.outer, place.inner, place.batch,
				signature[:signatureHead], signature[signatureHead:], leg.GetVenue(),
				cache.of(leg.GetProgramId()), cache.of(leg.GetPool()), mintA, mintB, inIsA,
				leg.GetAmountIn(), leg.GetAmountOut(), higher(nil, leg.DecimalsIn), higher(nil, leg.DecimalsOut), cache.of(leg.GetTrader()),
				uint8(leg.GetAgreed()), uint8(leg.GetDisagreed()), leg.GetAggregator(), leg.GetInstruction(), version); err != nil {
				return err
			}
		}
		return nil
	})
}

// place is a position in the form of the tables' columns; -1 is an index that is unknown or absent.
type place struct {
	transaction  int32
	outer        uint16
	inner, batch int16
}

func placeOf(p *eventspb.Position) place {
	result := place{-1, uint16(p.GetInstructionIndex()), -1, -1}
	if p.TransactionIndex != nil {
		result.transaction = int32(*p.TransactionIndex)
	}
	if p.InnerInstructionIndex != nil {
		result.inner = int16(*p.InnerInstructionIndex)
	}
	if p.BatchIndex != nil {
		result.batch = int16(*p.BatchIndex)
	}
	return result
}

func routeColumns() []clickhouse.Column {
	const low = "LowCardinality(String)"
	return clickhouse.Columns("slot", "UInt64", "block_time", "DateTime('UTC')", "transaction_index", "Int32", "instruction_index", "UInt16",
		"inner_instruction_index", "Int16", "signature", "String", "aggregator", low, "program_id", low, "trader", "String",
		"mint_in", "String", "mint_out", "String", "amount_in", "UInt64", "amount_out", "UInt64", "legs", "UInt16",
		"hops", "Array(Tuple(amm String, mint_in String, mint_out String, amount_in UInt64, amount_out UInt64))", "version", "UInt8")
}

func (c *ClickHouse) insertRoutes(ctx context.Context, batch *Batch, cache texts) error {
	return c.insert(ctx, tableRoutes, routeColumns(), len(batch.Routes), func(add func(...any) error) error {
		for _, route := range batch.Routes {
			place, version := placeOf(route.GetPosition()), uint8(0)
			if place.transaction >= 0 {
				version = 1
			}
			hops := make([][]any, 0, len(route.GetHops()))
			for _, hop := range route.GetHops() {
				hops = append(hops, []any{cache.of(hop.GetAmm()), cache.of(hop.GetMintIn()), cache.of(hop.GetMintOut()), hop.GetAmountIn(), hop.GetAmountOut()})
			}
			if err := add(route.GetPosition().GetSlot(), delivery.BlockTime(route.GetBlockTime()), place.transaction, place.outer, place.inner,
				signatureText(route.GetSignature()), route.GetAggregator(), cache.of(route.GetProgramId()), cache.of(route.GetTrader()),
				cache.of(route.GetMintIn()), cache.of(route.GetMintOut()), route.GetAmountIn(), route.GetAmountOut(),
				uint16(min(route.GetLegs(), 1<<16-1)), hops, version); err != nil {
				return err
			}
		}
		return nil
	})
}

func poolColumns() []clickhouse.Column {
	return clickhouse.Columns("pool", "String", "mint_a", "String", "mint_b", "String", "venue", "SimpleAggregateFunction(max, String)",
		"program_id", "SimpleAggregateFunction(max, String)", "vault_a", "SimpleAggregateFunction(max, String)", "vault_b", "SimpleAggregateFunction(max, String)",
		"decimals_a", "SimpleAggregateFunction(max, Nullable(UInt8))", "decimals_b", "SimpleAggregateFunction(max, Nullable(UInt8))",
		"first", "SimpleAggregateFunction(min, Tuple(position UInt128, block_time DateTime('UTC')))",
		"creation", "SimpleAggregateFunction(min, Tuple(position UInt128, block_time DateTime('UTC'), signature String, creator String))",
		"last", "SimpleAggregateFunction(max, Tuple(position UInt128, block_time DateTime('UTC'), reserve_a UInt64, reserve_b UInt64))",
		"lp_mint", "SimpleAggregateFunction(max, String)")
}

func (c *ClickHouse) insertPools(ctx context.Context, batch *Batch) error {
	return c.insert(ctx, tablePools, poolColumns(), len(batch.pools), func(add func(...any) error) error {
		for key, row := range batch.pools { // in any order: each row is of another pool
			if err := add(keyText(key.pool), keyText(key.mintA), keyText(key.mintB), row.venue,
				keyText(row.program), keyText(row.vaultA), keyText(row.vaultB), row.decimalsA, row.decimalsB,
				[]any{row.first.BigInt(), orEpoch(row.firstTime)},
				[]any{row.created.BigInt(), orEpoch(row.createdTime), signatureText(row.signature), keyText(row.creator)},
				[]any{row.last.position.BigInt(), orEpoch(row.last.time), row.last.a, row.last.b}, keyText(row.lpMint)); err != nil {
				return err
			}
		}
		return nil
	})
}

// orEpoch replaces the zero time, which ClickHouse's DateTime cannot hold, by 1970-01-01.
func orEpoch(t time.Time) time.Time {
	if t.IsZero() {
		return delivery.BlockTime(0)
	}
	return t
}

func poolReserveColumns() []clickhouse.Column {
	return clickhouse.Columns("minute", "DateTime('UTC')", "pool", "String", "mint_a", "String", "mint_b", "String",
		"last", "SimpleAggregateFunction(max, Tuple(position UInt128, reserve_a UInt64, reserve_b UInt64))")
}

func (c *ClickHouse) insertPoolReserves(ctx context.Context, batch *Batch) error {
	return c.insert(ctx, tablePoolReserves, poolReserveColumns(), len(batch.reserves), func(add func(...any) error) error {
		for key, last := range batch.reserves {
			if err := add(key.minute, keyText(key.pool), keyText(key.mintA), keyText(key.mintB), []any{last.position.BigInt(), last.a, last.b}); err != nil {
				return err
			}
		}
		return nil
	})
}

func lastTradeColumns() []clickhouse.Column {
	return clickhouse.Columns("mint", "String", "last_trade_at", "SimpleAggregateFunction(max, DateTime('UTC'))")
}

func (c *ClickHouse) insertLastTrades(ctx context.Context, batch *Batch) error {
	return c.insert(ctx, tableLastTrades, lastTradeColumns(), len(batch.trades), func(add func(...any) error) error {
		for mint, at := range batch.trades {
			if err := add(mint.String(), at); err != nil {
				return err
			}
		}
		return nil
	})
}

func swapMinuteColumns() []clickhouse.Column {
	return clickhouse.Columns("minute", "DateTime('UTC')", "partition", "Int32", "touched", "SimpleAggregateFunction(max, Int64)")
}

func (c *ClickHouse) insertSwapMinutes(ctx context.Context, batch *Batch) error {
	return c.insert(ctx, tableSwapMinutes, swapMinuteColumns(), len(batch.touched), func(add func(...any) error) error {
		for key, offset := range batch.touched {
			if err := add(key.minute, int32(key.partition), offset); err != nil {
				return err
			}
		}
		return nil
	})
}
