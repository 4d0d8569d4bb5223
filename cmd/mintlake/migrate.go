package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/spf13/cobra"
)

func migrateCommand() *cobra.Command {
	return withConfig(&cobra.Command{
		Use:   "migrate",
		Short: "Bring ClickHouse's tables and Kafka's topics to this version; up does it by itself",
	}, func(ctx context.Context, cfg *Config, logger *slog.Logger) error {
		return withStores(ctx, cfg, logger, func(s *system, conn driver.Conn) error {
			if err := s.migrate(ctx, conn); err != nil {
				return err
			}
			fmt.Println("tables and topics are up to date")
			return nil
		})
	})
}

// withStores calls work with Kafka and ClickHouse, embedded or not, and without any room. It
// creates the topics first.
func withStores(ctx context.Context, cfg *Config, logger *slog.Logger, work func(*system, driver.Conn) error) (err error) {
	s := newSystem(cfg, logger)
	defer func() {
		if stopErr := s.stop(); err == nil {
			err = stopErr
		}
	}()
	if s.backends, err = startBackends(ctx, cfg, s.lifecycle, logger, s.registerer); err != nil {
		return err
	}
	if err := s.connect(); err != nil {
		return err
	}
	if err := ensureTopics(ctx, cfg, s.admin); err != nil {
		return err
	}
	conn, err := s.openClickHouse(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	return work(s, conn)
}
