package main

import (
	"context"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/bootstrap/documents"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/operate/backup"
	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
)

// startDocuments starts the room that requests the missing documents of bootstrapped tokens. It
// runs beside the projector, whose tables it reads.
func (s *system) startDocuments(conn driver.Conn) error {
	if s.cfg.Enrich.MissingPerMinute == 0 || !s.cfg.Enrich.Offchain {
		return nil
	}
	stateFile, err := s.cfg.dataPath(backup.DocumentsFile)
	if err != nil {
		return err
	}
	room, err := documents.New(documents.Config{
		PerMinute: s.cfg.Enrich.MissingPerMinute, StateFile: stateFile,
	}, documents.Deps{
		Source: documents.NewClickHouse(conn, schema.Database), Producer: s.writers.For("bootstrap"), Logger: s.logger, Registerer: s.registerer,
		OpenTail: func(ctx context.Context) (kafka.TailReader, error) {
			topics := []string{schemas.TopicEnrichments}
			ends, err := s.admin.EndOffsets(ctx, topics)
			if err != nil {
				return nil, err
			}
			return kafka.NewTailer(kafka.TailerConfig{Brokers: s.backends.brokers, Topics: topics, Start: ends, Name: "documents"}, s.kafka)
		},
		Waiting: func(ctx context.Context) (int64, error) {
			return s.admin.Lag(ctx, schemas.GroupEnrich, []string{schemas.TopicEnrichmentRequests})
		},
	})
	if err != nil {
		return err
	}
	s.lifecycle.start("documents", room.Run)
	return nil
}
