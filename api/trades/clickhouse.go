package trades

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// bounds limits what the public can make ClickHouse do here.
var bounds = clickhouse.Bounds{Time: 10 * time.Second, Concurrent: 4, Memory: 512 << 20, Threads: 2}

// pagePatience is how long a page goes on reading before it is returned as it is, emptyPatience how
// long if it has no trade yet. Both are below bounds.Time.
const (
	pagePatience  = 2 * time.Second
	emptyPatience = 5 * time.Second
)

// ClickHouse implements Reader.
type ClickHouse struct {
	questions *clickhouse.Questions
	database  string
}

var _ Reader = (*ClickHouse)(nil)

// NewClickHouse reads from the given database. See clickhouse.Questions for when the connection is
// opened.
func NewClickHouse(open func(ctx context.Context) (driver.Conn, error), database string) *ClickHouse {
	return &ClickHouse{clickhouse.NewQuestions(open, bounds), database}
}

// Close closes the connection, if there is one.
func (c *ClickHouse) Close() error { return c.questions.Close() }

// Trades implements Reader.
func (c *ClickHouse) Trades(ctx context.Context, mint pubkey.Key, filter *Filter, before Cursor, limit int) (Page, error) {
	page := Page{Mint: mint, Trades: []Trade{}}
	err := c.questions.Ask(ctx, func(ctx context.Context, conn driver.Conn) error {
		question := question{conn: conn, database: c.database, mint: mint, filter: filter, before: before}
		return question.fill(ctx, &page, limit)
	})
	return page, err
}

// question is one request for a page.
type question struct {
	conn     driver.Conn
	database string
	mint     pubkey.Key
	filter   *Filter
	before   Cursor
}

// fill reads spans of time, the latest first, until the page is full, no trades are left, or it has
// read for long enough.
func (q *question) fill(ctx context.Context, page *Page, limit int) error {
	begin := time.Now()
	want := wanted(limit, q.filter.narrow())
	for {
		hours, more, err := q.hours(ctx)
		if err != nil {
			return err
		}
		_, to := q.times()
		spans := spansOf(hours, want)
		spans = slices.DeleteFunc(spans, func(s span) bool { return s.from.After(to) })
		for len(spans) > 0 {
			batch := nextBatch(&spans, want)
			// One trade more than the limit tells that there is a next page.
			if err := q.read(ctx, page, batch, limit+1-len(page.Trades)); err != nil {
				return err
			}
			if len(page.Trades) > limit {
				page.Trades = page.Trades[:limit]
				page.Next = &page.Trades[limit-1].ID
				return nil
			}
			earliest := Cursor{time: uint32(max(0, batch[len(batch)-1].from.Unix()))}
			if (len(spans) > 0 || more) && page.enough(time.Since(begin)) {
				text := earliest.String()
				page.Next = &text
				return nil
			}
			q.before = earliest
			// The batch had fewer trades than the page needs. In hours that no valuation has seen,
			// the number of trades is a guess, so the next batch is larger.
			want = min(4*want, mostRead)
		}
		if !more {
			return nil
		}
	}
}

// enough returns whether the page is returned as it is, after reading for elapsed.
func (p *Page) enough(elapsed time.Duration) bool {
	if len(p.Trades) == 0 {
		return elapsed > emptyPatience
	}
	return elapsed > pagePatience
}

// mostHours bounds how many hours with trades one query looks for.
const mostHours = 2_000

// hour is an hour of block time in which the mint may have been traded.
type hour struct {
	start  time.Time
	trades uint64 // 0: unknown, because no valuation has seen the hour
}

// hours returns the latest hours before the cursor that may have trades: hours in which a valuation
// saw trades of the mint, and hours with legs of any mint that no valuation has seen. more is true
// if there may be earlier ones.
func (q *question) hours(ctx context.Context) (list []hour, more bool, err error) {
	from, to := q.times()
	query := strings.ReplaceAll(`SELECT bucket, max(trades) AS trades FROM (
			SELECT bucket, trades FROM {db}.volume_1h_raw FINAL WHERE mint = {mint:String} AND bucket >= {from:DateTime('UTC')} AND bucket <= {to:DateTime('UTC')}
				ORDER BY bucket DESC LIMIT {most:UInt32}
			UNION ALL
			SELECT DISTINCT toStartOfHour(minute) AS bucket, toUInt64(0) AS trades FROM {db}.waiting_minutes WHERE minute >= {from:DateTime('UTC')} AND minute <= {to:DateTime('UTC')}
		) GROUP BY bucket ORDER BY bucket DESC LIMIT {most:UInt32}`, "{db}", q.database)
	list, err = clickhouse.List(ctx, q.conn, func(rows driver.Rows, h *hour) error { return rows.Scan(&h.start, &h.trades) },
		query, clickhouse.Named("mint", q.mint.String()), clickhouse.Named("from", from.Truncate(time.Hour)), clickhouse.Named("to", to),
		clickhouse.Named("most", strconv.Itoa(mostHours+1)))
	if err != nil {
		return nil, false, fmt.Errorf("read hours with trades: %w", err)
	}
	if more = len(list) > mostHours; more {
		list = list[:mostHours]
	}
	return list, more, nil
}

