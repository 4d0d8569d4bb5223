package verify

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/projector"
	"github.com/mintlake/mintlake/projector/balances"
	"github.com/mintlake/mintlake/projector/swaps"
	"github.com/mintlake/mintlake/schemas"
)

// Projection projects records of the log into tables of a database, as the projectors do.
type Projection struct {
	// Tables are the tables to fill; if empty, all tables of the group.
	Tables []string
	// From and To bound the slots of the records that are taken, both included. If To is 0, there
	// is no bound.
	From, To uint64

	conn     driver.Conn
	database string
	// Unreadable counts records that are not messages of their topic, of which the projectors made
	// dead letters.
	Unreadable int
}

// NewProjection returns a projection into database.
func NewProjection(conn driver.Conn, database string) *Projection {
	return &Projection{conn: conn, database: database}
}

func (p *Projection) wants(tables ...string) bool {
	return len(p.Tables) == 0 || slices.ContainsFunc(tables, func(t string) bool { return slices.Contains(p.Tables, t) })
}

// takes reports whether a record's slot is within the bounds. It is true for a record without a
// position.
func (p *Projection) takes(record *kafka.Record) bool {
	if p.To == 0 {
		return true
	}
	slot, ok := SlotOf(record)
	return !ok || slot >= p.From && slot <= p.To
}

// SlotOf returns the slot of a record; false if the record has no position.
func SlotOf(record *kafka.Record) (slot uint64, ok bool) {
	position := record.Header(schemas.HeaderPosition)
	if len(position) != 32 {
		return 0, false
	}
	slot, err := strconv.ParseUint(string(position[:16]), 16, 64)
	return slot, err == nil
}

// Write projects a batch of records of one group.
func (p *Projection) Write(ctx context.Context, group string, records []kafka.Record) error {
	switch group {
	case schemas.GroupSwaps:
		return p.writeSwaps(ctx, records)
	case schemas.GroupBalances:
		return p.writeBalances(ctx, records)
	}
	batch := &projector.Batch{}
	for i := range records {
		if p.takes(&records[i]) && batch.Add(&records[i]) != nil {
			p.Unreadable++
		}
	}
	if !p.wants("token_events_raw", "created_mints_raw") {
		batch.TokenEvents = nil
	}
	if !p.wants("token_facts_raw", "token_fact_history_raw") {
		batch.Statements = nil
	}
	if !p.wants("slots_raw") {
		batch.Slots = nil
	}
	if !p.wants("logo_checks_raw") {
		batch.LogoChecks = nil
	}
	if !p.wants("off_chain_documents_raw") {
		batch.Documents = nil
	}
	return projector.NewClickHouse(p.conn, p.database).Insert(ctx, batch)
}

func (p *Projection) writeSwaps(ctx context.Context, records []kafka.Record) error {
	batch := swaps.NewBatch()
	for i := range records {
		if p.takes(&records[i]) && batch.Add(&records[i]) != nil {
			p.Unreadable++
		}
	}
	batch.Keep(func(table string) bool { return p.wants(table) })
	return swaps.NewClickHouse(p.conn, p.database).Insert(ctx, batch)
}

func (p *Projection) writeBalances(ctx context.Context, records []kafka.Record) error {
	batch := balances.NewBatch()
	for i := range records {
		if p.takes(&records[i]) && batch.Add(&records[i]) != nil {
			p.Unreadable++
		}
	}
	batch.Keep(func(table string) bool { return p.wants(table) })
	return balances.NewClickHouse(p.conn, p.database).Insert(ctx, batch)
}

// Finish makes the rows of tokens, which are made of other rows. If revalue is true, every minute
// with legs within the bounds is marked to be valued again: a leg that is made again has lost its
// value in dollars.
func (p *Projection) Finish(ctx context.Context, group string, revalue bool) error {
	if group == schemas.GroupProjector && p.wants("tokens_raw", "token_facts_raw") {
		return projector.NewClickHouse(p.conn, p.database).Fold(ctx, projector.Dirty{All: true})
	}
	if group == schemas.GroupSwaps && revalue && p.wants("swaps_raw", "swap_minutes_raw") {
		// The log has no partition -1, so no offset of a real one changes.
		err := p.conn.Exec(ctx, "INSERT INTO "+p.database+".swap_minutes_raw (minute, partition, touched) SELECT DISTINCT toStartOfMinute(block_time), -1, "+
			"toUnixTimestamp64Milli(now64(3)) FROM "+p.database+".swaps_raw WHERE toUnixTimestamp(block_time) > 0"+p.slotCondition())
		if err != nil {
			return fmt.Errorf("have minutes valued again: %w", err)
		}
	}
	return nil
}

func (p *Projection) slotCondition() string {
	if p.To == 0 {
		return ""
	}
	return fmt.Sprintf(" AND slot BETWEEN %d AND %d", p.From, p.To)
}
