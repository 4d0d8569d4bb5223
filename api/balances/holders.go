package balances

import (
	"context"
	"math/big"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// liveAccounts is the most accounts of a mint that are summed up for a request. The first pages of
// a mint with more accounts come from the last count of its holders.
const liveAccounts = 20_000

// count is the last count of a mint's holders: its row of the view holder_counts.
type count struct {
	State
	holders, accounts uint64
	top               []ranked // the first owners; empty for a mint of up to liveAccounts accounts
}

// ranked is an owner with the sum of its accounts of a mint.
type ranked struct {
	owner    pubkey.Key
	amount   *big.Int
	accounts uint64
	// curve says that the owner is a point of the ed25519 curve. It is nil if the query does not
	// tell this.
	curve *bool
}

// Holders implements Reader.
func (c *ClickHouse) Holders(ctx context.Context, q Ranking) (Ranked, error) {
	counted, err := c.counted(ctx, q.Mint)
	if err != nil {
		return Ranked{}, err
	}
	page := Ranked{State: counted.State}
	if q.Slot != nil {
		if page.State, err = c.stateAt(ctx, q.Mint, counted.State, *q.Slot); err != nil {
			return page, err
		}
		err = c.summed(ctx, &q, &page)
		return page, err
	}
	if counted.accounts <= liveAccounts {
		if err = c.summed(ctx, &q, &page); err == nil {
			page.AsOfSlot, err = c.latest(ctx, q.Mint)
		}
		return page, err
	}
	if len(q.Exclude) == 0 {
		page.Total = &counted.holders
	}
	if done, err := c.fromTop(ctx, &q, &counted, &page); err != nil || done {
		return page, err
	}
	q.large = true
	list, _, err := c.rank(ctx, &q)
	if err != nil {
		return page, err
	}
	err = c.fill(ctx, &q, list, &page)
	return page, err
}

// counted returns the last count of a mint; the zero value if it was never counted.
func (c *ClickHouse) counted(ctx context.Context, mint pubkey.Key) (found count, err error) {
	err = c.read(ctx, c.public, func(rows driver.Rows) error {
		var (
			complete    bool
			since, asOf uint64
			owners      []string
			amounts     []string
			accounts    []uint32
			curve       []bool
		)
		if err := rows.Scan(&found.holders, &found.accounts, &complete, &since, &asOf, &owners, &amounts, &accounts, &curve); err != nil {
			return err
		}
		found.State = stateOf(complete, since, asOf)
		for i := range owners {
			amount, _ := new(big.Int).SetString(amounts[i], 10)
			found.top = append(found.top, ranked{keyOf(owners[i]), amount, uint64(accounts[i]), &curve[i]})
		}
		return nil
	}, `SELECT holders, accounts, complete, since_slot, as_of_slot, arrayMap(t -> toString(t.owner), top), arrayMap(t -> toString(t.amount), top),
		arrayMap(t -> t.accounts, top), arrayMap(t -> t.on_curve, top)
		FROM (SELECT holders, accounts, complete, since_slot, as_of_slot, if(accounts > {live:UInt64}, top, []) AS top
			FROM {db}.holder_counts WHERE mint = {mint:String})`, clickhouse.Named("mint", mint.String()), clickhouse.Named("live", liveAccounts))
	return found, err
}

// latest returns the slot of the latest change of a mint; nil if the mint never had an account.
func (c *ClickHouse) latest(ctx context.Context, mint pubkey.Key) (slot *uint64, err error) {
	err = c.read(ctx, c.public, func(rows driver.Rows) error {
		var latest, accounts uint64
		if err := rows.Scan(&latest, &accounts); err != nil {
			return err
		}
		if accounts > 0 {
			slot = &latest
		}
		return nil
	}, "SELECT toUInt64(bitShiftRight(max(position), 64)), count() FROM {db}.token_accounts_raw WHERE mint = {mint:String}", clickhouse.Named("mint", mint.String()))
	return slot, err
}

// stateAt returns the state as of a slot. now is the present state. The error is *OutsideHistory if
// the balances at the slot are not known.
func (c *ClickHouse) stateAt(ctx context.Context, mint pubkey.Key, now State, slot uint64) (State, error) {
	first, last, err := c.span(ctx)
	if err != nil {
		return State{}, err
	}
	var begin, based uint64
	if err := c.read(ctx, c.public, func(rows driver.Rows) error { return rows.Scan(&begin, &based) },
		"SELECT min(first), max(based) FROM {db}.balance_mints_raw WHERE mint = {mint:String}", clickhouse.Named("mint", mint.String())); err != nil {
		return State{}, err
	}
	from := historyFrom(first, begin, based, now)
	if from == 0 {
		return State{}, &OutsideHistory{}
	}
	if slot < from || slot > last {
		return State{}, &OutsideHistory{From: from, To: last}
	}
	return State{Complete: now.Complete, SinceSlot: now.SinceSlot, AsOfSlot: &slot}, nil
}

// historyFrom returns the first slot at which a mint's balances can be told; 0 if there is none.
// first is the first slot of which changes of any mint are held. begin is the slot of the mint's
// first change that was ever stored, and based the slot of the last read of all its accounts.
// Changes before first were deleted, so an account that has not changed since is missing in the
// history. Therefore a mint's balances are told only from a slot that is not before first, and from
// which the history does not need deleted changes: SinceSlot of a complete mint, the last base, or
// the first change.
func historyFrom(first, begin, based uint64, now State) uint64 {
	switch {
	case now.Complete && now.SinceSlot != nil && *now.SinceSlot >= first:
		return *now.SinceSlot
	case based >= first && based > 0:
		return based
	case begin >= first:
		return begin
	}
	return 0
}

// summed fills a page by summing up all accounts of the mint.
func (c *ClickHouse) summed(ctx context.Context, q *Ranking, page *Ranked) error {
	q.counts = true
	list, total, err := c.rank(ctx, q)
	if err != nil {
		return err
	}
	if len(list) == 0 && !q.After.zero() { // the total is a column, and there is no row
		all := *q
		all.After, all.Limit = RankCursor{}, 1
		if _, total, err = c.rank(ctx, &all); err != nil {
			return err
		}
	}
	page.Total = &total
	return c.fill(ctx, q, list, page)
}

// fromTop fills a page from the owners of the last count. A page that reaches the end of these
// owners may be short. It returns false if the page lies behind them all.
func (c *ClickHouse) fromTop(ctx context.Context, q *Ranking, counted *count, page *Ranked) (bool, error) {
	top := counted.top
	if len(q.Exclude) > 0 {
		kinds, err := c.kinds(ctx, q.Mint, top)
		if err != nil {
			return false, err
		}
		top = slices.DeleteFunc(slices.Clone(top), func(r ranked) bool { return slices.Contains(q.Exclude, kinds[r.owner]) })
	}
	behind := slices.IndexFunc(top, func(r ranked) bool { return q.After.behind(r.amount, r.owner) })
	if behind < 0 {
		return false, nil
	}
	err := c.fill(ctx, q, top[behind:min(behind+q.Limit+1, len(top))], page)
	page.More = page.More || counted.holders > uint64(len(counted.top))
	return true, err
}

// fill makes the rows of a page from list, and sets More. The caller has asked for one row more
// than the limit.
func (c *ClickHouse) fill(ctx context.Context, q *Ranking, list []ranked, page *Ranked) error {
	if page.More = len(list) > q.Limit; page.More {
		list = list[:q.Limit]
	}
	kinds, err := c.kinds(ctx, q.Mint, list)
	if err != nil {
		return err
	}
	page.Holders = make([]Holder, 0, len(list))
	for i, r := range list {
		page.Holders = append(page.Holders, Holder{
			Rank: q.After.rank + uint64(i) + 1, Owner: r.owner, Kind: kinds[r.owner], Amount: r.amount.String(), Accounts: r.accounts,
		})
	}
	return nil
}

const (
	// accountsNow and accountsAt are the open accounts of a mint, now and at the end of a slot.
	accountsNow = `(SELECT owner, account, amount, on_curve FROM {db}.token_accounts_raw FINAL WHERE mint = {mint:String} AND open)`
	// An account's changes lie together in the table's order, so LIMIT BY finds the latest change
	// of each account while it reads. argMax takes more time and memory, above all for values of 32
	// bytes.
	accountsAt = `(SELECT owner, account, amount FROM (
		SELECT account, open, owner, amount FROM {db}.balance_changes_raw WHERE mint = {mint:String} AND slot <= {slot:UInt64}
		ORDER BY mint DESC, account DESC, slot DESC, place DESC LIMIT 1 BY mint, account) WHERE open)`
)

// holders returns a subquery of all holders of a mint that are not excluded. Its columns are owner,
// amount and accounts; for now also curve, and if q.counts is set, total, the number of all these
// holders.
func holders(q *Ranking) string {
	from, curve := accountsNow, ", any(on_curve) AS curve"
	if q.Slot != nil {
		from, curve = accountsAt, ""
	}
	query := "SELECT t.owner AS owner, sum(toUInt128(t.amount)) AS amount, count() AS accounts" + curve + " FROM " + from + " AS t GROUP BY owner HAVING amount > 0"
	if len(q.Exclude) > 0 {
		query += " AND " + kindOf(q.Slot == nil) + " NOT IN {exclude:Array(String)}"
	}
	if q.counts {
		query = "SELECT *, count() OVER () AS total FROM (" + query + ")"
	}
	return "(" + query + ")"
}

func (q *Ranking) args() []any {
	args := []any{clickhouse.Named("mint", q.Mint.String()), clickhouse.Named("limit", q.Limit+1), clickhouse.Named("places", mostPlaces)}
	if q.Slot != nil {
		args = append(args, clickhouse.Named("slot", *q.Slot))
	}
	if len(q.Exclude) > 0 {
		args = append(args, clickhouse.Named("exclude", q.Exclude))
	}
	if !q.After.zero() {
		args = append(args, clickhouse.Named("amount", q.After.amount.String()), clickhouse.Named("owner", q.After.owner.String()))
	}
	return args
}

// rank returns the holders after the cursor, at most one more than the limit. If q.counts is set
// and the list is not empty, it also returns the number of all holders.
func (c *ClickHouse) rank(ctx context.Context, q *Ranking) (list []ranked, total uint64, err error) {
	if q.Slot != nil && (slices.Contains(q.Exclude, schemas.OwnerWallet) || slices.Contains(q.Exclude, schemas.OwnerProgram)) {
		return nil, 0, ErrNeedsNow
	}
	// The first two stand for columns that the subquery may not have.
	curve, number, after := "true", "toUInt64(0)", ""
	if q.Slot == nil {
		curve = "curve"
	}
	if q.counts {
		number = "total"
	}
	if !q.After.zero() {
		after = " WHERE amount < {amount:UInt128} OR amount = {amount:UInt128} AND owner > base58Decode({owner:String})"
	}
	questions := c.public
	if q.large || q.Slot != nil {
		questions = c.sums
	}
	err = c.read(ctx, questions, func(rows driver.Rows) error {
		var (
			row    ranked
			owner  string
			amount string
			onIt   bool
		)
		if err := rows.Scan(&owner, &amount, &row.accounts, &onIt, &total); err != nil {
			return err
		}
		if q.Slot == nil {
			row.curve = &onIt // else it is a constant, and says nothing
		}
		row.owner = keyOf(owner)
		row.amount, _ = new(big.Int).SetString(amount, 10)
		list = append(list, row)
		return nil
	}, "SELECT owner, toString(h.amount), accounts, "+curve+", "+number+" FROM "+holders(q)+" AS h"+after+" ORDER BY h.amount DESC, owner LIMIT {limit:UInt32}", q.args()...)
	return list, total, err
}