// times returns the first and the last block time that the page may have. A leg without a block
// time is stored with 0, so times begins after 0: such a leg has no place in the list.
func (q *question) times() (from, to time.Time) {
	from, to = time.Unix(1, 0), time.Unix(int64(q.before.time), 0)
	if q.filter.From.After(from) {
		from = q.filter.From
	}
	if !q.filter.To.IsZero() && !q.filter.To.After(to) {
		to = q.filter.To.Add(-time.Second)
	}
	return from, to
}

// columns are the columns that a trade is made from.
const columns = `toUnixTimestamp(block_time) AS at, slot, toUInt64(bitAnd(position, 18446744073709551615)) AS place,
	if(signature_rest = toFixedString('', 52), '', base58Encode(concat(signature_head, signature_rest))) AS signed,
	mint_out = {mint:String} AS bought, if(bought, amount_out, amount_in) AS amount, if(bought, amount_in, amount_out) AS quote,
	if(bought, mint_in, mint_out) AS quote_mint, if(bought, decimals_out, decimals_in) AS decimals, if(bought, decimals_in, decimals_out) AS quote_decimals,
	toFloat64(usd_value) AS usd, pool, toString(venue), trader, toString(aggregator)`

// read appends at most limit trades of the spans.
func (q *question) read(ctx context.Context, page *Page, spans []span, limit int) error {
	where, args := q.where(spans)
	err := clickhouse.Each(ctx, q.conn, func(rows driver.Rows) error {
		trade, err := scan(rows)
		page.Trades = append(page.Trades, trade)
		return err
	}, "SELECT "+columns+" FROM "+q.database+".swaps_raw FINAL WHERE "+where+
		" ORDER BY block_time DESC, position DESC LIMIT {limit:UInt32}", append(args, clickhouse.Named("limit", strconv.Itoa(limit)))...)
	if err != nil {
		return fmt.Errorf("read trades: %w", err)
	}
	return nil
}

func scan(rows driver.Rows) (t Trade, err error) {
	var (
		at                 uint32
		place, amount, raw uint64
		signature, through string
		bought             uint8
	)
	err = rows.Scan(&at, &t.Slot, &place, &signature, &bought, &amount, &raw, &t.QuoteMint, &t.Decimals, &t.QuoteDecimals, &t.ValueUSD, &t.Pool, &t.Venue, &t.Trader, &through)
	if err != nil {
		return t, err
	}
	t.ID = Cursor{at, schemas.Position{Slot: t.Slot, Order: place}}.String()
	t.Time, t.Side, t.Signature, t.Aggregator = int64(at)*1000, Sell, known(signature), known(through)
	if bought == 1 {
		t.Side = Buy
	}
	t.complete(amount, raw)
	return t, nil
}

// known returns a pointer to text; nil for the empty text, which stands for unknown.
func known(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// where returns the condition of a page over spans, and its arguments.
func (q *question) where(spans []span) (string, []any) {
	from, to := q.times()
	args := []any{
		clickhouse.Named("mint", q.mint.String()), clickhouse.Named("from", from), clickhouse.Named("to", to), clickhouse.Named("position", q.before.position.BigInt().String()),
	}
	times := make([]string, len(spans))
	for i, s := range spans {
		times[i] = fmt.Sprintf("block_time >= toDateTime(%d, 'UTC') AND block_time < toDateTime(%d, 'UTC')", s.from.Unix(), s.to.Unix())
	}
	conditions := []string{
		"(mint_in = {mint:String} OR mint_out = {mint:String})", "block_time >= {from:DateTime('UTC')}", "block_time <= {to:DateTime('UTC')}",
		"(block_time < toDateTime(" + strconv.FormatUint(uint64(q.before.time), 10) + ", 'UTC') OR position < {position:UInt128})", "(" + strings.Join(times, " OR ") + ")",
	}
	if pool := q.filter.Pool; pool != nil {
		conditions, args = append(conditions, "pool = {pool:String}"), append(args, clickhouse.Named("pool", pool.String()))
	}
	if trader := q.filter.Trader; trader != nil {
		conditions, args = append(conditions, "trader = {trader:String}"), append(args, clickhouse.Named("trader", trader.String()))
	}
	switch q.filter.Side {
	case Buy:
		conditions = append(conditions, "mint_out = {mint:String}")
	case Sell:
		conditions = append(conditions, "mint_in = {mint:String}")
	}
	if least := q.filter.MinUSD; least != nil {
		conditions, args = append(conditions, "toFloat64(usd_value) >= {least:Float64}"), append(args, clickhouse.Named("least", strconv.FormatFloat(*least, 'g', -1, 64)))
	}
	return strings.Join(conditions, " AND "), args
}
