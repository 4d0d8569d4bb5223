package main

import (
	"context"
	"path/filepath"

	chengine "github.com/mintlake/mintlake/embedded/clickhouse"
	"github.com/mintlake/mintlake/internal/clickhouse/parts"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
)

// partsManifest is the path of the file that lists the parts of the embedded ClickHouse's tables.
func partsManifest(cfg *Config) string {
	return filepath.Join(cfg.DataDir, "clickhouse", chengine.PartsFile)
}

// watchParts starts the check of the tables' parts. It runs beside the projector, which fills the
// tables.
func (s *system) watchParts(ctx context.Context) error {
	conn, err := s.openClickHouse(ctx)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, func() { _ = conn.Close() })
	cfg := parts.Config{Database: schema.Database}
	if s.cfg.ClickHouse.DSN == "" {
		cfg.Manifest = partsManifest(s.cfg)
	}
	watch, err := parts.New(cfg, parts.Deps{Conn: conn, Logger: s.logger, Registerer: s.registerer})
	if err != nil {
		return err
	}
	s.damage = watch.Damage
	s.lifecycle.start("parts of ClickHouse", watch.Run)
	return nil
}
