package history

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Bounds of what the public can make ClickHouse do.
const (
	// questionTime bounds a whole question. A page mostly takes five queries: two for its window,
	// and three for the facts that hold before the window. If a window had too few entries, two
	// more queries read a wider window. Each call of the Reader may also wait until other reads
	// end.
	questionTime = 10 * time.Second
	// concurrent bounds the reads at one time, because the projector uses the same server. Further
	// reads wait.
	concurrent = 4
	// queryMemory bounds the memory of one query, in bytes. Above half of it, the sum of the supply
	// deltas spills to disk.
	queryMemory = 256 << 20
	// queryThreads bounds the threads of one query.
	queryThreads = 2
)

// ErrUnavailable is returned if ClickHouse does not answer, or if more was asked of it than the
// bounds allow.
var ErrUnavailable = clickhouse.ErrUnavailable

// ClickHouse implements Reader on token_fact_history_raw. All its queries read ranges of the
// sorting key.
type ClickHouse struct {
	*clickhouse.Questions
	table string
	// believed is a condition for facts that no retraction covers.
	believed string
}

var _ Reader = (*ClickHouse)(nil)

// NewClickHouse reads from the given database. See clickhouse.Questions for when the connection is
// opened.
func NewClickHouse(open func(ctx context.Context) (driver.Conn, error), database string) *ClickHouse {
	table := "`" + database + "`.token_fact_history_raw"
	return &ClickHouse{
		Questions: clickhouse.NewQuestions(open, clickhouse.Bounds{Time: questionTime, Concurrent: concurrent, Memory: queryMemory, Threads: queryThreads}),
		table:     table, believed: believed(table),
	}
}

// believed returns the condition for facts of a mint that no retraction covers:
// registry.Retracted.Covers in SQL, for columns slot, position and register. Retractions are facts
// at slot 0. Registers 24, 26 and 30, the token lists, the decisions about logos and the
// retractions, are never covered. A retraction of reads covers register 20, the checks of the logo,
// and facts with the highest order of their slot, which were read.
func believed(table string) string {
	return "(register IN (24, 26, 30) OR NOT arrayExists(r -> slot BETWEEN r.2 AND r.3 AND" +
		" (r.1 OR register = 20 OR bitAnd(position, toUInt128(18446744073709551615)) = 18446744073709551615)," +
		" (SELECT groupUniqArrayIf((startsWith(item, 'events'), toUInt64OrNull(splitByRegexp('[ -]', item)[2]), toUInt64OrNull(splitByRegexp('[ -]', item)[3]))," +
		" match(item, '^(reads|events) (0|[1-9][0-9]*)-(0|[1-9][0-9]*)$')) FROM " + table +
		" ARRAY JOIN facts.register AS register, facts.item AS item WHERE mint = {mint:String} AND slot = 0 AND register = 30)))"
}

// Window implements Reader.
func (c *ClickHouse) Window(ctx context.Context, mint pubkey.Key, to uint64, atLeast int) (rows []Row, from uint64, err error) {
	err = c.Ask(ctx, func(ctx context.Context, conn driver.Conn) error {
		slots, err := column[uint64](ctx, conn, "SELECT slot FROM "+c.table+" WHERE mint = {mint:String} AND slot <= {to:UInt64}"+
			" ORDER BY mint DESC, slot DESC LIMIT 1 OFFSET {offset:UInt64}",
			clickhouse.Named("mint", mint.String()), clickhouse.Named("to", to), clickhouse.Named("offset", uint64(atLeast-1)))
		if err != nil {
			return err
		}
		if len(slots) > 0 {
			from = slots[0]
		}
		rows, err = c.rows(ctx, conn, mint, "slot BETWEEN {from:UInt64} AND {to:UInt64}", clickhouse.Named("from", from), clickhouse.Named("to", to))
		return err
	})
	return rows, from, err
}

