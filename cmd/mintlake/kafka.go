package main

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/kafka"
)

// kafkaDeps returns the collaborators of Kafka's clients. Connections to the embedded broker are
// plain text, whatever the settings are.
func kafkaDeps(cfg *Config, logger *slog.Logger, registerer prometheus.Registerer) (kafka.Deps, error) {
	deps := kafka.Deps{Logger: logger, Registerer: registerer}
	if len(cfg.Kafka.Brokers) == 0 {
		return deps, nil
	}
	var err error
	deps.Security, err = kafka.NewSecurity(cfg.Kafka.TLS, cfg.Kafka.SASL)
	return deps, err
}
