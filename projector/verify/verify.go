// Package verify compares ClickHouse's tables with the log that they are made of, and makes rows
// again that are missing.
//
// In: the records of the log up to where the projectors have committed; the tables. Out: per table
// and range of slots the rows expected and found; rows. Guarantees: what is expected is made by the
// projectors' own code, in a database of its own beside the tables, so that memory stays bounded
// and repeated records fall together as they do there; the tables that are compared are only read.
// A row is found when it is there as expected, or in a later state; rows that the log does not have
// are told and are no fault, since topics expire and a running node writes on. Rebuild only adds
// rows: those that are there already fall together with their copies.
package verify

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/internal/clickhouse/parts"
	"github.com/mintlake/mintlake/projector"
	"github.com/mintlake/mintlake/projector/swaps"
	"github.com/mintlake/mintlake/schemas"
)

// Group is the tables that one consumer group fills.
type Group struct {
	// Name is the consumer group's.
	Name   string
	Topics []string
	Tables []string
}

// Groups lists every projected table.
func Groups() []Group {
	return []Group{
		{schemas.GroupProjector, projector.Topics(), names(false)},
		{schemas.GroupSwaps, swaps.Topics(), names(true)},
	}
}

func names(ofSwaps bool) (list []string) {
	for _, s := range specs() {
		if s.swaps == ofSwaps {
			list = append(list, s.table)
		}
	}
	return list
}

// Finding is a range of slots in which a table differs from the log.
type Finding struct {
	Table string `json:"table"`
	// FromSlot and ToSlot are those of the rows concerned, or of the legs that they are made of;
	// both 0 in a table whose rows have no slot.
	FromSlot uint64 `json:"from_slot"`
	ToSlot   uint64 `json:"to_slot"`
	// From and To are the first and the last bucket concerned, in a table of prices or volumes.
	From *time.Time `json:"from,omitempty"`
	To   *time.Time `json:"to,omitempty"`
	// Expected rows of the range, and how many of them are there as they should be.
	Expected uint64 `json:"expected"`
	Found    uint64 `json:"found"`
	// Unreadable says why the table's rows were not read; then the figures are those of the whole
	// table.
	Unreadable string `json:"unreadable,omitempty"`
	// Rebuild is the command that makes the rows again.
	Rebuild string `json:"rebuild"`
}

// TableReport is what was found of one table.
type TableReport struct {
	Table string `json:"table"`
	// Expected are the rows that the log makes; Rows are those that are there, More those of them
	// that the log does not have.
	Expected uint64 `json:"expected"`
	Rows     uint64 `json:"rows"`
	More     uint64 `json:"more"`
	// Checksum of the expected rows, and of those that are there.
	ExpectedChecksum string `json:"expected_checksum"`
	Checksum         string `json:"checksum"`
	// BrokenParts are those whose files differ from their checksums, with ClickHouse's message.
	BrokenParts map[string]string `json:"broken_parts,omitempty"`
	Findings    []Finding         `json:"findings"`
}

// Differs says that rows are missing or wrong, or that parts are broken.
func (r *TableReport) Differs() bool { return len(r.Findings) > 0 || len(r.BrokenParts) > 0 }

// Verifier compares tables of two databases: what is expected, and what is there.
type Verifier struct {
	conn             driver.Conn
	expected, actual string
	// slots is the length of the ranges that are compared.
	slots uint64
}

// New makes a verifier; slots 0 means ranges of 100,000, half a day.
func New(conn driver.Conn, expected, actual string, slots uint64) *Verifier {
	if slots == 0 {
		slots = 100_000
	}
	return &Verifier{conn: conn, expected: expected, actual: actual, slots: slots}
}

// Table compares one table.
func (v *Verifier) Table(ctx context.Context, name string) (*TableReport, error) {
	i := slices.IndexFunc(specs(), func(s spec) bool { return s.table == name })
	if i < 0 {
		return nil, fmt.Errorf("verify: %s is no projected table", name)
	}
	return v.compare(ctx, specs()[i])
}

func (v *Verifier) compare(ctx context.Context, s spec) (*TableReport, error) {
	name, per := s.table, s.perRange(v.slots)
	report := &TableReport{Table: name, Findings: []Finding{}}
	var err error
	if report.BrokenParts, err = parts.CheckTable(ctx, v.conn, v.actual, name); err != nil {
		return nil, fmt.Errorf("verify %s: %w", name, err)
	}
	var ranges []uint64
	if report.Expected, report.ExpectedChecksum, _, err = v.sums(ctx, v.expected, &s); err != nil {
		return nil, fmt.Errorf("verify %s: read what is expected: %w", name, err)
	}
	expected, err := v.rangeSums(ctx, v.expected, &s)
	if err != nil {
		return nil, fmt.Errorf("verify %s: read what is expected: %w", name, err)
	}
	if len(report.BrokenParts) > 0 { // a query that reads one fails, or does not end: see parts
		reason := fmt.Sprintf("%d of its parts are broken", len(report.BrokenParts))
		report.Findings = append(report.Findings, Finding{Table: name, Expected: report.Expected, Unreadable: reason, Rebuild: command(name, 0, 0)})
		return report, nil
	}
	if report.Rows, report.Checksum, _, err = v.sums(ctx, v.actual, &s); err != nil {
		return nil, fmt.Errorf("verify %s: %w", name, err)
	}
	actual, err := v.rangeSums(ctx, v.actual, &s)
	if err != nil {
		return nil, fmt.Errorf("verify %s: %w", name, err)
	}
	for at, sum := range expected {
		if actual[at] != sum {
			ranges = append(ranges, at)
		}
	}
	slices.Sort(ranges)
	if len(ranges) > 0 {
		if report.Findings, err = v.missing(ctx, &s, report.Expected, ranges); err != nil {
			return nil, fmt.Errorf("verify %s: look for what is missing: %w", name, err)
		}
		for i := range report.Findings {
			report.Findings[i].Expected = expected[report.Findings[i].FromSlot/per].rows
			report.Findings[i].Found += report.Findings[i].Expected
		}
	}
	there := report.Expected
	for _, f := range report.Findings {
		there -= f.Expected - f.Found
	}
	report.More = report.Rows - min(report.Rows, there)
	return report, nil
}

