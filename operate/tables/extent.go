package tables

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/operate/eventlog"
	"github.com/mintlake/mintlake/projector/verify"
	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// measure is a topic, and the table that shows how much of the topic was projected.
type measure struct {
	topic, table string
	// records is how many records of the topic make one row; 0 if a record makes any number of
	// rows, so that rows do not tell how many records there were.
	records uint64
}

func measures() []measure {
	return []measure{
		{schemas.TopicTokenEvents, "token_events_raw", 1},
		{schemas.TopicSlots, "slots_raw", 1},
		{schemas.TopicSwaps, "swaps_raw", 2}, // a leg has a record for each of its mints
		{schemas.TopicBalances, "balance_changes_raw", 0},
	}
}

// measureOf returns the measure of the topic that a table is made of. Prices and volumes are made
// of swap legs.
func measureOf(table string) measure {
	isOf := func(group string) bool {
		return slices.ContainsFunc(verify.Groups(), func(g verify.Group) bool { return g.Name == group && slices.Contains(g.Tables, table) })
	}
	topic := schemas.TopicTokenEvents
	switch {
	case table == "slots_raw":
		topic = schemas.TopicSlots
	case table == "pools_raw": // its topic has no measure, and never expires, like the token events
	case isOf(schemas.GroupBalances):
		topic = schemas.TopicBalances
	case isOf(schemas.GroupSwaps) || slices.Contains(verify.FigureTables(), table):
		topic = schemas.TopicSwaps
	}
	i := slices.IndexFunc(measures(), func(m measure) bool { return m.topic == topic })
	return measures()[i]
}

// extent is how far a table and its topic reach.
type extent struct {
	measure
	// rows is how many rows the table has. Copies of a row that ClickHouse has not merged yet
	// count, too. firstSlot is the lowest slot of the rows.
	rows, firstSlot uint64
	// kept is the number of the topic's records, and expired means that there were more.
	kept    uint64
	expired bool
}

// extent returns how far a measure's table and topic reach. It reads no part of the table:
// ClickHouse knows a part's rows and slots without its files.
func (t *Tables) extent(ctx context.Context, of measure) (extent, error) {
	e := extent{measure: of}
	exists, err := t.exists(ctx, of.table)
	if err == nil && exists {
		err = t.Conn.QueryRow(ctx, "SELECT count(), min(slot) FROM "+schema.Database+"."+of.table).Scan(&e.rows, &e.firstSlot)
	}
	if err != nil {
		return e, fmt.Errorf("look how far %s reaches: %w", of.table, err)
	}
	starts, ends, err := t.Bounds(ctx, of.topic)
	if err != nil {
		return e, fmt.Errorf("look how far %s reaches: %w", of.topic, err)
	}
	e.kept = uint64(eventlog.RecordsBetween(starts, ends))
	e.expired = slices.ContainsFunc(slices.Collect(maps.Values(starts)), func(start int64) bool { return start > 0 })
	return e, nil
}

// Whole reports whether the log has all records that a table was made of: none has expired, and the
// table has no rows of an earlier log.
func (t *Tables) Whole(ctx context.Context, table string) (bool, error) {
	e, err := t.extent(ctx, measureOf(table))
	return !e.expired && e.rows*e.records <= e.kept, err
}

// NotInLog says in words what the tables have and the log has not: what has expired, or was in
// an earlier log. It is empty if the log can make all rows again.
func (t *Tables) NotInLog(ctx context.Context) (lost []string, err error) {
	for _, of := range measures() {
		e, err := t.extent(ctx, of)
		if err != nil {
			return nil, err
		}
		if e.rows*e.records > e.kept { // with FINAL, unmerged copies of a row count once
			if err := t.Conn.QueryRow(ctx, "SELECT count() FROM "+schema.Database+"."+of.table+" FINAL").Scan(&e.rows); err != nil {
				return nil, fmt.Errorf("count the rows of %s: %w", of.table, err)
			}
		}
		begins, known := uint64(0), false
		if e.expired {
			if begins, known, err = t.lowest(ctx, of.topic, slotOf); err != nil {
				return nil, err
			}
		}
		switch {
		case e.rows == 0:
		case known && e.firstSlot < begins:
			lost = append(lost, fmt.Sprintf("%s begins at slot %d, the log (%s) at slot %d", of.table, e.firstSlot, of.topic, begins))
		case e.rows*e.records > e.kept:
			lost = append(lost, fmt.Sprintf("%s has %d rows, from slot %d on, which take %d records; the log (%s) has %d",
				of.table, e.rows, e.firstSlot, e.rows*e.records, of.topic, e.kept))
		}
	}
	usage, err := t.usageNotInLog(ctx)
	return append(lost, usage...), err
}

