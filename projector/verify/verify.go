// Package verify compares ClickHouse's tables with the log that they are made of, and makes missing
// rows again.
//
// In: the records of the log up to where the projectors have committed; the tables. Out: for each
// table and range of slots, the rows expected and found; rows. Guarantees: the projectors' own code
// makes the expected rows, in a separate database beside the tables, so memory stays bounded and
// repeated records merge as they do in the tables. The compared tables are only read. A row counts
// as found if it is as expected, or in a later state. Rows that the log does not have are reported
// but are not an error, since topics expire and a running node goes on writing. A rebuild only adds
// rows, which merge with the copies that are there.
package verify

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/clickhouse/parts"
	"github.com/mintlake/mintlake/projector"
	"github.com/mintlake/mintlake/projector/balances"
	"github.com/mintlake/mintlake/projector/swaps"
	"github.com/mintlake/mintlake/schemas"
)

// Group is the tables that one consumer group fills.
type Group struct {
	// Name is the name of the consumer group.
	Name   string
	Topics []string
	Tables []string
}

// Groups returns the groups with all projected tables.
func Groups() []Group {
	return []Group{
		{schemas.GroupProjector, projector.Topics(), names(projector.Columns())},
		{schemas.GroupSwaps, swaps.Topics(), names(swaps.Columns())},
		{schemas.GroupBalances, balances.Topics(), names(balances.Columns())},
	}
}

// names returns those of the compared tables that a projector writes.
func names(written map[string][]string) (list []string) {
	for _, s := range specs() {
		if _, ok := written[s.table]; ok {
			list = append(list, s.table)
		}
	}
	return list
}

// Finding is a range of slots in which a table differs from the log.
type Finding struct {
	Table string `json:"table"`
	// FromSlot and ToSlot are the slots of the rows concerned, or of the legs that they are made
	// of; both are 0 if the table's rows have no slot.
	FromSlot uint64 `json:"from_slot"`
	ToSlot   uint64 `json:"to_slot"`
	// From and To are the first and the last bucket concerned, in a table of prices or volumes.
	From *time.Time `json:"from,omitempty"`
	To   *time.Time `json:"to,omitempty"`
	// Expected is the number of rows of the range, and Found how many of them are there as they
	// should be.
	Expected uint64 `json:"expected"`
	Found    uint64 `json:"found"`
	// Unreadable is why the table's rows were not read; empty if they were. Otherwise Expected is
	// that of the whole table, and Found is 0.
	Unreadable string `json:"unreadable,omitempty"`
	// Rebuild is the command that makes the rows again.
	Rebuild string `json:"rebuild"`
}

// States of a table.
const (
	// Equal: each row that the log makes is there, as it should be or in a later state.
	Equal = "equal"
	// Waiting: rows that are not there are of minutes whose legs are still to be valued.
	Waiting = "waiting"
	// Outdated: the rows were made by an earlier version's rules, and are made anew in the
	// background. Whether some are lost is not known before.
	Outdated = "outdated"
	// Differs: rows are missing or wrong, or parts are broken.
	Differs = "DIFFERS"
)

// TableReport is the result for one table.
type TableReport struct {
	Table string `json:"table"`
	// State is Equal, Waiting, Outdated or Differs.
	State string `json:"state"`
	// Expected counts the rows that the log makes, Rows those that are there, and More those of
	// Rows that the log does not have.
	Expected uint64 `json:"expected"`
	Rows     uint64 `json:"rows"`
	More     uint64 `json:"more"`
	// Waits counts the expected rows that are not there, or not as expected, because their minutes
	// are not valued yet.
	Waits uint64 `json:"waits"`
	// ExpectedChecksum is the checksum of the expected rows, Checksum that of the rows that are
	// there.
	ExpectedChecksum string `json:"expected_checksum"`
	Checksum         string `json:"checksum"`
	// BrokenParts are the parts whose files differ from their checksums, with ClickHouse's message.
	BrokenParts map[string]string `json:"broken_parts,omitempty"`
	Findings    []Finding         `json:"findings"`
}

