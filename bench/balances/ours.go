package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/api/balances"
	chengine "github.com/mintlake/mintlake/embedded/clickhouse"
	"github.com/mintlake/mintlake/holders"
	"github.com/mintlake/mintlake/internal/clickhouse"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// ours is the embedded engine with the project's tables, and what reads them.
type ours struct {
	dir     string
	conn    driver.Conn
	reader  *balances.ClickHouse
	stop    context.CancelFunc
	done    chan error
	counted time.Duration
}

var mint = pubkey.Key{7, 31: 7}

// changes fills the history: of each account in turn, one change after the other. Amounts follow
// from account and number, so that each change begins where the one before ended.
const changes = `INSERT INTO mintlake.balance_changes_raw (mint, account, slot, place, block_time, open, owner, amount, open_before, owner_before, amount_before)
SELECT '%[1]s', SHA256(toString(a)), %[2]d + intDiv(number * %[3]d, %[4]d), 7, toDateTime(1750000000 + number %% 1000000), true, SHA256(concat('o', toString(a))),
    1 + cityHash64(a, k) %% 1000000, k > 0, if(k > 0, SHA256(concat('o', toString(a))), toFixedString('', 32)), if(k > 0, 1 + cityHash64(a, k - 1) %% 1000000, 0)
FROM (SELECT number, number %% %[5]d AS a, intDiv(number, %[5]d) AS k FROM numbers(%[4]d))`

// current fills the current state from the history.
const current = `INSERT INTO mintlake.token_accounts_raw (mint, account, owner, amount, open, on_curve, position, block_time)
SELECT mint, account, argMax(owner, slot), argMax(amount, slot), true, true, bitShiftLeft(toUInt128(max(slot)), 64), max(block_time)
FROM mintlake.balance_changes_raw GROUP BY mint, account`

func startOurs(ctx context.Context, o *options) (*ours, error) {
	dir, err := os.MkdirTemp("", "bench-balances-*")
	if err != nil {
		return nil, err
	}
	engine, err := chengine.New(chengine.Config{DataDir: filepath.Join(dir, "data"), Addr: "127.0.0.1:0", NoSync: true}, chengine.Deps{})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	running, stop := context.WithCancel(ctx)
	b := &ours{dir: dir, stop: stop, done: make(chan error, 1)}
	go func() { b.done <- engine.Run(running) }()
	if err := b.fill(ctx, engine, o); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *ours) fill(ctx context.Context, engine *chengine.Engine, o *options) (err error) {
	if err := engine.WaitReady(ctx); err != nil {
		return err
	}
	if b.conn, err = clickhouse.Open(ctx, engine.DSN()); err != nil {
		return err
	}
	files, err := fs.Sub(schema.Migrations, "migrations")
	if err != nil {
		return err
	}
	if _, err := clickhouse.Migrate(ctx, b.conn, files, clickhouse.Options{Database: schema.Database}); err != nil {
		return err
	}
	for _, statement := range []string{
		fmt.Sprintf(changes, mint, created, span, o.changes, o.holders), current,
		fmt.Sprintf("INSERT INTO mintlake.slots_raw (slot, blockhash, parent_slot, status, balances, version) SELECT %d + number, toString(number), %[1]d + number - 1, 'ingested', 1, 2 FROM numbers(%d)", created, span+1),
		fmt.Sprintf("INSERT INTO mintlake.token_events_raw (mint, slot, kind) VALUES ('%s', %d, 'initialize_mint')", mint, created),
		fmt.Sprintf("INSERT INTO mintlake.balance_mints_raw (mint, partition, touched, first) VALUES ('%s', 0, 1, %d)", mint, created),
	} {
		if err := b.conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%.60s…: %w", statement, err)
		}
	}
	room, err := holders.New(holders.Deps{Store: holders.NewClickHouse(b.conn, schema.Database), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	began := time.Now()
	if err := room.Once(ctx); err != nil {
		return err
	}
	b.counted = time.Since(began)
	b.reader = balances.NewClickHouse(func(ctx context.Context) (driver.Conn, error) { return clickhouse.Open(ctx, engine.DSN()) }, schema.Database)
	return nil
}

func (b *ours) close() {
	b.stop()
	<-b.done
	_ = os.RemoveAll(b.dir)
}

func (b *ours) page(ctx context.Context) error { return b.ask(ctx, nil) }

func (b *ours) atSlot(ctx context.Context) error {
	slot := uint64(middle)
	return b.ask(ctx, &slot)
}

func (b *ours) ask(ctx context.Context, slot *uint64) error {
	page, err := b.reader.Holders(ctx, balances.Ranking{Mint: mint, Limit: 100, Slot: slot})
	if err == nil && (len(page.Holders) != 100 || !page.Complete) {
		err = fmt.Errorf("a page of %d holders, complete: %t", len(page.Holders), page.Complete)
	}
	return err
}

func (b *ours) count(ctx context.Context) error {
	var count uint64
	return b.conn.QueryRow(ctx, "SELECT holders FROM mintlake.holder_counts_raw FINAL WHERE mint = ?", mint.String()).Scan(&count)
}
