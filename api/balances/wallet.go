package balances

import (
	"context"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

const (
	heldNow = `SELECT mint, sum(toUInt128(w.amount)) AS sum, count() AS accounts
		FROM (SELECT mint, amount FROM {db}.wallet_accounts_raw FINAL WHERE owner = {owner:String} AND open AND mint > {after:String}) AS w
		GROUP BY mint HAVING sum > 0`
	// wallet_accounts_raw has every account that the wallet ever owned. The changes of these
	// accounts tell what it owned at the slot.
	heldAt = `SELECT mint, sum(toUInt128(a.amount)) AS sum, count() AS accounts FROM (
			SELECT mint, argMax(open, at) AS open, argMax(owner, at) AS owner, argMax(amount, at) AS amount FROM (
				SELECT mint, account, open, owner, amount, bitOr(bitShiftLeft(toUInt128(slot), 64), toUInt128(place)) AS at FROM {db}.balance_changes_raw
				WHERE (mint, account) IN (SELECT mint, account FROM {db}.wallet_accounts_raw WHERE owner = {owner:String} AND mint > {after:String}) AND slot <= {slot:UInt64})
			GROUP BY mint, account) AS a
		WHERE open AND a.owner = base58Decode({owner:String}) GROUP BY mint HAVING sum > 0`
)

// Held implements Reader.
func (c *ClickHouse) Held(ctx context.Context, owner pubkey.Key, after string, limit int, slot *uint64) (held Held, err error) {
	questions := c.public
	query, args := heldNow, []any{clickhouse.Named("owner", owner.String()), clickhouse.Named("limit", limit)}
	if slot != nil {
		var last uint64
		if held.From, last, err = c.span(ctx); err != nil {
			return held, err
		}
		if *slot < held.From || *slot > last {
			return held, &OutsideHistory{From: held.From, To: last}
		}
		questions = c.sums
		query, args = heldAt, append(args, clickhouse.Named("slot", *slot))
	}
	held.Holdings = []Holding{}
	err = c.read(ctx, questions, func(rows driver.Rows) error {
		var text string
		var h Holding
		if err := rows.Scan(&text, &h.Amount, &h.Accounts); err != nil {
			return err
		}
		var err error
		h.Mint, err = pubkey.Parse(text)
		held.Holdings = append(held.Holdings, h)
		return err
	}, "SELECT mint, toString(sum), accounts FROM ("+query+") ORDER BY mint LIMIT {limit:UInt32} SETTINGS optimize_aggregation_in_order = 1", append(args, clickhouse.Named("after", after))...)
	if err != nil {
		return held, err
	}
	if after != "" || len(held.Holdings) < limit {
		held.Total = uint64(len(held.Holdings))
		return held, nil
	}
	err = c.read(ctx, questions, func(rows driver.Rows) error { return rows.Scan(&held.Total) },
		"SELECT count() FROM ("+query+") SETTINGS optimize_aggregation_in_order = 1", append(args, clickhouse.Named("after", ""))...)
	return held, err
}