// judge sets the state. outdated says that earlier rules made the rows.
func (r *TableReport) judge(outdated bool) {
	switch {
	case len(r.BrokenParts) > 0:
		r.State = Differs
	case outdated:
		// Rows that are missing cannot be told from rows that are not made anew yet.
		r.State, r.Findings = Outdated, []Finding{}
	case len(r.Findings) > 0:
		r.State = Differs
	case r.Waits > 0:
		r.State = Waiting
		r.More -= min(r.More, r.Waits) // rows of an earlier valuation, which are made anew
	default:
		r.State = Equal
	}
}

// Verifier compares the tables of two databases: the expected and the actual ones.
type Verifier struct {
	conn             driver.Conn
	expected, actual string
	// slots is the length of the ranges that are compared.
	slots uint64
}

// New returns a verifier. If slots is 0, it compares ranges of 100,000 slots, some hours.
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
	outdated, err := v.isOutdated(ctx, name)
	if err != nil {
		return nil, err
	}
	report, err := v.compare(ctx, specs()[i])
	if err == nil {
		report.judge(outdated)
	}
	return report, err
}

// isOutdated reports whether earlier rules made the table's rows.
func (v *Verifier) isOutdated(ctx context.Context, table string) (bool, error) {
	if !slices.Contains(projector.FactTables(), table) {
		return false, nil
	}
	store := projector.NewClickHouse(v.conn, v.actual)
	facts, err := store.FactsOutdated(ctx)
	if err != nil || facts || table != projector.TableTokens {
		return facts, err
	}
	return store.Outdated(ctx)
}

// compare compares checksums by range, and looks for missing rows only in the ranges that differ.
func (v *Verifier) compare(ctx context.Context, s spec) (*TableReport, error) {
	name := s.table
	report := &TableReport{Table: name, Findings: []Finding{}}
	var err error
	if report.BrokenParts, err = parts.CheckTable(ctx, v.conn, v.actual, name); err != nil {
		return nil, fmt.Errorf("verify %s: %w", name, err)
	}
	if report.Expected, report.ExpectedChecksum, err = v.sums(ctx, v.expected, &s); err != nil {
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
	if report.Rows, report.Checksum, err = v.sums(ctx, v.actual, &s); err != nil {
		return nil, fmt.Errorf("verify %s: %w", name, err)
	}
	actual, err := v.rangeSums(ctx, v.actual, &s)
	if err != nil {
		return nil, fmt.Errorf("verify %s: %w", name, err)
	}
	var ranges []uint64
	for at, sum := range expected {
		if actual[at] != sum {
			ranges = append(ranges, at)
		}
	}
	slices.Sort(ranges)
	if len(ranges) > 0 {
		if report.Findings, err = v.missing(ctx, &s, report.Expected, expected, ranges); err != nil {
			return nil, fmt.Errorf("verify %s: look for what is missing: %w", name, err)
		}
	}
	there := report.Expected
	for _, f := range report.Findings {
		there -= f.Expected - f.Found
	}
	report.More = report.Rows - min(report.Rows, there)
	return report, nil
}

// command returns the command that makes the rows of a range again.
func command(table string, from, to uint64) string {
	text := "mintlake rebuild --tables " + table
	if to > 0 {
		text += fmt.Sprintf(" --from-slot %d --to-slot %d", from, to)
	}
	return text
}

// rangeSum is the number of rows of a range, and the XOR of their checksums.
type rangeSum struct{ rows, sum uint64 }

// sums counts the rows of a table that are compared and returns the XOR of their checksums.
func (v *Verifier) sums(ctx context.Context, database string, s *spec) (rows uint64, checksum string, err error) {
	var sum uint64
	query := "SELECT count(), groupBitXor(" + s.hash() + ") FROM " + database + "." + s.table + " FINAL" + s.where(database) + bounded
	err = v.conn.QueryRow(ctx, query).Scan(&rows, &sum)
	return rows, fmt.Sprintf("%016x", sum), err
}

// rangeSums does what sums does, for each range of slots. The key of the result is the slot divided
// by the length of a range.
func (v *Verifier) rangeSums(ctx context.Context, database string, s *spec) (map[uint64]rangeSum, error) {
	sums := map[uint64]rangeSum{}
	err := clickhouse.Each(ctx, v.conn, func(rows driver.Rows) error {
		var at uint64
		var sum rangeSum
		err := rows.Scan(&at, &sum.rows, &sum.sum)
		sums[at] = sum
		return err
	}, fmt.Sprintf("SELECT intDiv(%s, %d) AS at, count(), groupBitXor(%s) FROM %s.%s FINAL%s GROUP BY at", s.slot, s.perRange(v.slots), s.hash(), database, s.table, s.where(database))+bounded)
	return sums, err
}

// bounded limits what a comparison takes from other work on the server.
const bounded = " SETTINGS max_threads = 2, max_block_size = 8192, max_bytes_before_external_group_by = 500000000"

// among returns the condition that a number is in a sorted list. A long list would not fit in a
// query: the condition is then only that the number is between the first and the last.
func among(numbers []uint64) string {
	if len(numbers) > 1000 {
		return fmt.Sprintf("BETWEEN %d AND %d", numbers[0], numbers[len(numbers)-1])
	}
	return "IN (" + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(numbers)), ","), "[]") + ")"
}

