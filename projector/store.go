package projector

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/internal/clickhouse"
)

// ClickHouse is the Store on a real server, embedded or not.
type ClickHouse struct {
	conn     driver.Conn
	database string
	// foldRange is defaultFoldRange, except in tests.
	foldRange uint64
}

// NewClickHouse returns a store that writes to the tables of database.
func NewClickHouse(conn driver.Conn, database string) *ClickHouse {
	return &ClickHouse{conn: conn, database: database, foldRange: defaultFoldRange}
}

// Check compares the tables with the columns that this binary writes. One error names everything
// that is missing or of another type.
func (c *ClickHouse) Check(ctx context.Context) error {
	for _, table := range tables() {
		if err := clickhouse.CheckColumns(ctx, c.conn, c.database, table.name, table.columns); err != nil {
			return fmt.Errorf("projector: %w", err)
		}
	}
	return nil
}

// Write stores the batch, then makes the rows of its tokens. These come last because they are made
// from the facts: after a kill at any point, writing the batch again completes it.
func (c *ClickHouse) Write(ctx context.Context, batch *Batch) error {
	if err := c.Insert(ctx, batch); err != nil {
		return err
	}
	return c.Fold(ctx, Dirty{Mints: batch.Mints()})
}

// Insert stores all rows of a batch except those of tokens. The tables do not depend on each other
// and are written concurrently: while one insert waits for the disk, another sorts.
func (c *ClickHouse) Insert(ctx context.Context, batch *Batch) error {
	inserts, ctx := errgroup.WithContext(ctx)
	for table, insert := range map[string]func() error{
		tableTokenEvents:       func() error { return c.insertTokenEvents(ctx, batch.TokenEvents) },
		tableCreatedMints:      func() error { return c.insertCreatedMints(ctx, batch.TokenEvents) },
		tableSlots:             func() error { return c.insertSlots(ctx, batch.Slots) },
		tableTokenFactHistory:  func() error { return c.insertTokenFactHistory(ctx, batch.Statements) },
		tableTokenFacts:        func() error { return c.insertTokenFacts(ctx, batch.Statements) },
		tableLogoChecks:        func() error { return c.insertLogoChecks(ctx, batch.LogoChecks) },
		tableOffchainDocuments: func() error { return c.insertOffchainDocuments(ctx, batch.Documents) },
	} {
		inserts.Go(func() error {
			if err := insert(); err != nil {
				return fmt.Errorf("insert %s: %w", table, err)
			}
			return nil
		})
	}
	return inserts.Wait()
}

// Fold computes the rows of these mints again from all facts stored about them.
func (c *ClickHouse) Fold(ctx context.Context, dirty Dirty) error {
	all, err := c.foldsAll(ctx, dirty)
	if err == nil && all {
		err = c.foldAllTokens(ctx)
	}
	if err == nil && !all {
		err = c.foldTokens(ctx, dirty.Mints)
	}
	if err != nil {
		return fmt.Errorf("insert %s: %w", TableTokens, err)
	}
	return nil
}

// Retryable reports whether the server may take the same batch later.
func (c *ClickHouse) Retryable(err error) bool {
	return clickhouse.Retryable(err)
}

// table names a table and the columns that are written to it, in the order of the insert.
type table struct {
	name    string
	columns []clickhouse.Column
}

// Columns returns the columns that the projector writes, by table.
func Columns() map[string][]string {
	columns := map[string][]string{}
	for _, t := range tables() {
		columns[t.name] = clickhouse.Names(t.columns)
	}
	return columns
}

func tables() []table {
	return []table{
		{tableTokenEvents, tokenEventColumns()},
		{tableCreatedMints, createdMintColumns()},
		{tableTokenFactHistory, tokenFactHistoryColumns()},
		{tableTokenFacts, tokenFactColumns()},
		{TableTokens, tokenColumns()},
		{tableSlots, slotColumns()},
		{tableLogoChecks, logoCheckColumns()},
		{tableOffchainDocuments, offchainDocumentColumns()},
	}
}

// insert sends rows in one INSERT. row appends the i-th row.
func (c *ClickHouse) insert(ctx context.Context, table string, columns []clickhouse.Column, rows int, row func(driver.Batch, int) error) error {
	if rows == 0 {
		return nil
	}
	return clickhouse.Insert(ctx, c.conn, c.database+"."+table, columns, func(batch driver.Batch) error {
		for i := range rows {
			if err := row(batch, i); err != nil {
				return err
			}
		}
		return nil
	})
}