// Held implements Reader. It finds the positions of the facts that hold, then reads the rows there.
func (c *ClickHouse) Held(ctx context.Context, mint pubkey.Key, to uint64, apart []string) (held []Held, err error) {
	err = c.Ask(ctx, func(ctx context.Context, conn driver.Conn) error {
		slots, base, based, err := c.holding(ctx, conn, mint, to)
		if err != nil || len(slots) == 0 {
			return err
		}
		var deltas []registry.Fact
		if based {
			if deltas, err = c.deltas(ctx, conn, mint, base, to, apart); err != nil {
				return err
			}
		}
		for _, delta := range deltas {
			slots = append(slots, delta.Position.Slot)
		}
		slices.Sort(slots)
		rows, err := c.rows(ctx, conn, mint, "slot IN {slots:Array(UInt64)}", clickhouse.Named("slots", slices.Compact(slots)))
		if err != nil {
			return err
		}
		held = heldOf(rows, deltas)
		return nil
	})
	return held, err
}

// holding returns the slots of the facts that hold, and in base the position at which the supply
// was last read; based is false if it never was. The query goes through all rows of a mint up to a
// slot, so of the facts it reads only two subcolumns. It does not merge copies of a row, because
// they do not change the highest position. Of register 21, first_seen, the lowest position holds.
// Register 4, the supply delta, is left to deltas.
func (c *ClickHouse) holding(ctx context.Context, conn driver.Conn, mint pubkey.Key, to uint64) (slots []uint64, base schemas.Position, based bool, err error) {
	err = clickhouse.Each(ctx, conn, func(rows driver.Rows) error {
		var register uint8
		var position schemas.Position
		if err := rows.Scan(&register, &position.Slot, &position.Order); err != nil {
			return err
		}
		slots = append(slots, position.Slot)
		if registry.Register(register) == registry.RegisterSupply {
			base, based = position, true
		}
		return nil
	}, "SELECT register, toUInt64(bitShiftRight(p, 64)), toUInt64(bitAnd(p, toUInt128(18446744073709551615))) FROM ("+
		"SELECT register, item, if(register = 21, min(position), max(position)) AS p FROM "+c.table+
		" ARRAY JOIN facts.register AS register, facts.item AS item"+
		" WHERE mint = {mint:String} AND slot <= {to:UInt64} AND register != 4 AND "+c.believed+" GROUP BY register, item)",
		clickhouse.Named("mint", mint.String()), clickhouse.Named("to", to))
	if err != nil {
		return nil, base, false, fmt.Errorf("what holds: %w", err)
	}
	return slots, base, based, nil
}

// deltas sums up the supply deltas after base: one sum for each item in apart, and one for all
// other items. Of the deltas of one item only one counts, by the fold's rule: the delta with the
// highest position, and of copies at one position the one with the highest value. Items are grouped
// by their hashes, because a million of them must fit into memory.
func (c *ClickHouse) deltas(ctx context.Context, conn driver.Conn, mint pubkey.Key, base schemas.Position, to uint64, apart []string) ([]registry.Fact, error) {
	list, err := clickhouse.List(ctx, conn, func(rows driver.Rows, fact *registry.Fact) error {
		fact.Mint, fact.Register = mint, registry.RegisterSupplyDelta
		return rows.Scan(&fact.Item, &fact.Position.Slot, &fact.Position.Order, &fact.Value)
	}, "SELECT if(n = 0, '', {apart:Array(String)}[n]) AS key,"+
		" toUInt64(bitShiftRight(max(last), 64)), toUInt64(bitAnd(max(last), toUInt128(18446744073709551615))), toString(sum(amount)) FROM ("+
		"SELECT id, any(n) AS n, max(position) AS last, argMax(toInt256OrZero(highest), position) AS amount FROM ("+
		"SELECT sipHash128(item) AS id, any(transform(item, {apart:Array(String)}, arrayEnumerate({apart:Array(String)}), toUInt32(0))) AS n, position, max(value) AS highest FROM "+c.table+
		" ARRAY JOIN facts.register AS register, facts.item AS item, facts.value AS value"+
		" WHERE mint = {mint:String} AND slot BETWEEN {from:UInt64} AND {to:UInt64} AND register = 4 AND "+c.believed+
		" AND position > bitOr(bitShiftLeft(toUInt128({from:UInt64}), 64), toUInt128({order:UInt64}))"+
		" GROUP BY id, position) GROUP BY id) GROUP BY n ORDER BY key",
		// transform needs an array that is not empty, so it gets an empty item first.
		clickhouse.Named("mint", mint.String()), clickhouse.Named("from", base.Slot), clickhouse.Named("order", base.Order), clickhouse.Named("to", to), clickhouse.Named("apart", append([]string{""}, apart...)))
	if err != nil {
		return nil, fmt.Errorf("supply deltas: %w", err)
	}
	return list, nil
}

