package main

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/prometheus/client_golang/prometheus"

	chengine "github.com/mintlake/mintlake/embedded/clickhouse"
	kafkabroker "github.com/mintlake/mintlake/embedded/kafka"
	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/projector"
	"github.com/mintlake/mintlake/projector/swaps"
	"github.com/mintlake/mintlake/projector/usage"
	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
)

// backends are the Kafka and ClickHouse that the rooms use, embedded or not.
type backends struct {
	brokers       []string
	clickhouseDSN string
	// clickhouse is the access to a ClickHouse that is not embedded; nil for the embedded one.
	clickhouse *clickhouse.Access
	cluster    string // clickhouse.cluster
}

// configuredBackends returns the backends that the settings name.
func configuredBackends(cfg *Config, logger *slog.Logger) *backends {
	return &backends{
		brokers: cfg.Kafka.Brokers, clickhouseDSN: cfg.ClickHouse.DSN,
		clickhouse: clickhouse.NewAccess(cfg.clickhouseAccess(), logger), cluster: cfg.ClickHouse.Cluster,
	}
}

// startBackends starts the engines for which no external server is configured, and waits until they
// serve.
func startBackends(ctx context.Context, cfg *Config, lc *lifecycle, logger *slog.Logger, registerer prometheus.Registerer) (*backends, error) {
	b := configuredBackends(cfg, logger)
	if len(b.brokers) == 0 {
		folder, err := cfg.dataPath("kafka")
		if err != nil {
			return nil, err
		}
		broker, err := kafkabroker.New(kafkabroker.Config{DataDir: folder, Addr: cfg.Kafka.Addr},
			kafkabroker.Deps{Logger: logger, Registerer: registerer, Meter: roomMeter(ctx, cfg)})
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
		folder, err := cfg.dataPath("clickhouse")
		if err != nil {
			return nil, err
		}
		_, reserve, _, err := diskSpace(folder)
		if err != nil {
			return nil, err
		}
		engine, err := chengine.New(chengine.Config{
			DataDir: folder, Addr: cfg.ClickHouse.Addr, AllowedHosts: cfg.AllowedHosts, KeepFree: reserve,
			MaxMemoryBytes: cfg.ClickHouse.MemoryBytes, Threads: cfg.ClickHouse.Threads,
		}, chengine.Deps{Logger: logger, Registerer: registerer})
		if err != nil {
			return nil, err
		}
		lc.start("embedded ClickHouse", engine.Run)
		if err := lc.await(ctx, engine.Ready()); err != nil {
			return nil, err
		}
		b.clickhouseDSN, b.clickhouse = engine.DSN(), nil
	}
	return b, nil
}

// ensureTopics creates the topics of schemas.Topics.
func ensureTopics(ctx context.Context, cfg *Config, admin *kafka.Admin) error {
	replicas := 1
	if len(cfg.Kafka.Brokers) > 0 {
		replicas = cfg.Kafka.Replicas
	}
	specs := topicSpecs(cfg.Kafka.Partitions, replicas)
	if err := admin.EnsureTopics(ctx, specs); err != nil {
		return fmt.Errorf("make topics: %w", err)
	}
	return nil
}

// topicSpecs returns the specifications of all topics. A topic with one partition keeps it, since
// its records have one order.
func topicSpecs(partitions, replicas int) []kafka.TopicSpec {
	topics := schemas.Topics()
	specs := make([]kafka.TopicSpec, 0, len(topics))
	for _, topic := range topics {
		if topic.Partitions > 1 {
			topic.Partitions = partitions
		}
		specs = append(specs, kafka.TopicSpec{
			Name: topic.Name, Partitions: topic.Partitions, ReplicationFactor: replicas, Config: topic.Config(),
		})
	}
	return specs
}

// tableGroup is a consumer group that writes ClickHouse's tables.
type tableGroup struct {
	name   string
	topics []string
}

// groupsOfTables returns the consumer groups whose committed offsets must agree with the rows in
// ClickHouse. A command that creates or restores the tables must reset these offsets.
func groupsOfTables() []tableGroup {
	return []tableGroup{
		{schemas.GroupProjector, projector.Topics()},
		{schemas.GroupSwaps, swaps.Topics()},
		{schemas.GroupUsage, usage.Topics()},
		{renewalGroup(), projector.Topics()},
	}
}

// migrate brings the tables to the newest version, and checks that this binary can write to them.
// If the tables are new, it resets the consumer groups that fill them, so that these begin at the
// first record.
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
		within, cancel := context.WithTimeout(ctx, emptyGroupWait)
		defer cancel()
		for _, group := range groupsOfTables() {
			if err := s.admin.ForgetGroup(within, group.name); err != nil {
				return fmt.Errorf("the tables are new, and the projector could not be made to begin anew; stop other projectors: %w", err)
			}
		}
	}
	applied, err := clickhouse.Migrate(ctx, conn, files, clickhouse.Options{
		Database: schema.Database, Cluster: cfg.ClickHouse.Cluster, Sharding: schema.Sharding(),
	})
	for _, name := range applied {
		logger.Info("migration applied", "migration", name)
	}
	if err != nil {
		return fmt.Errorf("migrate ClickHouse: %w", err)
	}
	store := projector.NewClickHouse(conn, schema.Database)
	if err := store.Check(ctx); err != nil {
		return err
	}
	if !existed {
		if err := store.NoteFactRules(ctx); err != nil {
			return err
		}
	}
	if err := swaps.NewClickHouse(conn, schema.Database).Check(ctx); err != nil {
		return err
	}
	return usage.NewClickHouse(conn, schema.Database).Check(ctx)
}

// tablesExist reports whether tables were created before.
func tablesExist(ctx context.Context, conn driver.Conn) (bool, error) {
	var count uint64
	row := conn.QueryRow(ctx, "SELECT count() FROM system.tables WHERE database = $1 AND name = $2", schema.Database, clickhouse.MigrationsTable)
	if err := row.Scan(&count); err != nil {
		return false, fmt.Errorf("look for tables: %w", err)
	}
	return count > 0, nil
}

// openClickHouse connects without naming Mintlake's database, which may not exist yet.
func openClickHouse(ctx context.Context, b *backends, options ...clickhouse.Option) (driver.Conn, error) {
	conn, err := clickhouse.Open(ctx, b.clickhouseDSN, append(options, clickhouse.WithAccess(b.clickhouse), clickhouse.WithCluster(b.cluster), clickhouse.WithDatabase("default"))...)
	if err != nil {
		return nil, fmt.Errorf("open ClickHouse: %w", err)
	}
	return conn, nil
}
