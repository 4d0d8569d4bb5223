package main

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/prometheus/client_golang/prometheus"

	chengine "github.com/mintlake/mintlake/embedded/clickhouse"
	kafkabroker "github.com/mintlake/mintlake/embedded/kafka"
	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
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
	for _, spec := range specs {
		if age, set := topicAges(cfg)[spec.Name]; set {
			spec.Config["retention.ms"] = strconv.FormatInt(age.Milliseconds(), 10)
		}
	}
	if err := admin.EnsureTopics(ctx, specs); err != nil {
		return fmt.Errorf("make topics: %w", err)
	}
	return nil
}

// topicAges returns, by topic, how long records are kept where a setting says it.
func topicAges(cfg *Config) map[string]time.Duration {
	balances := &cfg.Balances
	return map[string]time.Duration{schemas.TopicBalances: balances.TopicAge(), schemas.TopicTransfers: balances.TopicAge(), schemas.TopicBalanceBases: balances.BaseAge()}
}

// topicSpecs returns the specifications of all topics. A topic of schemas.Topics with one partition
// always has one, because all its records must be in one order.
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

// openClickHouse connects without naming Mintlake's database, which may not exist yet.
func openClickHouse(ctx context.Context, b *backends, options ...clickhouse.Option) (driver.Conn, error) {
	conn, err := clickhouse.Open(ctx, b.clickhouseDSN, append(options, clickhouse.WithAccess(b.clickhouse), clickhouse.WithCluster(b.cluster), clickhouse.WithDatabase("default"))...)
	if err != nil {
		return nil, fmt.Errorf("open ClickHouse: %w", err)
	}
	return conn, nil
}
