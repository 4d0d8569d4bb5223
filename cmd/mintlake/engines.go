package main

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/clickhouse"
	chengine "github.com/mintlake/mintlake/internal/embedded/clickhouse"
	kafkabroker "github.com/mintlake/mintlake/internal/embedded/kafka"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/projector"
	"github.com/mintlake/mintlake/projector/swaps"
	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
)

// backends are the Kafka and ClickHouse that the rooms use, embedded or not.
type backends struct {
	brokers       []string
	clickhouseDSN string
}

// startBackends starts what is not configured to be elsewhere and waits until it serves.
func startBackends(ctx context.Context, cfg *Config, lc *lifecycle, logger *slog.Logger, registerer prometheus.Registerer) (*backends, error) {
	b := &backends{brokers: cfg.Kafka.Brokers, clickhouseDSN: cfg.ClickHouse.DSN}
	if len(b.brokers) == 0 {
		broker, err := kafkabroker.New(kafkabroker.Config{DataDir: filepath.Join(cfg.DataDir, "kafka"), Addr: cfg.Kafka.Addr},
			kafkabroker.Deps{Logger: logger, Registerer: registerer})
		if err != nil {
			return nil, err
		}
		lc.start("embedded Kafka", broker.Run)
		if err := lc.await(ctx, broker.Ready()); err != nil {
			return nil, err
		}
		b.brokers = []string{broker.Addr()}
	}
	if b.clickhouseDSN == "" {
		engine, err := chengine.New(chengine.Config{
			DataDir: filepath.Join(cfg.DataDir, "clickhouse"), Addr: cfg.ClickHouse.Addr,
			MaxMemoryBytes: cfg.ClickHouse.MemoryBytes, Threads: cfg.ClickHouse.Threads,
		}, chengine.Deps{Logger: logger, Registerer: registerer})
		if err != nil {
			return nil, err
		}
		lc.start("embedded ClickHouse", engine.Run)
		if err := lc.await(ctx, engine.Ready()); err != nil {
			return nil, err
		}
		b.clickhouseDSN = engine.DSN()
	}
	return b, nil
}

// ensureTopics makes the catalogue's topics.
func ensureTopics(ctx context.Context, cfg *Config, admin *kafka.Admin) error {
	replicas := 1
	if len(cfg.Kafka.Brokers) > 0 {
		replicas = cfg.Kafka.Replicas
	}
	topics := schemas.Topics()
	specs := make([]kafka.TopicSpec, 0, len(topics))
	for _, topic := range topics {
		specs = append(specs, kafka.TopicSpec{
			Name: topic.Name, Partitions: topic.Partitions, ReplicationFactor: replicas, Config: topic.Config(),
		})
	}
	if err := admin.EnsureTopics(ctx, specs); err != nil {
		return fmt.Errorf("make topics: %w", err)
	}
	return nil
}

// migrate brings the tables to the newest version and checks that this binary can write to them. Where the tables are new, what was
// projected before is not in them: the projector is made to begin at the first record.
func (s *system) migrate(ctx context.Context, conn driver.Conn) error {
	cfg, logger := s.cfg, s.logger
	files, err := fs.Sub(schema.Migrations, "migrations")
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	existed, err := tablesExist(ctx, conn)
	if err != nil {
		return err
	}
	if !existed {
		within, cancel := context.WithTimeout(ctx, time.Minute) // longer than the session of a member that was killed
		defer cancel()
		for _, group := range []string{schemas.GroupProjector, schemas.GroupSwaps} {
			if err := s.admin.ForgetGroup(within, group); err != nil {
				return fmt.Errorf("the tables are new, and the projector could not be made to begin anew; stop other projectors: %w", err)
			}
		}
	}
	applied, err := clickhouse.Migrate(ctx, conn, files, clickhouse.Options{Database: schema.Database, Cluster: cfg.ClickHouse.Cluster})
	for _, name := range applied {
		logger.Info("migration applied", "migration", name)
	}
	if err != nil {
		return fmt.Errorf("migrate ClickHouse: %w", err)
	}
	if err := projector.NewClickHouse(conn, schema.Database).Check(ctx); err != nil {
		return err
	}
	return swaps.NewClickHouse(conn, schema.Database).Check(ctx)
}

// tablesExist says whether the projector's tables have been there before.
func tablesExist(ctx context.Context, conn driver.Conn) (bool, error) {
	var count uint64
	row := conn.QueryRow(ctx, "SELECT count() FROM system.tables WHERE database = $1 AND name = $2", schema.Database, clickhouse.MigrationsTable)
	if err := row.Scan(&count); err != nil {
		return false, fmt.Errorf("look for tables: %w", err)
	}
	return count > 0, nil
}

// openClickHouse connects without naming Mintlake's database, which may not exist yet.
func openClickHouse(ctx context.Context, dsn string) (driver.Conn, error) {
	conn, err := clickhouse.Open(ctx, dsn, clickhouse.WithDatabase("default"))
	if err != nil {
		return nil, fmt.Errorf("open ClickHouse: %w", err)
	}
	return conn, nil
}
