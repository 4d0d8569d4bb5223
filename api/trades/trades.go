// Package trades tells what was traded of a mint, trade by trade: the past from ClickHouse, and
// what happens now as a stream.
//
// In: swaps_raw, volume_1h_raw and waiting_minutes; the topic chain.swaps.v1. Out: Page, and Trades
// to the readers of a Hub. Guarantees: it only reads. A page takes a bounded amount of work,
// whatever the filters are. The hub reads the topic only while somebody listens. A reader that is
// too slow is sent away, so it never delays the others.
//
// A trade is a leg: one trade on one pool. A route over three pools is three trades.
package trades

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"

	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Side is what the trader did with the mint.
type Side string

// Sides.
const (
	Buy  Side = "buy"
	Sell Side = "sell"
)

// Trade is one trade of a mint on one pool. Its price is the other side's amount for one whole
// token, and does not take the multiplier of Token-2022's scaled amounts into account.
type Trade struct {
	// ID orders all trades and is a cursor: see Cursor.
	ID        string  `json:"id"`
	Time      int64   `json:"time"` // Unix milliseconds
	Slot      uint64  `json:"slot"`
	Signature *string `json:"signature"` // nil: deleted for its age
	Side      Side    `json:"side"`
	Amount    string  `json:"amount"` // raw amount of the mint
	QuoteMint string  `json:"quote_mint"`
	// QuoteAmount is the raw amount of QuoteMint.
	QuoteAmount string `json:"quote_amount"`
	// Decimals and QuoteDecimals are nil if the transaction does not tell them.
	Decimals      *uint8 `json:"decimals"`
	QuoteDecimals *uint8 `json:"quote_decimals"`
	// Price is whole units of QuoteMint for a whole token; nil if Decimals or QuoteDecimals is nil.
	Price *float64 `json:"price"`
	// PriceUSD is ValueUSD for a whole token; nil if ValueUSD or Decimals is nil.
	PriceUSD *float64 `json:"price_usd"`
	// ValueUSD is the leg's value; nil if it has none, or no valuation has seen the leg.
	ValueUSD *float64 `json:"value_usd"`
	// Estimated says that ValueUSD is made from the latest price of QuoteMint or, if that is
	// unknown, of the mint. The valuation of the trade's minute replaces this estimate.
	Estimated  bool    `json:"estimated"`
	Pool       string  `json:"pool"`
	Venue      string  `json:"venue"`
	Trader     string  `json:"trader"`
	Aggregator *string `json:"aggregator"` // nil: none known
}

// complete sets the amounts, and computes the prices from amounts and value.
func (t *Trade) complete(amount, quote uint64) {
	t.Amount, t.QuoteAmount = strconv.FormatUint(amount, 10), strconv.FormatUint(quote, 10)
	if amount == 0 || t.Decimals == nil {
		return
	}
	whole := float64(amount) / math.Pow10(int(*t.Decimals))
	if t.QuoteDecimals != nil {
		price := float64(quote) / math.Pow10(int(*t.QuoteDecimals)) / whole
		t.Price = &price
	}
	if t.ValueUSD != nil {
		price := *t.ValueUSD / whole
		t.PriceUSD = &price
	}
}

// Filter selects trades. Its zero value selects all.
type Filter struct {
	Pool, Trader *pubkey.Key
	Side         Side
	// MinUSD is the least value. If it is set, trades without a value do not pass.
	MinUSD *float64
	// From and To bound the block time: From is included, To is not. The zero time is no bound.
	From, To time.Time
}

// narrow returns whether the filter may leave out most of the mint's trades.
func (f *Filter) narrow() bool {
	return f.Pool != nil || f.Trader != nil || f.Side != "" || f.MinUSD != nil
}

// Page is a part of a mint's trades, newest first.
type Page struct {
	Mint   pubkey.Key `json:"mint"`
	Trades []Trade    `json:"trades"`
	// Next is the cursor of the next page; nil if this is the last page. A page is read for a
	// bounded time, so it may have fewer trades than asked for and still a next page. A page
	// without trades has a next one only if no trade was found in emptyPatience.
	Next *string `json:"next"`
}

// Reader reads pages: *ClickHouse.
type Reader interface {
	// Trades returns at most limit trades: the newest before a cursor.
	Trades(ctx context.Context, mint pubkey.Key, filter *Filter, before Cursor, limit int) (Page, error)
}

// Cursor is a place among all trades: right before the trade of this time and position. Trades are
// ordered by time first. On the chain this is the order of positions.
type Cursor struct {
	time     uint32 // Unix seconds
	position schemas.Position
}

// endOfTrades is after all trades.
var endOfTrades = Cursor{time: math.MaxUint32, position: schemas.Position{Slot: math.MaxUint64, Order: math.MaxUint64}}

// cursorForm is the form of a cursor: time, slot and order in hexadecimal. Every text of this form
// is a cursor, so that the OpenAPI document can tell which texts are accepted.
var cursorForm = regexp.MustCompile(`^[0-9a-f]{40}$`)

// ErrCursor says that a text is no cursor.
var ErrCursor = errors.New("no cursor of trades")

// String returns the cursor as clients get it.
func (c Cursor) String() string {
	return fmt.Sprintf("%08x%016x%016x", c.time, c.position.Slot, c.position.Order)
}

// ParseCursor is the inverse of String. The empty text is a cursor after all trades.
func ParseCursor(text string) (Cursor, error) {
	if text == "" {
		return endOfTrades, nil
	}
	if !cursorForm.MatchString(text) {
		return Cursor{}, ErrCursor
	}
	seconds, timeErr := strconv.ParseUint(text[:8], 16, 32)
	slot, slotErr := strconv.ParseUint(text[8:24], 16, 64)
	order, orderErr := strconv.ParseUint(text[24:], 16, 64)
	return Cursor{uint32(seconds), schemas.Position{Slot: slot, Order: order}}, errors.Join(timeErr, slotErr, orderErr)
}
