package balances

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/mr-tron/base58"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// inTransaction is the part of a place that says where in its transaction a transfer is: the lower
// 40 bits. The bits above are the index of the transaction in its block. Not every source knows
// this index, so copies of a transfer may differ in these bits.
const inTransaction = "bitAnd(place, 1099511627775)"

// SignatureText returns the signature in base58.
func (m *Movement) SignatureText() string { return base58.Encode(m.Signature[:]) }

// KeptFrom implements Reader.
func (c *ClickHouse) KeptFrom(ctx context.Context) (slot uint64, err error) {
	// ClickHouse reads it from the indexes of the parts: the partitions are ranges of slots.
	err = c.read(ctx, c.public, func(rows driver.Rows) error { return rows.Scan(&slot) }, "SELECT min(slot) FROM {db}.transfers_raw")
	return slot, err
}

// Transfers implements Reader.
func (c *ClickHouse) Transfers(ctx context.Context, mint pubkey.Key, filter Filter, before MoveCursor, limit int) ([]Movement, error) {
	where, args := filter.where()
	where = "mint = {mint:String}" + where
	after, cursor := before.after("transfers_raw", where, false)
	args = append(append(args, cursor...), clickhouse.Named("mint", mint.String()), clickhouse.Named("limit", limit))
	return c.movements(ctx, "SELECT mint, slot, place, block_time, toString(signature), toString(kind), toString(from_account), toString(from_owner), toString(to_account), toString(to_owner),"+
		" amount, fee, decimals, false FROM {db}.transfers_raw WHERE "+where+after+
		" ORDER BY mint DESC, slot DESC, place DESC, signature DESC LIMIT 1 BY slot, signature, "+inTransaction+" LIMIT {limit:UInt32}", args)
}

// WalletTransfers implements Reader.
func (c *ClickHouse) WalletTransfers(ctx context.Context, owner pubkey.Key, filter Filter, before MoveCursor, limit int) ([]Movement, error) {
	where, args := filter.where()
	where = "owner = {owner:String}" + where
	switch filter.Direction {
	case "in":
		where += " AND is_in"
	case "out":
		where += " AND NOT is_in"
	}
	if filter.Mint != nil {
		where += " AND mint = {mint:String}"
		args = append(args, clickhouse.Named("mint", filter.Mint.String()))
	}
	after, cursor := before.after("wallet_transfers_raw", where, true)
	args = append(append(args, cursor...), clickhouse.Named("owner", owner.String()), clickhouse.Named("limit", limit))
	side := func(in, out string) string { return "toString(if(is_in, " + in + ", " + out + "))" }
	self := "toFixedString(base58Decode(owner), 32)"
	return c.movements(ctx, "SELECT mint, slot, place, block_time, toString(signature), toString(kind), "+
		side("toFixedString('', 32)", "account")+", "+side("other", self)+", "+side("account", "toFixedString('', 32)")+", "+side(self, "other")+
		", amount, fee, decimals, is_in FROM {db}.wallet_transfers_raw WHERE "+where+after+
		" ORDER BY owner DESC, slot DESC, place DESC, signature DESC, is_in DESC LIMIT 1 BY slot, signature, "+inTransaction+", is_in LIMIT {limit:UInt32}", args)
}

// after returns the condition for rows after the cursor, and its arguments. where is the rest of
// the query's condition. Rows of which a copy is at the cursor or before it are left out: an
// earlier page had that copy. All copies of a transfer are in one slot. slot is compared once more
// outside of the tuple, because the index does not look into tuples.
func (c *MoveCursor) after(table, where string, hasSide bool) (string, []any) {
	if c.zero() {
		return "", nil
	}
	order, cursor, copies := "place, signature", "{place:UInt64}, base58Decode({signature:String})", "signature, "+inTransaction
	if hasSide {
		order, cursor, copies = order+", is_in", cursor+", {in:Bool}", copies+", is_in"
	}
	return " AND slot <= {slot:UInt64} AND (slot, " + order + ") < ({slot:UInt64}, " + cursor + ") AND NOT (slot = {slot:UInt64} AND (" + copies + ") IN (" +
			"SELECT " + copies + " FROM {db}." + table + " WHERE " + where + " AND slot = {slot:UInt64} AND (" + order + ") >= (" + cursor + ")))",
		[]any{
			clickhouse.Named("slot", c.slot), clickhouse.Named("place", c.place), clickhouse.Named("signature", base58.Encode(c.signature[:])),
			clickhouse.Named("in", strconv.FormatBool(c.in)),
		}
}

// where returns the conditions that the tables of both queries have in common.
func (f *Filter) where() (string, []any) {
	var where strings.Builder
	var args []any
	add := func(condition, name string, value any) {
		where.WriteString(" AND " + condition)
		args = append(args, clickhouse.Named(name, value))
	}
	if !f.From.IsZero() {
		add("block_time >= {from:DateTime('UTC')}", "from", f.From)
	}
	if !f.To.IsZero() {
		add("block_time < {to:DateTime('UTC')} AND toUnixTimestamp(block_time) > 0", "to", f.To)
	}
	if f.Kind != "" {
		add("kind = {kind:String}", "kind", f.Kind)
	}
	if f.Minimum > 0 {
		add("amount >= {minimum:UInt64}", "minimum", f.Minimum)
	}
	return where.String(), args
}

func (c *ClickHouse) movements(ctx context.Context, query string, args []any) ([]Movement, error) {
	list := []Movement{}
	err := c.read(ctx, c.public, func(rows driver.Rows) error {
		var (
			m                                          Movement
			mint, signature                            string
			fromAccount, fromOwner, toAccount, toOwner string
		)
		if err := rows.Scan(&mint, &m.Slot, &m.Place, &m.BlockTime, &signature, &m.Kind, &fromAccount, &fromOwner, &toAccount, &toOwner, &m.Amount, &m.Fee, &m.Decimals, &m.In); err != nil {
			return err
		}
		if m.BlockTime.Unix() == 0 {
			m.BlockTime = time.Time{}
		}
		copy(m.Signature[:], signature)
		for text, key := range map[*string]*pubkey.Key{&fromAccount: &m.FromAccount, &fromOwner: &m.FromOwner, &toAccount: &m.ToAccount, &toOwner: &m.ToOwner} {
			*key = keyOf(*text)
		}
		var err error
		if mint != "" {
			m.Mint, err = pubkey.Parse(mint)
		}
		list = append(list, m)
		return err
	}, query, args...)
	return list, err
}
