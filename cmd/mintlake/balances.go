package main

import (
	"context"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/holders/bases"
	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/projector/balances"
	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
)

// startBalanceProjector starts the projector of balances and transfers. While balances are off, its
// topics get no records.
func (s *system) startBalanceProjector(ctx context.Context, conn driver.Conn) error {
	store := balances.NewClickHouse(conn, schema.Database)
	if err := store.KeepHistory(ctx, s.cfg.Balances.HistoryDays, s.cfg.ClickHouse.Cluster); err != nil {
		return err
	}
	tables, err := clickhouse.DatabaseID(ctx, conn, schema.Database)
	if err != nil {
		return err
	}
	consumer, err := s.groupConsumer(schemas.GroupBalances, balances.Topics())
	if err != nil {
		return err
	}
	room, err := balances.New(balances.Deps{
		Consumer: consumer, Producer: s.writers.For("projector"), Store: store, Tables: tables, Logger: s.logger, Registerer: s.registerer,
	})
	if err != nil {
		return err
	}
	s.lifecycle.start("projector of balances", closing(consumer, room.Run))
	return nil
}

// startBases starts the room that writes bases of balances, if this installation keeps any.
func (s *system) startBases(conn driver.Conn) error {
	if cfg := &s.cfg.Balances; cfg.BaseEvery == 0 || !cfg.On(slices.ContainsFunc(s.cfg.Source, isDemo)) {
		return nil
	}
	room, err := bases.New(s.cfg.Balances.BaseEvery, bases.Deps{
		Store: bases.NewClickHouse(conn, schema.Database), Producer: s.writers.For("holders"), Offsets: s.admin, Logger: s.logger, Registerer: s.registerer,
	})
	if err != nil {
		return err
	}
	s.lifecycle.start("bases of balances", room.Run)
	return nil
}
