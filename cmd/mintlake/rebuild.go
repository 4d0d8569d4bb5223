package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/spf13/cobra"

	schema "github.com/mintlake/mintlake/schemas/clickhouse"
)

func rebuildCommand() *cobra.Command {
	return withConfig(&cobra.Command{
		Use:   "rebuild",
		Short: "Throw ClickHouse's tables away; the next start makes them anew from the log",
		Long: `Throw ClickHouse's tables away, all of the database mintlake. The log in Kafka is the source of truth: the projector begins at its
first record again and makes the same rows. "up" (or the projector) must not run.`,
	}, func(ctx context.Context, cfg *Config, logger *slog.Logger) error {
		return withStores(ctx, cfg, logger, func(s *system, conn driver.Conn) error {
			drop := "DROP DATABASE IF EXISTS " + schema.Database
			if cfg.ClickHouse.Cluster != "" {
				drop += " ON CLUSTER '" + cfg.ClickHouse.Cluster + "'"
			}
			if err := conn.Exec(ctx, drop+" SYNC"); err != nil {
				return fmt.Errorf("rebuild: drop the tables: %w", err)
			}
			if err := s.migrate(ctx, conn); err != nil {
				return err
			}
			fmt.Println("the tables are empty; start mintlake to fill them from the log")
			return nil
		})
	})
}
