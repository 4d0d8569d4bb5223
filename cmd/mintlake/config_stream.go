package main

import (
	"cmp"
	"errors"
	"slices"

	"github.com/mintlake/mintlake/access/origins"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/internal/tlsserver"
	"github.com/mintlake/mintlake/solana"
)

// StreamConfig has the settings of the stream, and of what ingest publishes to it.
type StreamConfig struct {
	Addr           string   `koanf:"addr" usage:"gRPC and WebSocket stream"`
	Publish        bool     `koanf:"publish" usage:"pass the source's transactions on to the stream"`
	Transactions   string   `koanf:"transactions" usage:"which transactions ingest asks its source for and passes on: programs (those that touch Token, Token-2022 or Metaplex Token Metadata) or all; votes never"`
	Processed      bool     `koanf:"processed" usage:"serve the commitment processed too: the gateway then subscribes at the geyser+ (or demo) source itself, a second subscription; live only, never in replays or in the registry"`
	SpillBytes     int64    `koanf:"spill_bytes" usage:"most bytes of transactions that wait on disk while Kafka is slower than the chain; beyond, transactions are left out and told as a gap; 0 = none wait there"`
	AllowedOrigins []string `koanf:"allowed_origins" usage:"web origins whose pages may open WebSockets at the stream, as swap.allowed_origins"`
	MaxSubscribers int      `koanf:"max_subscribers" usage:"most open subscriptions of all clients of the stream"`
	MaxReplays     int      `koanf:"max_replays" usage:"most places at which replays (from_slot) read the log at one time; replays at about the same place share one; an API key may have a quarter for itself; one more waits up to 5 s, then is refused"`
	MaxConnections int      `koanf:"max_connections" usage:"most open connections of all clients of the stream; one more is refused"`
	MaxPerAddress  int      `koanf:"max_connections_per_address" usage:"most open connections of one client address (of IPv6: its network of 64 bits); keys.trusted_proxies are exempt"`
	TLS            struct {
		CertFile string `koanf:"cert_file" usage:"PEM file of the stream's certificate with its chain: connections over TLS are then taken beside plain ones; read again when it changes"`
		KeyFile  string `koanf:"key_file" usage:"PEM file of that certificate's private key"`
	} `koanf:"tls"`
}

func defaultStreamConfig() StreamConfig {
	return StreamConfig{
		Addr: "127.0.0.1:10000", Publish: true, Transactions: "programs", SpillBytes: 1 << 30,
		AllowedOrigins: origins.ThisMachine(), MaxSubscribers: 1000, MaxConnections: 4096, MaxPerAddress: 1000, MaxReplays: 16,
	}
}

func (c *StreamConfig) validate(bad func(key string, value any, rule string)) {
	for key, n := range map[string]int{
		"stream.max_subscribers": c.MaxSubscribers, "stream.max_connections": c.MaxConnections, "stream.max_replays": c.MaxReplays,
		"stream.max_connections_per_address": c.MaxPerAddress,
	} {
		if n < 1 {
			bad(key, n, "must be at least 1")
		}
	}
	if c.SpillBytes < 0 {
		bad("stream.spill_bytes", c.SpillBytes, "must not be negative")
	}
	oneOf(bad, "stream.transactions", c.Transactions, "programs", "all")
	if c.TLS.CertFile != "" || c.TLS.KeyFile != "" {
		if _, err := tlsserver.Load(c.TLS.CertFile, c.TLS.KeyFile, nil); err != nil {
			bad("stream.tls", c.TLS.CertFile, err.Error())
		}
	}
}

// blockCommitment returns the commitment of the blocks that ingest publishes. Each source may name
// its commitment; the result is confirmed if they differ. If there is no source, it is the setting
// geyser.commitment.
func (c *Config) blockCommitment() string {
	found := ""
	for _, text := range c.Source {
		spec, err := source.ParseSpec(text)
		if err != nil || spec.Kind == source.KindNone {
			continue
		}
		if found != string(solana.Confirmed) {
			found = c.commitmentOf(spec)
		}
	}
	return cmp.Or(found, c.Geyser.Commitment)
}

// commitmentOf returns the commitment of a source's blocks: what its URL names, or the default of
// its kind.
func (c *Config) commitmentOf(spec source.Spec) string {
	if spec.Kind == source.KindRPC {
		return cmp.Or(spec.Commitment, string(solana.Confirmed))
	}
	return cmp.Or(spec.Commitment, c.Geyser.Commitment)
}

var errProcessedSource = errors.New("stream.processed: no source is a Geyser server: name it with --source geyser+https://host:port, at the gateway too")

// checkProcessed returns an error if one of rooms serves the stream and no source can serve
// stream.processed. validate does not check this, because other rooms with the same settings may
// have no source.
func (c *Config) checkProcessed(rooms []string) error {
	if !c.Stream.Processed || !slices.Contains(rooms, roomGateway) || slices.ContainsFunc(c.Source, func(text string) bool {
		spec, err := source.ParseSpec(text)
		return err == nil && (spec.Kind == source.KindGeyser || spec.Kind == source.KindDemo)
	}) {
		return nil
	}
	return errProcessedSource
}
