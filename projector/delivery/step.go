package delivery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/kafka"
)

// Step is what a projector does with a batch of records: read them, store them, commit them.
type Step struct {
	Consumer Consumer
	Letters  Letters
	Logger   *slog.Logger
	// What names the rows in messages, such as "swaps".
	What string
	// Retryable reports whether the store may take the same batch later.
	Retryable func(error) bool
	// Refused counts writes that failed, Limits those of them that took too long. Limits may be
	// nil.
	Refused, Limits prometheus.Counter
}

// Do gives each record to add, and then calls insert until the store takes the batch, before the
// records are committed. A record that add refuses gets a dead letter.
func (s *Step) Do(ctx context.Context, records []kafka.Record, add func(*kafka.Record) error, insert func(context.Context) error) error {
	if err := s.Letters.Read(ctx, records, add); err != nil {
		return err
	}
	err := Retry(ctx, s.Retryable, func(err error, wait time.Duration) {
		if s.Limits != nil && errors.Is(err, clickhouse.ErrWriteLimit) {
			s.Limits.Inc()
		}
		s.Logger.Warn("clickhouse refused rows, trying again", "rows", s.What, "err", err, "wait", wait)
	}, func(ctx context.Context) error {
		err := insert(ctx)
		if err != nil {
			s.Refused.Inc()
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := s.Consumer.Commit(ctx, records); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}
