package market

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Values of LiquidityChange.Kind.
const (
	Added   = "added"
	Removed = "removed"
)

// LiquidityChange is what somebody put into a pool for a share of it, or took out. Amounts are raw,
// as decimal strings. What is not known is nil.
type LiquidityChange struct {
	// ID orders the changes of a pool, and is a LiquidityCursor.
	ID        string `json:"id"`
	Time      *int64 `json:"time"` // Unix milliseconds
	Slot      uint64 `json:"slot"`
	Signature string `json:"signature"`
	Kind      string `json:"kind"`
	Venue     string `json:"venue"`
	MintA     string `json:"mint_a"`
	// MintB is nil if the instruction names one side of the pool only.
	MintB     *string `json:"mint_b"`
	AmountA   string  `json:"amount_a"`
	AmountB   string  `json:"amount_b"`
	DecimalsA *uint8  `json:"decimals_a"`
	DecimalsB *uint8  `json:"decimals_b"`
	// FeesA and FeesB are the swap fees that AmountA and AmountB include.
	FeesA       *string `json:"fees_a"`
	FeesB       *string `json:"fees_b"`
	Provider    *string `json:"provider"`
	LPAmount    *string `json:"lp_amount"`
	ReserveA    *string `json:"reserve_a"`
	ReserveB    *string `json:"reserve_b"`
	Instruction string  `json:"instruction"`
}

// LiquidityPage is a part of a pool's changes, newest first.
type LiquidityPage struct {
	Pool pubkey.Key `json:"pool"`
	// LPMint is the mint of the pool's liquidity tokens; nil if the pool has no such mint, or it is
	// not known.
	LPMint  *string           `json:"lp_mint"`
	Changes []LiquidityChange `json:"changes"`
	// Next is the cursor of the next page; nil if this is the last.
	Next *string `json:"next"`
}

// Reserves are what a pool held after the last leg or change of an hour that states the reserves.
type Reserves struct {
	Time     int64  `json:"time"` // start of the hour of block time, Unix seconds
	MintA    string `json:"mint_a"`
	MintB    string `json:"mint_b"`
	ReserveA string `json:"reserve_a"`
	ReserveB string `json:"reserve_b"`
}

// Liquidity is what the pools of a mint held in stables and SOL at the end of an hour.
type Liquidity struct {
	Time int64 `json:"time"` // start of the hour of block time, Unix seconds
	// USD is nil if a pool holds SOL, and SOL had no price in the 24 hours up to this hour's end.
	USD   *float64 `json:"liquidity_usd"`
	Pools uint64   `json:"pools"`
}

// LiquidityCursor is a place among the changes of a pool: right before the change at this position.
type LiquidityCursor schemas.Position

// ErrCursor says that a text is no cursor.
var ErrCursor = errors.New("no cursor of changes")

var cursorForm = regexp.MustCompile(`^[0-9a-f]{32}$`)

// String returns the cursor as clients get it: slot and order in hexadecimal.
func (c LiquidityCursor) String() string { return fmt.Sprintf("%016x%016x", c.Slot, c.Order) }

// ParseLiquidityCursor is the inverse of String. The empty text is a cursor after all changes.
func ParseLiquidityCursor(text string) (LiquidityCursor, error) {
	if text == "" {
		return LiquidityCursor{Slot: 1<<64 - 1, Order: 1<<64 - 1}, nil
	}
	if !cursorForm.MatchString(text) {
		return LiquidityCursor{}, ErrCursor
	}
	slot, slotErr := strconv.ParseUint(text[:16], 16, 64)
	order, orderErr := strconv.ParseUint(text[16:], 16, 64)
	return LiquidityCursor{Slot: slot, Order: order}, errors.Join(slotErr, orderErr)
}

const (
	selectLPMint = "SELECT max(lp_mint) FROM {db}.pools_raw WHERE pool = {pool:String}"

	selectChanges = `SELECT toUnixTimestamp(block_time), slot, toUInt64(bitAnd(position, 18446744073709551615)), signature, added, toString(venue), mint_a, mint_b,
			amount_a, amount_b, decimals_a, decimals_b, fees_a, fees_b, provider, lp_amount, reserve_a, reserve_b, toString(instruction)
		FROM {db}.liquidity_raw FINAL WHERE pool = {pool:String} AND slot <= {slot:UInt64} AND position < {position:UInt128} ORDER BY position DESC LIMIT {limit:UInt32}`

	selectReserves = `SELECT toUnixTimestamp(hour) AS time, mint_a, mint_b, reserve_a, reserve_b FROM {db}.pool_reserves_1h
		WHERE pool = {pool:String} AND hour >= {first:DateTime('UTC')} AND hour < {end:DateTime('UTC')} ORDER BY time DESC, mint_a, mint_b LIMIT {limit:UInt32}`

	selectLiquidity = `SELECT toUnixTimestamp(hour) AS time, liquidity_usd, pools
		FROM {db}.liquidity_over_time(mint = {mint:String}, start = {from:DateTime('UTC')}, end = {end:DateTime('UTC')}) ORDER BY time`
)