// command is the one that makes the rows of a range again.
func command(table string, from, to uint64) string {
	text := "mintlake rebuild --tables " + table
	if to > 0 {
		text += fmt.Sprintf(" --from-slot %d --to-slot %d", from, to)
	}
	return text
}

type rangeSum struct{ rows, sum uint64 }

// sums counts all rows of a table and adds their checksums up.
func (v *Verifier) sums(ctx context.Context, database string, s *spec) (rows uint64, checksum string, sum uint64, err error) {
	query := "SELECT count(), groupBitXor(" + s.hash() + ") FROM " + database + "." + s.table + " FINAL" + bounded
	err = v.conn.QueryRow(ctx, query).Scan(&rows, &sum)
	return rows, fmt.Sprintf("%016x", sum), sum, err
}

// rangeSums does so by range of slots.
func (v *Verifier) rangeSums(ctx context.Context, database string, s *spec) (map[uint64]rangeSum, error) {
	rows, err := v.conn.Query(ctx, fmt.Sprintf("SELECT intDiv(%s, %d) AS at, count(), groupBitXor(%s) FROM %s.%s FINAL%s GROUP BY at", s.slot, s.perRange(v.slots), s.hash(), database, s.table, s.where(database))+bounded)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // its error is rows.Err's
	sums := map[uint64]rangeSum{}
	for rows.Next() {
		var at uint64
		var sum rangeSum
		if err := rows.Scan(&at, &sum.rows, &sum.sum); err != nil {
			return nil, err
		}
		sums[at] = sum
	}
	return sums, rows.Err()
}

// bounded keeps a comparison small beside everything else.
const bounded = " SETTINGS max_threads = 2, max_block_size = 8192, max_bytes_before_external_group_by = 500000000"

// among is the condition that a number is one of these; sorted. A long list would not fit in a
// query: then it is between the first and the last.
func among(numbers []uint64) string {
	if len(numbers) > 1000 {
		return fmt.Sprintf("BETWEEN %d AND %d", numbers[0], numbers[len(numbers)-1])
	}
	return "IN (" + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(numbers)), ","), "[]") + ")"
}

// missing lists, for the ranges that differ, the rows expected and neither there nor in a later
// state; Found holds minus their number. Rows are looked at in shards by their keys, some 500,000
// at a time: what one statement holds in memory.
func (v *Verifier) missing(ctx context.Context, s *spec, expected uint64, ranges []uint64) ([]Finding, error) {
	const shardRows = 500_000
	shards := expected/shardRows + 1
	found := map[uint64]*Finding{}
	for shard := range shards {
		in := fmt.Sprintf("cityHash64(%s) %% %d = %d", s.key, shards, shard)
		rows, err := v.conn.Query(ctx, fmt.Sprintf(`SELECT intDiv(slot_of_row, %d) AS at, count(), min(slot_of_row), max(slot_of_row)
FROM (SELECT (%[2]s) AS k, %[3]s AS o, %[4]s AS h, toUInt64(%[5]s) AS slot_of_row FROM (SELECT * FROM %[6]s.%[8]s FINAL%[11]s) WHERE %[9]s AND intDiv(%[5]s, %[1]d) %[10]s) AS e
LEFT JOIN (SELECT (%[2]s) AS k, %[3]s AS o, %[4]s AS h, 1 AS there FROM (SELECT * FROM %[7]s.%[8]s FINAL%[12]s) WHERE %[9]s) AS a ON e.k = a.k
WHERE there = 0 OR a.o < e.o OR a.o = e.o AND a.h != e.h GROUP BY at`,
			s.perRange(v.slots), s.key, s.order, s.hash(), s.slot, v.expected, v.actual, s.table, in, among(ranges), s.where(v.expected), s.where(v.actual))+
			" SETTINGS max_threads = 2, max_block_size = 8192")
		if err != nil {
			return nil, err
		}
		for rows.Next() {
			var at, count, from, to uint64
			if err := rows.Scan(&at, &count, &from, &to); err != nil {
				return nil, err
			}
			f := found[at]
			if f == nil {
				f = &Finding{Table: s.table, FromSlot: from}
				found[at] = f
			}
			f.FromSlot, f.ToSlot, f.Found = min(f.FromSlot, from), max(f.ToSlot, to), f.Found-count
		}
		if err := rows.Err(); err != nil {
			return nil, err
		}
		_ = rows.Close() // read to its end
	}
	list2 := make([]Finding, 0, len(found))
	for _, f := range found {
		f.Rebuild = command(s.table, f.FromSlot, f.ToSlot)
		list2 = append(list2, *f)
	}
	slices.SortFunc(list2, func(a, b Finding) int {
		if a.FromSlot < b.FromSlot {
			return -1
		}
		return 1
	})
	return list2, nil
}
