package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"
)

func migrateCommand() *cobra.Command {
	return withConfig(&cobra.Command{
		Use:   "migrate",
		Short: "Bring ClickHouse's tables and Kafka's topics to this version; up does it by itself",
	}, func(ctx context.Context, cfg *Config, logger *slog.Logger) error {
		return withStores(ctx, cfg, logger, newStores, func(ctx context.Context, s *system) error {
			if err := s.tables(ctx, s.conn).Migrate(ctx); err != nil {
				return err
			}
			fmt.Println("tables and topics are up to date")
			return nil
		})
	})
}
