package main

import (
	"context"
	"time"

	"github.com/mintlake/mintlake/internal/tracing"
)

// lastSpans is how long a stop waits for the collector to take the last spans.
const lastSpans = 3 * time.Second

// tracingConfig returns the configuration of tracing.
func (c *Config) tracingConfig() tracing.Config {
	return tracing.Config{Endpoint: c.Tracing.Endpoint, Ratio: c.Tracing.SampleRatio, Version: thisBuild().Version}
}

// startTracing makes the tracer. Without tracing.endpoint there is none, and rooms get nil.
func (s *system) startTracing(ctx context.Context) error {
	tracer, err := tracing.New(ctx, s.cfg.tracingConfig(), s.logger)
	if err != nil {
		return err
	}
	s.tracer = tracer
	s.closers = append(s.closers, func() {
		within, cancel := context.WithTimeout(context.Background(), lastSpans)
		defer cancel()
		if err := tracer.Close(within); err != nil {
			s.logger.Warn("the last spans were not sent", "err", err)
		}
	})
	return nil
}
