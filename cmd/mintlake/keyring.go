package main

import (
	"context"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/access/proxies"
	"github.com/mintlake/mintlake/access/usage"
	"github.com/mintlake/mintlake/internal/kafka"
)

// keyring has what the surfaces of a process share: the issued and the configured keys, trusted
// proxies, and the meter of usage.
type keyring struct {
	live       *keys.Live
	configured *keys.Static
	proxies    proxies.List
	meter      *usage.Meter
}

// keyStore returns the store of all keys. The first call reads the issued ones and waits until all
// are known, however long Kafka is away: a surface that opened sooner could admit a revoked key.
func (s *system) keyStore(ctx context.Context) (keys.Store, error) {
	if s.keys == nil {
		if err := s.startKeys(ctx); err != nil {
			return nil, err
		}
	}
	return keys.Metered(s.keys.live, s.keys.configured, s.keys.meter), nil
}

// startKeys starts the reading of issued keys and the meter of usage, and waits until all keys are
// known. Then it starts the admin API, if this process may serve it.
func (s *system) startKeys(ctx context.Context) error {
	ring := &keyring{}
	var err error
	if ring.proxies, err = proxies.Parse(s.cfg.Keys.TrustedProxies); err != nil {
		return err
	}
	if ring.configured, err = configuredKeys(s.cfg); err != nil {
		return err
	}
	ring.live, err = keys.NewLive(keys.Deps{
		Offsets: s.admin, Logger: s.logger, Registerer: s.registerer,
		OpenTail: func(topics []string, start map[kafka.TopicPartition]int64) (keys.Tailer, error) {
			return kafka.NewTailer(kafka.TailerConfig{Brokers: s.backends.brokers, Topics: topics, Start: start, Name: "keys"}, s.kafka)
		},
	})
	if err != nil {
		return err
	}
	epoch := rand.Uint64() | 1 //nolint:gosec // a number, not a secret
	if ring.meter, err = usage.New(usage.Config{Node: nodeName(), Epoch: epoch}, usage.Deps{
		Producer: s.writers.For("usage"), Logger: s.logger, Registerer: s.registerer,
	}); err != nil {
		return err
	}
	s.keys = ring
	s.lifecycle.start("keys", ring.live.Run)
	s.lifecycle.start("usage", ring.meter.Run) // before the surfaces, so it ends after them
	if err := s.lifecycle.await(ctx, ring.live.Loaded()); err != nil || !s.administers {
		return err
	}
	// The admin API starts before the surfaces: if this process can issue keys, a surface for other
	// machines may start without a key, and admits nobody until one is issued.
	return s.startAdmin(ctx, ring)
}

// nodeName returns the machine's name for records.
func nodeName() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return strings.ToValidUTF8(name[:min(len(name), 255)], "?")
}

// configuredKeys returns the keys of the configuration, of all products.
func configuredKeys(cfg *Config) (*keys.Static, error) {
	var all []keys.Entry
	for product, list := range map[keys.Product][]string{keys.RPC: cfg.RPC.Keys, keys.Swap: cfg.Swap.Keys} {
		entries, err := keys.ParseEntries(product, list)
		if err != nil {
			return nil, err
		}
		all = append(all, entries...)
	}
	return keys.NewStatic(all...)
}
