package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/operate/eventlog"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/solana/bounds"
	"github.com/mintlake/mintlake/solana/chainid"
)

const (
	// identityPatience is how long a start waits for each server's genesis hash.
	identityPatience = 5 * time.Second
	// identityEvery is the time between two requests for a server's genesis hash: a development
	// chain may be reset while it is followed.
	identityEvery = 30 * time.Second
)

// identityLog stores the chain's identity in Kafka, so that all nodes of a cluster share it.
type identityLog struct {
	topic    *eventlog.Topics
	bounds   *bounds.Bounds // learns the hash; may be nil
	producer interface {
		Produce(ctx context.Context, records ...kafka.Record) error
	}
}

// Remembered implements chainid.Log. It returns the first record of the topic that can be read.
func (l *identityLog) Remembered(ctx context.Context) (told chainid.Told, ok bool, err error) {
	err = l.topic.Read(ctx, []string{schemas.TopicIdentity}, func(record *kafka.Record) {
		identity := new(eventspb.ChainIdentity)
		if ok || string(record.Key) != schemas.ChainIdentityKey || proto.Unmarshal(record.Value, identity) != nil || len(identity.GetGenesisHash()) != len(told.Hash) {
			return
		}
		told, ok = chainid.Told{Hash: pubkey.Key(identity.GetGenesisHash()), By: identity.GetToldBy()}, true
	})
	if ok {
		l.bounds.Identity(told.Hash)
	}
	return told, ok, err
}

// Remember implements chainid.Log.
func (l *identityLog) Remember(ctx context.Context, told chainid.Told) error {
	value, err := proto.Marshal(&eventspb.ChainIdentity{GenesisHash: told.Hash[:], ToldBy: told.By, RecordedAtMs: time.Now().UnixMilli()})
	if err != nil {
		return err
	}
	return l.producer.Produce(ctx, kafka.Record{Topic: schemas.TopicIdentity, Key: []byte(schemas.ChainIdentityKey), Value: value, Headers: []kafka.Header{
		{Key: schemas.HeaderType, Value: []byte(schemas.TypeChainIdentity)}, {Key: schemas.HeaderSchemaVersion, Value: []byte(schemas.SchemaVersion)},
	}})
}

// chainChecker makes a checker of the identity that this Kafka stores. The topics must exist. alone
// says that the chain is read from the upstreams only.
func (s *system) chainChecker(alone bool) *chainid.Checker {
	return chainid.New(chainid.Deps{
		Log:   &identityLog{bounds: s.chainBounds, producer: s.writers.For("ingest"), topic: s.eventlog().Topics("identity")},
		Later: solana.Retryable, Logger: s.logger, Alone: alone,
	})
}

// checkChain asks every configured JSON-RPC server, the source first, whether it serves the chain
// of this data. It asks again while the system runs, because a chain may be reset. An upstream of
// another chain is left out. It is an error if the source serves another chain. If there is no
// source, or the command reads upstreams only, it is an error if all upstreams serve another chain.
func (s *system) checkChain(ctx context.Context, upstreamsOnly bool) error {
	servers, sourced, err := s.chainServers()
	if err != nil || len(servers) == 0 {
		return err
	}
	checker := s.chainChecker(upstreamsOnly || !sourced)
	rest, err := checker.First(ctx, servers, identityPatience)
	if err != nil {
		return err
	}
	s.lifecycle.start("identity of the chain", func(ctx context.Context) error {
		return checker.Watch(ctx, rest, identityEvery, identityPatience)
	})
	return nil
}

// chainServers returns the JSON-RPC servers that this process reads the chain from, each once.
// sourced says that a source is configured, of whichever kind.
func (s *system) chainServers() (servers []chainid.Server, sourced bool, err error) {
	endpoints := []string{}
	for _, text := range s.cfg.Source {
		spec, err := source.ParseSpec(text)
		if err == nil && spec.Kind == source.KindRPC {
			endpoints = append(endpoints, spec.Endpoint)
		}
		sourced = sourced || err != nil || spec.Kind != source.KindNone
	}
	if s.demoRPC != "" {
		endpoints = append(endpoints, s.demoRPC)
	}
	ofSource := len(endpoints)
	seen := map[string]bool{}
	for i, endpoint := range append(endpoints, s.cfg.RPC.Upstream...) {
		if seen[endpoint] {
			continue
		}
		seen[endpoint] = true
		s.exclusions.Set(endpoint, false) // so that the metric has a value from the start
		client, err := solana.NewClient(solana.Config{Endpoints: []string{endpoint}, Timeout: identityPatience, MaxAttempts: 1},
			solana.Deps{Logger: s.logger, Registerer: s.registerer})
		if err != nil {
			return nil, false, err
		}
		server := chainid.Server{Name: hostOf(endpoint), Ask: client.GetGenesisHash}
		if slices.ContainsFunc(servers, func(other chainid.Server) bool { return other.Name == server.Name }) {
			// The name must be unique, and another endpoint of this host has it already.
			server.Name = fmt.Sprintf("%s (server %d)", server.Name, i+1)
		}
		if i >= ofSource {
			server.LeaveOut = func(out bool) { s.exclusions.Set(endpoint, out) }
		}
		servers = append(servers, server)
	}
	return servers, sourced, nil
}

// hostOf returns the host of an endpoint, without the key that its URL may have.
func hostOf(endpoint string) string { return cmp.Or(solana.Host(endpoint), "a JSON-RPC server") }

// checkManifest checks the genesis hash in a snapshot's manifest. Snapshots of earlier versions
// have none.
func (s *system) checkManifest(ctx context.Context, genesis, folder string) error {
	if genesis == "" {
		return nil
	}
	hash, err := pubkey.Parse(genesis)
	if err != nil {
		return fmt.Errorf("%s: genesis_hash %.50q of the manifest is no hash", folder, genesis)
	}
	return s.chainChecker(false).Check(ctx, chainid.Told{Hash: hash, By: "the snapshot " + folder})
}

// genesisForExport returns the genesis hash that is stored in the configured Kafka, or in the
// embedded broker of a running up. If there is none, it returns "" and logs a warning: the snapshot
// is usable, but an importer cannot check its chain.
func genesisForExport(ctx context.Context, cfg *Config, logger *slog.Logger) string {
	s := newSystem(cfg, logger)
	defer func() { _ = s.stop() }()
	s.backends = &backends{brokers: cfg.Kafka.Brokers}
	if len(s.backends.brokers) == 0 {
		s.backends.brokers = []string{cfg.Kafka.Addr}
	}
	ctx, cancel := context.WithTimeout(ctx, identityPatience)
	defer cancel()
	err := s.connect()
	genesis := ""
	if err == nil {
		genesis, err = s.rememberedGenesis(ctx)
	}
	if err != nil || genesis == "" {
		logger.Warn("the manifest will not name the chain: no Kafka tells its genesis hash (--kafka-brokers)", "err", err)
	}
	return genesis
}

// rememberedGenesis returns the hash that this Kafka stores, in base58; empty if there is none.
func (s *system) rememberedGenesis(ctx context.Context) (string, error) {
	log := &identityLog{topic: s.eventlog().Topics("identity")}
	told, ok, err := log.Remembered(ctx)
	if err != nil || !ok {
		return "", err
	}
	return told.Hash.String(), nil
}
