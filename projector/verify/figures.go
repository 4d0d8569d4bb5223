package verify

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mintlake/mintlake/internal/clickhouse/parts"
)

// buckets describes a table of prices or volumes, whose rows are made of all legs of a time instead
// of one record.
type buckets struct {
	// length is the length of a bucket.
	length time.Duration
	// reach is how old a leg may be to count in a bucket, measured back from the bucket's start.
	reach time.Duration
	// newest means that only the rows of the last valuation hold.
	newest bool
}

// priceReach is how far a price looks back for a trade: lookBack in package volume.
const priceReach = time.Hour

// figureSpecs returns the tables that a valuation makes of legs. Figures reads their columns from
// the database.
func figureSpecs() []spec {
	of := func(table, key, column string, length time.Duration) spec {
		return spec{
			table: table, key: key, slot: "toUInt64(toUnixTimestamp(" + column + "))", order: "0",
			without: []string{"generation", "trader_set", "buyer_set", "seller_set"}, buckets: &buckets{length: length, reach: priceReach},
		}
	}
	const ofMint, ofPool = "bucket, mint", "bucket, pool, mint_a, mint_b"
	day := 24 * time.Hour
	list := []spec{
		of("pool_minutes_raw", "minute, pool, mint_a, mint_b", "minute", time.Minute),
		of("prices_1m_raw", "mint, minute", "minute", time.Minute),
		of("volume_1m_raw", ofMint, "bucket", time.Minute),
		of("pool_volume_1m_raw", ofPool, "bucket", time.Minute),
		of("volume_1h_raw", ofMint, "bucket", time.Hour),
		of("pool_volume_1h_raw", ofPool, "bucket", time.Hour),
		of("pool_held_1h_raw", ofPool, "bucket", time.Hour),
		of("volume_1d_raw", ofMint, "bucket", day),
		of("pool_volume_1d_raw", ofPool, "bucket", day),
		of("venue_volume_1m_raw", "bucket", "bucket", time.Minute),
		of("trade_pools_1m_raw", "bucket", "bucket", time.Minute),
		of("daily_volumes_raw", "mint", "until", time.Minute),
	}
	// A row of daily_volumes_raw reads the prices of 48 hours, each of which looks back by
	// priceReach. One hour is to spare.
	list[len(list)-1].buckets = &buckets{length: time.Minute, reach: 2*day + 2*time.Hour, newest: true}
	return list
}

// FigureTables returns the names of the tables of prices and volumes.
func FigureTables() (list []string) {
	for _, s := range figureSpecs() {
		list = append(list, s.table)
	}
	return list
}

// Figures compares the tables of prices and volumes with those of the expected database, which are
// made from the legs in the log. A difference counts only if the log has all legs of that bucket.
// The log lacks old legs, which expire after 30 days. It may lack the newest ones too, because a
// running node goes on storing and valuing legs.
func (v *Verifier) Figures(ctx context.Context, tables []string) (reports []*TableReport, err error) {
	// While the tables are compared, minutes may be valued and others may get legs. So the open
	// minutes are read before and after the comparison. If they cannot be read, that is an error
	// only if rows differ.
	before, unknown := v.openMinutes(ctx)
	for _, s := range figureSpecs() {
		if !slices.Contains(tables, s.table) {
			continue
		}
		if s.columns, err = v.columns(ctx, s.table); err != nil {
			return nil, err
		}
		report, err := v.compare(ctx, s)
		if err != nil {
			return nil, err
		}
		reports = append(reports, report)
	}
	if !slices.ContainsFunc(reports, func(r *TableReport) bool { return len(r.Findings) > 0 && r.Findings[0].Unreadable == "" }) {
		for _, report := range reports {
			report.judge(false)
		}
		return reports, nil
	}
	after, err := v.openMinutes(ctx)
	if err = cmp.Or(unknown, err); err != nil {
		return nil, err
	}
	open := slices.Sorted(slices.Values(slices.Concat(before, after)))
	for _, report := range reports {
		i := slices.IndexFunc(figureSpecs(), func(s spec) bool { return s.table == report.Table })
		if report.Findings, report.Waits, err = v.byDay(ctx, report.Findings, figureSpecs()[i].buckets, open); err != nil {
			return nil, err
		}
		report.judge(false)
	}
	return reports, nil
}

