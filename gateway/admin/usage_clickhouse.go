package admin

import (
	"context"
	"strings"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/internal/clickhouse"
)

// UsageTable reads usage from the view key_usage_1m.
type UsageTable struct {
	*clickhouse.Questions
	view string
}

// NewUsageTable returns a reader of the view in the given database. open makes the connection, for
// the first query.
func NewUsageTable(open func(ctx context.Context) (driver.Conn, error), database string) *UsageTable {
	return &UsageTable{
		Questions: clickhouse.NewQuestions(open, clickhouse.Bounds{Time: 20 * time.Second, Concurrent: 2, Memory: 512 << 20, Threads: 2}),
		view:      "`" + database + "`.key_usage_1m",
	}
}

// usageGroups maps each value of the parameter by to what the query groups by: pairs of a SQL
// expression and the name of its column.
var usageGroups = map[string][][2]string{
	"minute": {{"minute", "time"}}, "hour": {{"toStartOfHour(minute)", "time"}}, "day": {{"toStartOfDay(minute)", "time"}},
	"key": {{"product", "product"}, {"key", "key"}}, "method": {{"method", "method"}},
}

// Usage implements the interface Usage. The inner query sums up each minute. The outer query sums
// up the minutes, but takes the maximum of streams and addresses: those of one minute add up, those
// of several minutes do not.
func (u *UsageTable) Usage(ctx context.Context, q UsageQuery, limit int) (rows []UsageRow, err error) {
	var inner, outer, names []string
	for _, by := range q.By {
		for _, group := range usageGroups[by] {
			expression, name := group[0], group[1]
			inner = append(inner, expression+" AS by_"+name)
			outer = append(outer, "by_"+name)
			names = append(names, name)
		}
	}
	// list joins the columns in first and those that rows are grouped by, with commas.
	list := func(first ...string) string {
		return strings.Join(append(append([]string{}, first...), outer...), ", ")
	}
	columns := strings.Join(append(append([]string{}, outer...), "sum(a), sum(b), sum(c), sum(d), max(e), max(f)"), ", ")
	text := "SELECT " + columns + " FROM (SELECT " + strings.Join(append(inner, "sum(requests) AS a, sum(refused) AS b, sum(bytes) AS c, "+
		"sum(units) AS d, sum(streams) AS e, sum(addresses) AS f"), ", ") + " FROM " + u.view + " WHERE minute >= toDateTime({from:UInt32}, 'UTC') AND minute < toDateTime({to:UInt32}, 'UTC')" +
		" AND ({product:String} = '' OR product = {product:String}) AND ({key:String} = '' OR key = {key:String}) AND ({method:String} = '' OR method = {method:String})" +
		" GROUP BY " + list("minute") + ")"
	if len(outer) > 0 {
		text += " GROUP BY " + list() + " ORDER BY " + list()
	}
	text += " LIMIT {limit:UInt64}"
	scan := func(found driver.Rows, row *UsageRow) error { return found.Scan(row.targets(names)...) }
	err = u.Ask(ctx, func(ctx context.Context, conn driver.Conn) error {
		rows, err = clickhouse.List(ctx, conn, scan, text, ch.Named("from", uint32(q.From.Unix())), ch.Named("to", uint32(q.To.Unix())), ch.Named("product", q.Product), ch.Named("key", q.Key),
			ch.Named("method", q.Method), ch.Named("limit", uint64(limit)))
		return err
	})
	return rows, err
}

// targets returns pointers to the fields that a row of the query is scanned into: first the columns
// in names, then the six figures.
func (r *UsageRow) targets(names []string) []any {
	targets := make([]any, 0, len(names)+6)
	for _, name := range names {
		switch name {
		case "time":
			r.Time = new(time.Time)
			targets = append(targets, r.Time)
		case "product":
			targets = append(targets, &r.Product)
		case "key":
			targets = append(targets, &r.Key)
		default:
			targets = append(targets, &r.Method)
		}
	}
	return append(targets, &r.Requests, &r.Refused, &r.Bytes, &r.Units, &r.Streams, &r.Addresses)
}
