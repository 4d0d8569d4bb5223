package balances

import (
	"context"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

const (
	tableChanges         = "balance_changes_raw"
	tableAccounts        = "token_accounts_raw"
	tableHoldings        = "wallet_accounts_raw"
	tableTransfers       = "transfers_raw"
	tableWalletTransfers = "wallet_transfers_raw"
	tableMints           = "balance_mints_raw"
	tableStates          = "account_states_raw"
	tableSpends          = "delegate_spends_raw"
)

func tables() map[string][]clickhouse.Column {
	const key, low, time = "FixedString(32)", "LowCardinality(String)", "DateTime('UTC')"
	return map[string][]clickhouse.Column{
		tableChanges: clickhouse.Columns("mint", "String", "account", key, "slot", "UInt64", "place", "UInt64", "block_time", time, "is_read", "Bool",
			"open", "Bool", "owner", key, "amount", "UInt64", "open_before", "Bool", "owner_before", key, "amount_before", "UInt64"),
		tableAccounts: clickhouse.Columns("mint", "String", "account", key, "owner", key, "amount", "UInt64", "open", "Bool", "on_curve", "Bool",
			"position", "UInt128", "block_time", time),
		tableHoldings: clickhouse.Columns("owner", "String", "mint", "String", "account", key, "amount", "UInt64", "open", "Bool", "position", "UInt128", "block_time", time),
		tableTransfers: clickhouse.Columns("mint", "String", "slot", "UInt64", "place", "UInt64", "block_time", time, "signature", "FixedString(64)", "kind", low,
			"from_account", key, "from_owner", key, "to_account", key, "to_owner", key, "amount", "Nullable(UInt64)", "fee", "Nullable(UInt64)", "decimals", "UInt8"),
		tableWalletTransfers: clickhouse.Columns("owner", "String", "slot", "UInt64", "place", "UInt64", "signature", "FixedString(64)", "is_in", "Bool", "mint", "String",
			"block_time", time, "kind", low, "account", key, "other", key, "amount", "Nullable(UInt64)", "fee", "Nullable(UInt64)", "decimals", "UInt8"),
		tableMints: clickhouse.Columns("mint", "String", "partition", "Int32", "touched", "SimpleAggregateFunction(max, Int64)",
			"first", "SimpleAggregateFunction(min, UInt64)", "based", "SimpleAggregateFunction(max, UInt64)",
			"based_from", "SimpleAggregateFunction(max, UInt64)",
			"begun", "SimpleAggregateFunction(min, Tuple(offset Int64, slot UInt64))",
			"vouched", "SimpleAggregateFunction(max, Tuple(slot UInt64, since UInt64, log Int64, base Int64))"),
		tableStates: clickhouse.Columns("mint", "String", "account", key, "opened", "SimpleAggregateFunction(max, UInt128)",
			"frozen", "SimpleAggregateFunction(max, Tuple(position UInt128, is_frozen Bool))",
			"approved", "SimpleAggregateFunction(max, Tuple(position UInt128, is_known Bool, delegate FixedString(32), amount UInt64))"),
		tableSpends: clickhouse.Columns("mint", "String", "account", key, "slot", "UInt64", "place", "UInt64", "delegate", key, "amount", "UInt64"),
	}
}

func (c *ClickHouse) insertChanges(ctx context.Context, batch *Batch) error {
	texts := texts{}
	return c.insert(ctx, tableChanges, len(batch.changes), func(add func(...any) error) error {
		for i := range batch.changes {
			f := &batch.changes[i]
			if err := add(texts.of(f.mint), string(f.key[:]), f.position.Slot, f.position.Order, f.time, f.isRead,
				f.after.open, string(f.after.owner[:]), f.after.amount, f.before.open, string(f.before.owner[:]), f.before.amount); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *ClickHouse) insertAccounts(ctx context.Context, batch *Batch) error {
	texts := texts{}
	return c.insert(ctx, tableAccounts, len(batch.accounts), func(add func(...any) error) error {
		for register, held := range batch.accounts { // in any order: each row is of another account
			if err := add(texts.of(register.mint), string(register.key[:]), string(held.owner[:]), held.amount, held.open,
				held.open && c.curve.has(held.owner), held.number(), held.time); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *ClickHouse) insertHoldings(ctx context.Context, batch *Batch) error {
	texts := texts{}
	return c.insert(ctx, tableHoldings, len(batch.holdings), func(add func(...any) error) error {
		for at, held := range batch.holdings { // in any order: each row is of another account
			if err := add(text(at.owner), texts.of(at.mint), string(at.key[:]), held.amount, held.open, held.number(), held.time); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *ClickHouse) insertTransfers(ctx context.Context, batch *Batch) error {
	texts := texts{}
	return c.insert(ctx, tableTransfers, len(batch.transfers), func(add func(...any) error) error {
		for i := range batch.transfers {
			t := &batch.transfers[i]
			if err := add(texts.of(t.mint), t.position.Slot, t.position.Order, t.time, string(t.GetSignature()), schemas.TransferKind(t.GetKind()),
				raw(t.GetFromAccount()), raw(t.GetFromOwner()), raw(t.GetToAccount()), raw(t.GetToOwner()), t.Amount, t.Fee, t.decimals); err != nil {
				return err
			}
		}
		return nil
	})
}

// side is one wallet's part in a transfer.
type side struct {
	in                    bool
	owner, account, other []byte
}

// sides returns the sides of a transfer whose wallet is known.
func (t *moved) sides() []side {
	var sides []side
	for _, s := range []side{
		{false, t.GetFromOwner(), t.GetFromAccount(), t.GetToOwner()},
		{true, t.GetToOwner(), t.GetToAccount(), t.GetFromOwner()},
	} {
		if len(s.owner) > 0 {
			sides = append(sides, s)
		}
	}
	return sides
}

func (c *ClickHouse) insertWalletTransfers(ctx context.Context, batch *Batch) error {
	texts := texts{}
	return c.insert(ctx, tableWalletTransfers, len(batch.transfers), func(add func(...any) error) error {
		for i := range batch.transfers {
			t := &batch.transfers[i]
			for _, s := range t.sides() {
				if err := add(texts.of(pubkey.Key(s.owner)), t.position.Slot, t.position.Order, string(t.GetSignature()), s.in, texts.of(t.mint), t.time,
					schemas.TransferKind(t.GetKind()), raw(s.account), raw(s.other), t.Amount, t.Fee, t.decimals); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (c *ClickHouse) insertMints(ctx context.Context, batch *Batch) error {
	return c.insert(ctx, tableMints, len(batch.mints), func(add func(...any) error) error {
		for part, known := range batch.mints {
			if err := add(part.mint.String(), int32(part.partition), known.touched, known.first, known.based, known.from,
				[]any{known.begun.offset, known.begun.slot}, []any{known.vouched.slot, known.vouched.since, known.vouched.log, known.vouched.base}); err != nil {
				return err
			}
		}
		return nil
	})
}

// texts caches the base58 of keys: many rows have few mints.
type texts map[pubkey.Key]string

func (t texts) of(key pubkey.Key) string {
	known, ok := t[key]
	if !ok {
		known = text(key)
		t[key] = known
	}
	return known
}