// heldOf folds rows, which include those of all facts that hold, and gives each fact its origin.
// Each of deltas is a sum of supply deltas. Its origin is that of the row at its position.
func heldOf(rows []Row, deltas []registry.Fact) []Held {
	rows = entries(rows) // puts an instruction before an import of the same facts
	state, origins, supply := registry.State{}, map[string]Origin{}, map[schemas.Position]Origin{}
	for i := range rows {
		origin := OriginOf(&rows[i])
		for _, fact := range rows[i].Facts {
			if fact.Register == registry.RegisterSupplyDelta {
				supply[fact.Position] = origin
			} else if state.Apply(fact) {
				origins[registerKey(fact.Register, fact.Item)] = origin
			}
		}
	}
	held := make([]Held, 0, len(origins)+len(deltas))
	for _, fact := range state.Facts() {
		held = append(held, Held{Fact: fact, Origin: origins[registerKey(fact.Register, fact.Item)]})
	}
	for _, fact := range deltas {
		held = append(held, Held{Fact: fact, Origin: supply[fact.Position]})
	}
	return held
}

// rows reads whole rows, with their copies merged. It selects the tuples as arrays of plain
// columns, and positions as two halves, because the driver decodes these without reflection. It
// does not select subcolumns such as facts.register: FINAL merges columns, so a subcolumn might be
// that of another copy.
func (c *ClickHouse) rows(ctx context.Context, conn driver.Conn, mint pubkey.Key, where string, args ...any) ([]Row, error) {
	scan := func(rows driver.Rows, row *Row) error {
		var registers []uint8
		var items, values []string
		if err := rows.Scan(&row.Position.Slot, &row.Signature, &row.Place, &row.Kind, &row.Source, &row.Instruction, &row.Position.Order,
			&row.TransactionIndex, &row.BlockTime, &registers, &items, &values); err != nil {
			return err
		}
		for i, register := range registers {
			row.Facts = append(row.Facts, factAt(mint, row.Position, registry.Register(register), items[i], values[i]))
		}
		slices.SortFunc(row.Facts, func(a, b registry.Fact) int {
			return cmp.Or(int(a.Register)-int(b.Register), strings.Compare(a.Item, b.Item), strings.Compare(a.Value, b.Value))
		})
		return nil
	}
	list, err := clickhouse.List(ctx, conn, scan, "SELECT slot, signature, place, kind, source, instruction,"+
		" toUInt64(bitAnd(position, toUInt128(18446744073709551615))) AS order, transaction_index, toInt64(ifNull(toUnixTimestamp(block_time), 0)) AS time,"+
		" arrayMap(f -> f.1, facts) AS registers, arrayMap(f -> f.2, facts) AS items, arrayMap(f -> f.3, facts) AS values"+
		" FROM "+c.table+" FINAL WHERE mint = {mint:String} AND "+where, append(args, clickhouse.Named("mint", mint.String()))...)
	if err != nil {
		return nil, fmt.Errorf("rows: %w", err)
	}
	return list, nil
}

// factAt returns a fact of the row at position. The position of first_seen is reversed, so that the
// earliest is the highest: the highest position holds.
func factAt(mint pubkey.Key, position schemas.Position, register registry.Register, item, value string) registry.Fact {
	if register == registry.RegisterFirstSeen {
		position = position.Reverse()
	}
	return registry.Fact{Mint: mint, Register: register, Item: item, Position: position, Value: value}
}

// column reads the only column of a query.
func column[T any](ctx context.Context, conn driver.Conn, query string, args ...any) ([]T, error) {
	list, err := clickhouse.List(ctx, conn, func(rows driver.Rows, value *T) error { return rows.Scan(value) }, query, args...)
	if err != nil {
		return nil, fmt.Errorf("window: %w", err)
	}
	return list, nil
}
