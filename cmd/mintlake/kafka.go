package main

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/kafka"
)

// kafkaDeps are the collaborators of Kafka's clients. The embedded broker is spoken to in plain
// text, whatever the settings say of others.
func kafkaDeps(cfg *Config, logger *slog.Logger, registerer prometheus.Registerer) (kafka.Deps, error) {
	deps := kafka.Deps{Logger: logger, Registerer: registerer}
	if len(cfg.Kafka.Brokers) == 0 {
		return deps, nil
	}
	var err error
	deps.Security, err = kafka.NewSecurity(cfg.Kafka.TLS, cfg.Kafka.SASL)
	return deps, err
}
