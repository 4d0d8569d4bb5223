package main

import (
	"context"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/holders"
	"github.com/mintlake/mintlake/projector/swaps"
	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
	"github.com/mintlake/mintlake/volume"
)

// startSwapProjector starts the projector of swaps and pools, beside that of token events.
func (s *system) startSwapProjector(ctx context.Context, conn driver.Conn) error {
	store := swaps.NewClickHouse(conn, schema.Database)
	if err := store.KeepSignatures(ctx, s.cfg.Swaps.SignatureDays, s.cfg.ClickHouse.Cluster); err != nil {
		return err
	}
	consumer, err := s.groupConsumer(schemas.GroupSwaps, swaps.Topics())
	if err != nil {
		return err
	}
	room, err := swaps.New(swaps.Deps{
		Consumer: consumer, Producer: s.writers.For("projector"), Store: store, Logger: s.logger, Registerer: s.registerer, Tracer: s.tracer,
	})
	if err != nil {
		return err
	}
	s.lifecycle.start("projector of swaps", closing(consumer, room.Run))
	return nil
}

// startVolume starts what computes figures of tables: the volume room, and the counts of holders.
func (s *system) startVolume(ctx context.Context) error {
	conn, err := s.openTables(ctx)
	if err != nil {
		return err
	}
	room, err := volume.New(s.cfg.Volume, volume.Deps{
		Store: volume.NewClickHouse(conn, schema.Database, s.cfg.Volume), Logger: s.logger, Registerer: s.registerer,
	})
	if err != nil {
		return err
	}
	s.lifecycle.start("volume", room.Run)
	counts, err := holders.New(holders.Deps{Store: holders.NewClickHouse(conn, schema.Database), Logger: s.logger, Registerer: s.registerer})
	if err != nil {
		return err
	}
	s.lifecycle.start("holders", counts.Run)
	return s.startBases(conn)
}