// usageSkew is how much earlier than the first record of gateway.usage.v1 a minute of another
// record can be: nodes write their minutes when they can, by clocks of their own.
const usageSkew = time.Hour

// usageNotInLog is NotInLog for what API keys have used. The topic keeps it for some weeks, the
// table for ever.
func (t *Tables) usageNotInLog(ctx context.Context) ([]string, error) {
	const table = "key_usage_1m_raw"
	exists, err := t.exists(ctx, table)
	if err != nil || !exists {
		return nil, err
	}
	var rows uint64
	var first time.Time
	if err := t.Conn.QueryRow(ctx, "SELECT count(), min(minute) FROM "+schema.Database+"."+table).Scan(&rows, &first); err != nil {
		return nil, fmt.Errorf("look how far %s reaches: %w", table, err)
	}
	if rows == 0 {
		return nil, nil
	}
	minute, known, err := t.lowest(ctx, schemas.TopicGatewayUsage, minuteOf)
	if err != nil {
		return nil, err
	}
	begins := time.Unix(int64(minute), 0).UTC()
	switch {
	case !known:
		return []string{fmt.Sprintf("%s has usage of keys from %s on, the log (%s) has none", table, first.Format(time.DateTime), schemas.TopicGatewayUsage)}, nil
	case first.Before(begins.Add(-usageSkew)):
		return []string{fmt.Sprintf("%s has usage of keys from %s on, the log (%s) from %s on", table, first.Format(time.DateTime), schemas.TopicGatewayUsage, begins.Format(time.DateTime))}, nil
	}
	return nil, nil
}

// minuteOf returns the minute of a record of gateway.usage.v1, in seconds; false if it has none.
func minuteOf(record *kafka.Record) (uint64, bool) {
	usage := new(eventspb.Usage)
	if proto.Unmarshal(record.Value, usage) != nil || usage.GetMinute() <= 0 {
		return 0, false
	}
	return uint64(usage.GetMinute()), true
}

// exists reports whether a table is there.
func (t *Tables) exists(ctx context.Context, table string) (bool, error) {
	var count uint64
	if err := t.Conn.QueryRow(ctx, "SELECT count() FROM system.tables WHERE database = $1 AND name = $2", schema.Database, table).Scan(&count); err != nil {
		return false, fmt.Errorf("look whether %s exists: %w", table, err)
	}
	return count > 0, nil
}

// lowest reads, from each of a topic's partitions, the first record with a place, and returns the
// lowest of these places. known is false if no record has a place.
func (t *Tables) lowest(ctx context.Context, topic string, place func(*kafka.Record) (uint64, bool)) (least uint64, known bool, err error) {
	starts, ends, err := t.Bounds(ctx, topic)
	if err != nil {
		return 0, false, fmt.Errorf("look how far %s reaches: %w", topic, err)
	}
	open := maps.Clone(ends) // the partitions of which no place was seen yet
	maps.DeleteFunc(open, func(tp kafka.TopicPartition, end int64) bool { return end <= starts[tp] })
	if len(open) == 0 {
		return 0, false, nil
	}
	err = t.Topics("rebuild").ReadTo(ctx, []string{topic}, ends, 1000, func(records []kafka.Record) error {
		for i := range records {
			tp := kafka.TopicPartition{Topic: topic, Partition: records[i].Partition}
			if at, ok := place(&records[i]); ok && open[tp] > 0 {
				if !known || at < least {
					least, known = at, true
				}
				delete(open, tp)
			}
		}
		if len(open) == 0 {
			return errSeen
		}
		return nil
	})
	if err != nil && !errors.Is(err, errSeen) {
		return 0, false, fmt.Errorf("read the first records of %s: %w", topic, err)
	}
	return least, known, nil
}

// errSeen ends a reading before its end.
var errSeen = errors.New("enough was seen")

// slotOf returns the slot of a record; false if it has none.
func slotOf(record *kafka.Record) (uint64, bool) {
	if record.Topic != schemas.TopicSlots {
		return verify.SlotOf(record)
	}
	slot := new(eventspb.SlotRecord)
	if string(record.Key) == schemas.SourceStatusKey || proto.Unmarshal(record.Value, slot) != nil {
		return 0, false
	}
	return slot.GetSlot(), true
}