// PoolLiquidity implements Reader.
func (c *ClickHouse) PoolLiquidity(ctx context.Context, pool pubkey.Key, before LiquidityCursor, limit int) (page LiquidityPage, err error) {
	page.Pool, page.Changes = pool, []LiquidityChange{}
	args := []any{
		clickhouse.Named("pool", pool.String()), clickhouse.Named("slot", before.Slot), clickhouse.Named("position", schemas.Position(before).BigInt().String()),
		clickhouse.Named("limit", limit+1),
	}
	var lpMint string
	if err = read(ctx, c.public, func(rows driver.Rows) error { return rows.Scan(&lpMint) }, c.sql(selectLPMint), args[0]); err != nil {
		return page, err
	}
	page.LPMint = given(lpMint)
	err = read(ctx, c.public, func(rows driver.Rows) error {
		change, err := scanChange(rows)
		page.Changes = append(page.Changes, change)
		return err
	}, c.sql(selectChanges), args...)
	if err == nil && len(page.Changes) > limit {
		page.Changes = page.Changes[:limit]
		page.Next = &page.Changes[limit-1].ID
	}
	return page, err
}

func scanChange(rows driver.Rows) (m LiquidityChange, err error) {
	var (
		at                                   uint32
		place, a, b                          uint64
		added                                bool
		mintB, provider                      string
		feesA, feesB, lp, reserveA, reserveB *uint64
	)
	err = rows.Scan(&at, &m.Slot, &place, &m.Signature, &added, &m.Venue, &m.MintA, &mintB, &a, &b, &m.DecimalsA, &m.DecimalsB, &feesA, &feesB, &provider, &lp, &reserveA, &reserveB,
		&m.Instruction)
	if err != nil {
		return m, err
	}
	m.ID = LiquidityCursor{Slot: m.Slot, Order: place}.String()
	if at > 0 {
		ms := int64(at) * 1000
		m.Time = &ms
	}
	if m.Kind = Removed; added {
		m.Kind = Added
	}
	m.MintB, m.Provider, m.AmountA, m.AmountB = given(mintB), given(provider), *decimal(&a), *decimal(&b)
	m.FeesA, m.FeesB, m.LPAmount, m.ReserveA, m.ReserveB = decimal(feesA), decimal(feesB), decimal(lp), decimal(reserveA), decimal(reserveB)
	return m, nil
}

// PoolReserves implements Reader.
func (c *ClickHouse) PoolReserves(ctx context.Context, pool pubkey.Key, from, to time.Time, limit int) ([]Reserves, error) {
	list := []Reserves{}
	err := read(ctx, c.public, func(rows driver.Rows) error {
		var r Reserves
		var at uint32
		var a, b uint64
		if err := rows.Scan(&at, &r.MintA, &r.MintB, &a, &b); err != nil {
			return err
		}
		r.Time, r.ReserveA, r.ReserveB = int64(at), *decimal(&a), *decimal(&b)
		list = append(list, r)
		return nil
	}, c.sql(selectReserves), clickhouse.Named("pool", pool.String()), clickhouse.Named("first", from), clickhouse.Named("end", to), clickhouse.Named("limit", limit))
	slices.Reverse(list)
	return list, err
}

// MintLiquidity implements Reader.
func (c *ClickHouse) MintLiquidity(ctx context.Context, mint pubkey.Key, from, to time.Time, limit int) ([]Liquidity, error) {
	var until time.Time
	err := read(ctx, c.public, func(rows driver.Rows) error { return rows.Scan(&until) }, "SELECT max(until) FROM "+c.database+".daily_volumes_raw")
	if err != nil {
		return nil, err
	}
	list := []Liquidity{}
	from, to = hours(from, to, until, limit)
	if !from.Before(to) {
		return list, nil
	}
	err = read(ctx, c.public, func(rows driver.Rows) error {
		var l Liquidity
		var at uint32
		err := rows.Scan(&at, &l.USD, &l.Pools)
		l.Time = int64(at)
		list = append(list, l)
		return err
	}, c.sql(selectLiquidity), clickhouse.Named("mint", mint.String()), clickhouse.Named("from", from), clickhouse.Named("end", to))
	return list, err
}

// hours returns the newest limit hours that begin at from or later, before to, and up to until, the
// highest block time: the start of the first hour, and the end of the last.
func hours(from, to, until time.Time, limit int) (first, end time.Time) {
	end = until.Truncate(time.Hour).Add(time.Hour)
	if asked := to.Add(time.Hour - time.Second).Truncate(time.Hour); asked.Before(end) {
		end = asked
	}
	first = from.Add(time.Hour - time.Second).Truncate(time.Hour)
	if least := end.Add(-time.Duration(limit) * time.Hour); first.Before(least) {
		first = least
	}
	if earliest := time.Unix(24*3600, 0); first.Before(earliest) {
		first = earliest // the query looks back a day, and a DateTime cannot be before 1970
	}
	return first, end
}

func (c *ClickHouse) sql(query string) string { return strings.ReplaceAll(query, "{db}", c.database) }

// given returns a pointer to text; nil for the empty text, which stands for none.
func given(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
