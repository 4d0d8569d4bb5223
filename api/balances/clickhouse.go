package balances

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// publicBounds limits what the public can make ClickHouse do here. sumBounds is for sums over all
// accounts of a large mint or at a past slot, which take up to a second of every core. They run one
// at a time, and with bounds of their own, so that pages which cost milliseconds do not wait behind
// them. countBounds is for the counts of all mints, which do not wait for the public's turns.
var (
	publicBounds = clickhouse.Bounds{Time: 10 * time.Second, Concurrent: 4, Memory: 512 << 20, Threads: 1}
	sumBounds    = clickhouse.Bounds{Time: 10 * time.Second, Concurrent: 1, Memory: 512 << 20, Threads: 2}
	countBounds  = clickhouse.Bounds{Time: time.Minute, Concurrent: 1, Memory: 512 << 20, Threads: 2}
)

// ClickHouse implements Reader.
type ClickHouse struct {
	public, sums, counts *clickhouse.Questions
	database             string
	known                *lru.Cache[holding, kindAt] // kinds of owners that queries have found
}

var _ Reader = (*ClickHouse)(nil)

// NewClickHouse reads from the given database. See clickhouse.Questions for when the connection is
// opened.
func NewClickHouse(open func(ctx context.Context) (driver.Conn, error), database string) *ClickHouse {
	known, err := lru.New[holding, kindAt](mostKinds)
	if err != nil {
		panic(err) // only a size below 1 is refused
	}
	questions := func(bounds clickhouse.Bounds) *clickhouse.Questions { return clickhouse.NewQuestions(open, bounds) }
	return &ClickHouse{questions(publicBounds), questions(sumBounds), questions(countBounds), database, known}
}

// Close closes the connections, if there are any.
func (c *ClickHouse) Close() error {
	return errors.Join(c.public.Close(), c.sums.Close(), c.counts.Close())
}

// read calls each for every row of the answer. {db} in the query is the database.
func (c *ClickHouse) read(ctx context.Context, questions *clickhouse.Questions, each func(driver.Rows) error, query string, args ...any) error {
	return questions.Ask(ctx, func(ctx context.Context, conn driver.Conn) error {
		return clickhouse.Each(ctx, conn, each, strings.ReplaceAll(query, "{db}", c.database), args...)
	})
}

// keyOf returns the key of a FixedString(32) that the query has made a String: ClickHouse then cuts
// the zeros off its end.
func keyOf(raw string) (key pubkey.Key) {
	copy(key[:], raw)
	return key
}

// States implements Reader.
func (c *ClickHouse) States(ctx context.Context, mints []pubkey.Key) (map[pubkey.Key]State, error) {
	states := make(map[pubkey.Key]State, len(mints))
	if len(mints) == 0 {
		return states, nil
	}
	texts := make([]string, 0, len(mints))
	for _, mint := range mints {
		texts = append(texts, mint.String())
	}
	err := c.read(ctx, c.public, func(rows driver.Rows) error {
		var (
			text        string
			complete    bool
			since, asOf uint64
		)
		if err := rows.Scan(&text, &complete, &since, &asOf); err != nil {
			return err
		}
		mint, err := pubkey.Parse(text)
		states[mint] = stateOf(complete, since, asOf)
		return err
	}, "SELECT mint, complete, since_slot, as_of_slot FROM {db}.holder_counts WHERE mint IN {mints:Array(String)}", clickhouse.Named("mints", texts))
	return states, err
}

func stateOf(complete bool, since, asOf uint64) State {
	s := State{Complete: complete, AsOfSlot: &asOf}
	if since > 0 {
		s.SinceSlot = &since
	}
	return s
}

// Points implements Reader.
func (c *ClickHouse) Points(ctx context.Context, mint pubkey.Key, from, to time.Time, limit int) ([]Point, error) {
	points := []Point{}
	err := c.read(ctx, c.public, func(rows driver.Rows) error {
		var at time.Time
		var point Point
		if err := rows.Scan(&at, &point.Holders); err != nil {
			return err
		}
		point.Time = at.Unix()
		points = append(points, point)
		return nil
	}, "SELECT * FROM (SELECT hour, holders FROM {db}.holder_counts_1h_raw FINAL WHERE mint = {mint:String} AND hour >= {from:DateTime('UTC')} AND hour < {to:DateTime('UTC')}"+
		" ORDER BY hour DESC LIMIT {limit:UInt32}) ORDER BY hour",
		clickhouse.Named("mint", mint.String()), clickhouse.Named("from", from), clickhouse.Named("to", to), clickhouse.Named("limit", limit))
	return points, err
}

// span returns the first and the last slot at which balances can be told.
func (c *ClickHouse) span(ctx context.Context) (first, last uint64, err error) {
	// ClickHouse reads min and max from the indexes of the parts: the partitions are ranges of
	// slots. floor is higher than min(slot) if the tables were filled from a log that had lost
	// records.
	err = c.read(ctx, c.public, func(rows driver.Rows) error { return rows.Scan(&first, &last) },
		"SELECT greatest(min(slot), ifNull((SELECT max(floor) FROM {db}.balance_reach_raw FINAL), 0)), max(slot) FROM {db}.balance_changes_raw")
	return first, last, err
}
