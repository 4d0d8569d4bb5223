package main

import (
	"context"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/keys"
	"github.com/mintlake/mintlake/internal/proxies"
)

// keyring is what the surfaces of one process share: the issued keys and the configured ones.
type keyring struct {
	live       *keys.Live
	configured *keys.Static
	proxies    proxies.List
}

// keyStore returns the store of all keys. The first call reads the issued ones, and returns when
// they are known: a surface that opens sooner could let a revoked key in. It waits for as long as
// Kafka is away.
func (s *system) keyStore(ctx context.Context) (keys.Store, error) {
	if s.keys == nil {
		if err := s.startKeys(ctx); err != nil {
			return nil, err
		}
	}
	return keys.Join(s.keys.live, s.keys.configured), nil
}

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
	s.keys = ring
	s.lifecycle.start("keys", ring.live.Run)
	if err := s.lifecycle.await(ctx, ring.live.Loaded()); err != nil || !s.administers {
		return err
	}
	// Before the surfaces: whether a key can be made here decides what one without any may do.
	return s.startAdmin(ctx, ring)
}

// configuredKeys are the keys that the configuration lists, of all products.
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