func (v *Verifier) columns(ctx context.Context, table string) (names []string, err error) {
	query := "SELECT groupArray(name) FROM (SELECT name FROM system.columns WHERE database = $1 AND table = $2 AND default_kind != 'ALIAS' ORDER BY position)"
	if err = v.conn.QueryRow(ctx, query, v.expected, table).Scan(&names); err != nil {
		return nil, fmt.Errorf("verify %s: read its columns: %w", table, err)
	}
	return names, nil
}

// openMinutes returns the minutes (Unix seconds, sorted) whose figures may differ without a fault:
// the tables have more legs of the minute than the log, or legs that are not valued yet. If
// swaps_raw cannot be read, swap_minutes_raw tells which minutes have later legs than the log, or
// legs that the log lacks.
func (v *Verifier) openMinutes(ctx context.Context) (minutes []uint64, err error) {
	broken, err := parts.CheckTable(ctx, v.conn, v.actual, "swaps_raw")
	if err != nil {
		return nil, fmt.Errorf("verify prices and volumes: %w", err)
	}
	more := func(rows string) string {
		return "SELECT a.minute AS minute FROM (" + fmt.Sprintf(rows, v.actual) + ") AS a LEFT JOIN (" + fmt.Sprintf(rows, v.expected) +
			") AS e ON a.minute = e.minute AND a.partition = e.partition WHERE a.n > e.n"
	}
	later := more("SELECT toStartOfMinute(block_time) AS minute, 0 AS partition, count() AS n FROM %s.swaps_raw FINAL GROUP BY minute")
	if len(broken) > 0 {
		later = more("SELECT minute, partition, max(touched) AS n FROM %s.swap_minutes_raw WHERE partition >= 0 GROUP BY minute, partition")
	}
	query := "SELECT arraySort(groupUniqArray(toUInt64(toUnixTimestamp(minute)))) FROM (" + later +
		" UNION ALL SELECT minute FROM (SELECT minute FROM " + v.actual + ".swap_minutes_raw GROUP BY minute, partition HAVING max(touched) > max(valued)))"
	if err = v.conn.QueryRow(ctx, query+bounded).Scan(&minutes); err != nil {
		return nil, fmt.Errorf("verify prices and volumes: which minutes have legs that the log has not: %w", err)
	}
	return minutes, nil
}

// touches reports whether a leg of one of the minutes counts in the bucket that begins at start. In
// the newest valuation any later leg counts: it makes another valuation the newest.
func (b *buckets) touches(start uint64, minutes []uint64) bool {
	reach := uint64(b.reach.Seconds())
	i, _ := slices.BinarySearch(minutes, start+1-min(start+1, reach))
	return i < len(minutes) && (b.newest || minutes[i] < start+uint64(b.length.Seconds()))
}

// byDay drops the findings of buckets in which a leg of an open minute counts, joins the others of
// a day, and replaces their times by the slots of their legs. open is the result of openMinutes.
// waits counts the rows of the dropped findings.
func (v *Verifier) byDay(ctx context.Context, all []Finding, b *buckets, open []uint64) (days []Finding, waits uint64, err error) {
	days = []Finding{}
	for _, f := range all {
		switch {
		case f.Unreadable != "":
			days = append(days, f)
			continue
		case b.touches(f.FromSlot, open):
			waits += f.Expected - f.Found
			continue
		}
		from, to := time.Unix(int64(f.FromSlot), 0).UTC(), time.Unix(int64(f.ToSlot), 0).UTC()
		if last := len(days) - 1; last >= 0 && days[last].To != nil && days[last].To.Truncate(24*time.Hour).Equal(from.Truncate(24*time.Hour)) {
			days[last].To = &to
			days[last].Expected, days[last].Found = days[last].Expected+f.Expected, days[last].Found+f.Found
			continue
		}
		f.From, f.To = &from, &to
		days = append(days, f)
	}
	for i := range days {
		f := &days[i]
		if f.From == nil {
			continue
		}
		query := fmt.Sprintf("SELECT min(slot), max(slot) FROM %s.swaps_raw WHERE block_time >= toDateTime(%d, 'UTC') AND block_time < toDateTime(%d, 'UTC')",
			v.expected, f.From.Unix(), f.To.Add(b.length).Unix())
		if err := v.conn.QueryRow(ctx, query).Scan(&f.FromSlot, &f.ToSlot); err != nil {
			return nil, 0, fmt.Errorf("verify %s: read the slots of its legs: %w", f.Table, err)
		}
		f.Rebuild = command(f.Table, f.FromSlot, f.ToSlot)
	}
	slices.SortFunc(days, func(a, b Finding) int { return cmp.Compare(a.FromSlot, b.FromSlot) })
	return days, waits, nil
}
