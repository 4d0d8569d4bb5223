package admin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/httpjson"
)

// UsageQuery is the query of GET /usage.
type UsageQuery struct {
	// From and To bound the minutes that count: From is included, To is not.
	From, To time.Time
	// Product, Key and Method select rows. An empty text selects all.
	Product, Key, Method string
	// By are the columns that rows are grouped by: key, method, and one of minute, hour and day.
	// Rows that are grouped by key are grouped by product as well.
	By []string
}

// UsageRow is one row of the answer. A column that rows are not grouped by is left out.
// docs/keys.md says what the figures count.
type UsageRow struct {
	Time     *time.Time `json:"time,omitempty"`
	Product  string     `json:"product,omitempty"`
	Key      string     `json:"key,omitempty"`
	Method   string     `json:"method,omitempty"`
	Requests uint64     `json:"requests"`
	Refused  uint64     `json:"refused"`
	Bytes    uint64     `json:"bytes"`
	Units    uint64     `json:"units"`
	// Streams and Addresses are the highest values of any minute: those of several minutes do not
	// add up.
	Streams   uint64 `json:"streams"`
	Addresses uint64 `json:"addresses"`
}

// UsageAnswer is the body of GET /usage.
type UsageAnswer struct {
	From time.Time  `json:"from"`
	To   time.Time  `json:"to"`
	Rows []UsageRow `json:"rows"`
	// More is true if there are more rows than an answer may have. Then the caller should narrow
	// the query.
	More bool `json:"more,omitempty"`
}

// Usage reads what keys used. *UsageTable implements it.
type Usage interface {
	// Usage returns at most limit rows, in the order of query.By.
	Usage(ctx context.Context, query UsageQuery, limit int) ([]UsageRow, error)
}

const (
	maxUsageRows = 10_000
	// defaultUsage is how far back an answer goes if the query has no from.
	defaultUsage = 24 * time.Hour
	// maxUsage is the longest time that may lie between the parameters from and to.
	maxUsage = 400 * 24 * time.Hour
)

// usage serves GET /usage?from=&to=&product=&key=&method=&by=.
func (s *Server) usage(w http.ResponseWriter, r *http.Request) error {
	query, err := usageQuery(r, time.Now())
	if err != nil {
		return err
	}
	if s.deps.Usage == nil {
		return &publicError{http.StatusServiceUnavailable, "usage is kept in ClickHouse, which this node does not know: --clickhouse-dsn names it"}
	}
	rows, err := s.deps.Usage.Usage(r.Context(), query, maxUsageRows+1)
	if errors.Is(err, clickhouse.ErrUnavailable) {
		s.deps.Logger.Warn("usage cannot be read", "err", err)
		return &publicError{http.StatusServiceUnavailable, "usage cannot be read now: ClickHouse does not answer"}
	}
	if err != nil {
		return fmt.Errorf("read usage: %w", err)
	}
	answer := UsageAnswer{From: query.From, To: query.To, Rows: rows, More: len(rows) > maxUsageRows}
	answer.Rows = answer.Rows[:min(len(rows), maxUsageRows)]
	if answer.Rows == nil {
		answer.Rows = []UsageRow{}
	}
	httpjson.Write(w, http.StatusOK, answer)
	return nil
}

// usageColumns are the values that the parameter by may have.
var usageColumns = []string{"minute", "hour", "day", "key", "method"}

// usageQuery reads and checks the parameters of GET /usage. by may be given more than once, or as a
// list with commas.
func usageQuery(r *http.Request, now time.Time) (UsageQuery, error) {
	values := r.URL.Query()
	for name, given := range values {
		if len(given) > 1 && name != "by" {
			return UsageQuery{}, invalid("%.40q is given %d times: must be given once", name, len(given))
		}
		if !slices.Contains([]string{"from", "to", "product", "key", "method", "by"}, name) {
			return UsageQuery{}, invalid("unknown parameter %.40q: there are from, to, product, key, method and by", name)
		}
	}
	q := UsageQuery{Product: values.Get("product"), Key: values.Get("key"), Method: values.Get("method")}
	var err error
	if q.To, err = timeIn(values.Get("to"), now, now.Truncate(time.Minute).Add(time.Minute)); err != nil {
		return q, invalid("to: %s", err)
	}
	if q.From, err = timeIn(values.Get("from"), now, q.To.Add(-defaultUsage)); err != nil {
		return q, invalid("from: %s", err)
	}
	if !q.From.Before(q.To) || q.To.Sub(q.From) > maxUsage {
		return q, invalid("from must be before to, by at most %d days", int(maxUsage.Hours()/24))
	}
	if by := strings.Join(values["by"], ","); by != "" {
		q.By = strings.Split(by, ",")
	}
	times := 0
	for i, column := range q.By {
		if !slices.Contains(usageColumns, column) || slices.Contains(q.By[:i], column) {
			return q, invalid("by: %.40q: must be some of %s, each once", column, strings.Join(usageColumns, ", "))
		}
		if column != "key" && column != "method" {
			times++
		}
	}
	if times > 1 {
		return q, invalid("by: name one of minute, hour and day")
	}
	return q, nil
}

// timeIn reads a time in RFC 3339, or a duration like 24h, which means that long before now, cut to
// the minute. It returns fallback for an empty text.
func timeIn(text string, now, fallback time.Time) (time.Time, error) {
	if text == "" {
		return fallback.UTC(), nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago).UTC().Truncate(time.Minute), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	// ClickHouse's DateTime has 32 bits.
	if err != nil || t.Unix() < 0 || t.Unix() > math.MaxUint32 {
		return time.Time{}, fmt.Errorf("%.50q: must be a time like 2027-01-31T00:00:00Z, or how long ago, like 24h", text)
	}
	return t.UTC(), nil
}
