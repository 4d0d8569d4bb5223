package main

import (
	"github.com/mintlake/mintlake/enrich"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/solana"
)

// accountUpstreams returns the upstreams that enrichment reads accounts from: one for each host,
// with all its endpoints, so that what one host says is compared with another. It returns nil if
// none is configured.
func (s *system) accountUpstreams() (*enrich.Upstreams, error) {
	if s.rpc == nil {
		return nil, nil
	}
	var hosts []string
	endpoints := map[string][]string{}
	for _, endpoint := range s.cfg.RPC.Upstream {
		host := solana.Host(endpoint)
		if endpoints[host] == nil {
			hosts = append(hosts, host)
		}
		endpoints[host] = append(endpoints[host], endpoint)
	}
	deps := enrich.UpstreamsDeps{Bounds: s.chainBounds, Logger: s.logger, Registerer: s.registerer}
	for _, host := range hosts {
		one := enrich.Upstream{Name: host, RPC: s.rpc}
		if len(hosts) > 1 { // one round: if it fails, the next upstream is asked
			client, err := solana.NewClient(solana.Config{Endpoints: endpoints[host], MaxAttempts: 1}, s.solanaDeps())
			if err != nil {
				return nil, err
			}
			one.RPC = client
		}
		deps.Upstreams = append(deps.Upstreams, one)
	}
	return enrich.NewUpstreams(deps)
}

// startChecks starts the checks of what upstreams say, if there are several.
func (s *system) startChecks(upstreams *enrich.Upstreams) error {
	if upstreams == nil {
		return nil
	}
	past := &enrich.Past{Offsets: s.admin, OpenTail: func(start map[kafka.TopicPartition]int64) (kafka.TailReader, error) {
		return kafka.NewTailer(kafka.TailerConfig{Brokers: s.backends.brokers, Topics: []string{schemas.TopicEnrichments}, Start: start, Name: "checks"}, s.kafka)
	}}
	checker, err := enrich.NewChecker(upstreams, s.writers.For("enrich"), past)
	if err != nil || checker == nil {
		return err
	}
	s.lifecycle.start("checks of upstreams", checker.Run)
	return nil
}
