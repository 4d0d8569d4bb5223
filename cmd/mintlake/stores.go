package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/operate/eventlog"
	"github.com/mintlake/mintlake/operate/tables"
)

// need says which stores a command works on, and how it reaches them. A store that is needed and
// not configured is embedded: the command starts it on the data folder and stops it at the end.
type need struct {
	kafka, clickhouse bool
	// running is the name of a command that uses the Kafka of a running node and starts none.
	running string
	// makeTopics creates the topics that are missing.
	makeTopics bool
	// anyAddress lets embedded stores listen on free ports: the configured addresses may be in use
	// by the node of another folder.
	anyAddress bool
	// readTimeout is how long ClickHouse may take for an answer; 0 means the client's default.
	readTimeout time.Duration
}

// newStores is for commands that work on stores which may still be empty, madeStores for commands
// that work on stores of an earlier start. onlyTables is for commands that read ClickHouse alone,
// onlyLog for commands that write to Kafka alone.
var (
	newStores  = need{kafka: true, clickhouse: true, makeTopics: true}
	madeStores = need{kafka: true, clickhouse: true, anyAddress: true}
	onlyTables = need{clickhouse: true, readTimeout: 30 * time.Minute}
	onlyLog    = need{kafka: true, makeTopics: true}
)

// runningLog is for the named command, which works on the Kafka of a running node.
func runningLog(command string) need { return need{kafka: true, running: command} }

// withStores calls work with a system that has the stores, and no room. If an embedded store fails,
// the context of work ends.
func withStores(ctx context.Context, cfg *Config, logger *slog.Logger, n need, work func(ctx context.Context, s *system) error) (err error) {
	s := newSystem(cfg, logger)
	defer func() { err = errors.Join(err, s.stop()) }()
	if err := s.openStores(ctx, n); err != nil {
		return err
	}
	return s.lifecycle.during(ctx, func(ctx context.Context) error { return work(ctx, s) })
}

func (s *system) openStores(ctx context.Context, n need) error {
	if err := s.startStores(ctx, n); err != nil {
		return err
	}
	if n.kafka {
		if err := s.connect(); err != nil {
			return err
		}
	}
	switch {
	case n.makeTopics:
		if err := ensureTopics(ctx, s.cfg, s.admin); err != nil {
			return err
		}
	case n.kafka:
		if err := s.pingKafka(ctx, n.running); err != nil {
			return err
		}
	}
	if !n.clickhouse {
		return nil
	}
	var options []clickhouse.Option
	if n.readTimeout > 0 {
		options = append(options, clickhouse.WithReadTimeout(n.readTimeout))
	}
	var err error
	if s.conn, err = openClickHouse(ctx, s.backends, options...); err != nil {
		return err
	}
	s.closers = append(s.closers, func() { _ = s.conn.Close() })
	return nil
}

// startStores starts what is needed and not configured.
func (s *system) startStores(ctx context.Context, n need) error {
	cfg := *s.cfg
	switch {
	case n.running != "":
		s.backends = &backends{brokers: cfg.Kafka.Brokers}
		if len(cfg.Kafka.Brokers) == 0 {
			s.backends.brokers = []string{cfg.Kafka.Addr}
		}
		return nil
	case n.anyAddress:
		cfg.Kafka.Addr, cfg.ClickHouse.Addr = "127.0.0.1:0", "127.0.0.1:0"
	}
	// A store with a configured name is not started. Nothing connects to the name "none".
	hint := ""
	if !n.kafka {
		cfg.Kafka.Brokers = []string{"none"}
		hint = fmt.Sprintf(" (while mintlake up runs on this folder, name its ClickHouse: --clickhouse-dsn http://%s)", cfg.ClickHouse.Addr)
	}
	if !n.clickhouse {
		cfg.ClickHouse.DSN = "none"
		hint = fmt.Sprintf(" (while mintlake up runs on this folder, name its broker: --kafka-brokers %s)", cfg.Kafka.Addr)
	}
	if n.anyAddress {
		hint = " (a running node is named with --kafka-brokers and --clickhouse-dsn, by the addresses that it printed)"
	}
	var err error
	if s.backends, err = startBackends(ctx, &cfg, s.lifecycle, s.logger, s.registerer); err != nil {
		return fmt.Errorf("%w%s", err, hint)
	}
	return nil
}

// pingKafka returns an error if no Kafka answers in time. command is empty unless it needs a
// running node.
func (s *system) pingKafka(ctx context.Context, command string) error {
	soon, cancel := context.WithTimeout(ctx, kafkaPatience)
	defer cancel()
	err := s.admin.Ping(soon)
	switch {
	case err == nil:
		return nil
	case command != "":
		return fmt.Errorf("%s: no Kafka answers at %v: start `mintlake up`, or name the brokers with --kafka-brokers", command, s.backends.brokers)
	}
	return fmt.Errorf("no Kafka answers at %v: %w", s.backends.brokers, err)
}

// eventlog returns how this system reads its log.
func (s *system) eventlog() eventlog.Kafka {
	return eventlog.Kafka{Brokers: s.backends.brokers, Admin: s.admin, Deps: s.kafka}
}

// tables returns the tables behind a connection, beside this system's log.
func (s *system) tables(ctx context.Context, conn driver.Conn) *tables.Tables {
	return &tables.Tables{Kafka: s.eventlog(), Conn: conn, Cluster: s.cfg.ClickHouse.Cluster, Logger: s.logger, Progress: progressMeter(ctx)}
}
