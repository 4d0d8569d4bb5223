package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/mintlake/mintlake/bootstrap/accounts"
	"github.com/mintlake/mintlake/bootstrap/validator"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
)

// catchUpLook is the time between two looks at how far a node has stored the log.
const catchUpLook = time.Second

// nodeTables are the tables that a node makes of the log.
type nodeTables struct {
	*accounts.Tables
	admin *kafka.Admin
	// alone is what to do if the tables are behind and no node can store more, because this command
	// runs the broker itself. It is empty if a node may run.
	alone string
}

// topicsOfBalances are the topics from which the tables of balances are made.
var topicsOfBalances = []string{schemas.TopicBalances, schemas.TopicBalanceBases}

// CatchUp implements validator.Tables.
func (t *nodeTables) CatchUp(ctx context.Context, tell func(left int64)) error {
	ends, err := t.admin.EndOffsets(ctx, topicsOfBalances)
	if err != nil {
		return fmt.Errorf("read the end of the log: %w", err)
	}
	for {
		left, err := t.admin.LagTo(ctx, schemas.GroupBalances, topicsOfBalances, ends)
		switch {
		case err != nil:
			return fmt.Errorf("read how far the balances are stored: %w", err)
		case left == 0:
			return nil
		case t.alone != "":
			return fmt.Errorf("the tables lack %d records of balances, and no node runs on this log that could store them: %s", left, t.alone)
		}
		tell(left)
		if err := pause.For(ctx, catchUpLook); err != nil {
			return err
		}
	}
}

// hasBalances reports whether balances were ever written to the log.
func (s *system) hasBalances(ctx context.Context) (bool, error) {
	ends, err := s.admin.EndOffsets(ctx, topicsOfBalances)
	if err != nil {
		return false, fmt.Errorf("read the end of the log: %w", err)
	}
	for _, end := range ends {
		if end > 0 {
			return true, nil
		}
	}
	return false, nil
}

// withNodeTables calls work with the tables of the node that stores this system's log.
func (s *system) withNodeTables(ctx context.Context, logger *slog.Logger, work func(ctx context.Context, tables validator.Tables) error) error {
	cfg := s.cfg
	if len(cfg.Kafka.Brokers) > 0 && cfg.ClickHouse.DSN == "" {
		return fmt.Errorf("the log has balances, so the tables of its node are needed, to close accounts that are gone: name its ClickHouse, for example --clickhouse-dsn http://%s",
			defaults().ClickHouse.Addr)
	}
	alone := ""
	if len(cfg.Kafka.Brokers) == 0 {
		alone = fmt.Sprintf("start mintlake up, and run the same command with --kafka-brokers %s --clickhouse-dsn http://%s beside it, which goes on", cfg.Kafka.Addr, cfg.ClickHouse.Addr)
	}
	began := false
	err := withStores(ctx, cfg, logger, onlyTables, func(ctx context.Context, t *system) error {
		began = true
		tables := &nodeTables{Tables: accounts.NewTables(t.conn, schema.Database), admin: s.admin, alone: alone}
		if alone != "" { // tell it before the archive is read
			if err := tables.CatchUp(ctx, nil); err != nil {
				return err
			}
		}
		return work(ctx, tables)
	})
	if err != nil && !began && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("the log has balances, so the tables of its node are needed, to close accounts that are gone: %w", err)
	}
	return err
}