// missing returns a finding for each of the ranges in which expected rows are neither there nor in
// a later state. total is the number of expected rows, and expected has the number for each range.
// missing divides the rows by a hash of their keys into shards of some 500,000 rows, because a
// statement holds a whole shard in memory.
//
// In the query, e are the expected rows and a the actual ones. Each has the key k, the order o,
// which is higher for a later state of a row, and the hash h of all columns.
func (v *Verifier) missing(ctx context.Context, s *spec, total uint64, expected map[uint64]rangeSum, ranges []uint64) ([]Finding, error) {
	const shardRows = 500_000
	shards := total/shardRows + 1
	found := map[uint64]*Finding{}
	for shard := range shards {
		in := fmt.Sprintf("cityHash64(%s) %% %d = %d", s.key, shards, shard)
		query := fmt.Sprintf(`SELECT intDiv(slot_of_row, %d) AS at, count(), min(slot_of_row), max(slot_of_row)
FROM (SELECT (%[2]s) AS k, %[3]s AS o, %[4]s AS h, toUInt64(%[5]s) AS slot_of_row FROM (SELECT * FROM %[6]s.%[8]s FINAL%[11]s) WHERE %[9]s AND intDiv(%[5]s, %[1]d) %[10]s) AS e
LEFT JOIN (SELECT (%[2]s) AS k, %[3]s AS o, %[4]s AS h, 1 AS there FROM (SELECT * FROM %[7]s.%[8]s FINAL%[12]s) WHERE %[9]s) AS a ON e.k = a.k
WHERE there = 0 OR a.o < e.o OR a.o = e.o AND a.h != e.h GROUP BY at`,
			s.perRange(v.slots), s.key, s.order, s.hash(), s.slot, v.expected, v.actual, s.table, in, among(ranges), s.where(v.expected), s.where(v.actual)) + " SETTINGS max_threads = 2, max_block_size = 8192"
		if err := clickhouse.Each(ctx, v.conn, func(rows driver.Rows) error {
			var at, count, from, to uint64
			if err := rows.Scan(&at, &count, &from, &to); err != nil {
				return err
			}
			f := found[at]
			if f == nil {
				f = &Finding{Table: s.table, FromSlot: from, Expected: expected[at].rows, Found: expected[at].rows}
				found[at] = f
			}
			f.FromSlot, f.ToSlot, f.Found = min(f.FromSlot, from), max(f.ToSlot, to), f.Found-count
			return nil
		}, query); err != nil {
			return nil, err
		}
	}
	findings := make([]Finding, 0, len(found))
	for _, f := range found {
		f.Rebuild = command(s.table, f.FromSlot, f.ToSlot)
		findings = append(findings, *f)
	}
	slices.SortFunc(findings, func(a, b Finding) int { return cmp.Compare(a.FromSlot, b.FromSlot) })
	return findings, nil
}
