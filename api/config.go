package api

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mintlake/mintlake/access/internaltoken"
	"github.com/mintlake/mintlake/access/limits"
	"github.com/mintlake/mintlake/api/market"
	"github.com/mintlake/mintlake/api/requests"
	"github.com/mintlake/mintlake/replica"
)

// Config of the API room. DefaultConfig has the defaults.
type Config struct {
	Addr           string        `koanf:"addr" usage:"address of the token API; port 0 takes a free one"`
	BodyLimit      int           `koanf:"body_limit" usage:"largest request body in bytes"`
	ReadTimeout    time.Duration `koanf:"read_timeout" usage:"time to read a whole request"`
	WriteTimeout   time.Duration `koanf:"write_timeout" usage:"time to write a whole response"`
	IdleTimeout    time.Duration `koanf:"idle_timeout" usage:"time a connection may wait for its next request"`
	DrainTime      time.Duration `koanf:"drain_time" usage:"how long a node that stops says so on /readyz and goes on serving, so that load balancers turn away first"`
	ShutdownGrace  time.Duration `koanf:"shutdown_grace" usage:"time requests under way get when the node stops"`
	MaxConnections int           `koanf:"max_connections" usage:"most connections at once; beyond, those that wait longest for a request are closed"`
	// MaxConnectionsPerClient does not apply to trusted proxies.
	MaxConnectionsPerClient int `koanf:"max_connections_per_client" usage:"most connections of one client at once; 0 = no bound"`
	// Ranking is what tokens are ordered by: market.Rankings lists the figures.
	Ranking          string        `koanf:"ranking" usage:"what tokens are ordered by: volume, user_volume or organic_volume"`
	TrustedProxies   []string      `koanf:"trusted_proxies" usage:"addresses or CIDR prefixes whose X-Forwarded-For is believed"`
	SnapshotPatience time.Duration `koanf:"snapshot_patience" usage:"how long ClickHouse may be away at start before the registry is folded from the topics"`
	// CheckpointEvery is how often the file in Deps.CheckpointFolder is written.
	CheckpointEvery time.Duration `koanf:"checkpoint_every" usage:"how often the copy of the registry is written to data_dir, so that a restart is quick; 0 = never, and none is read"`
	// InternalToken marks requests of Mintlake's own rooms: see access/internaltoken.
	InternalToken string `koanf:"internal_token" usage:"token of requests that no rate limit holds for: the JSON-RPC gateway's, which limits its own clients; set the same at both" secret:"true"`
	// AllowedHosts are the host names that requests to a loopback Addr may have besides loopback
	// names: see access/hosts. The setting is not one of api, because all addresses of the process
	// share it.
	AllowedHosts []string `koanf:"-"`
	// RateLimits is a section of its own, rate_limits.
	RateLimits RateLimits `koanf:"-"`
	Enrichment Enrichment `koanf:"enrichment_requests"`
	Streams    Streams    `koanf:"streams"`
	// ChainExplorer is for the explorer's links; the API itself does not call it.
	ChainExplorer string `koanf:"chain_explorer" usage:"explorer of the chain to which the pages' links lead, as https://explorer.solana.com: one whose pages are /address/ADDRESS and /tx/SIGNATURE; none = no such links; empty = explorer.solana.com, and none for the demo chain"`
	// SwapURL is for the explorer's page of quotes; the API itself does not call it.
	SwapURL string `koanf:"swap_url" usage:"swap quote API as browsers reach it, as https://swap.example, for the explorer's page of quotes; empty = the one in the same process, if it listens on loopback; its swap.allowed_origins must hold the explorer's origin"`
	// TokensV2 and TokenList switch on routes whose response shapes are those of other APIs, for
	// which clients already have code.
	TokensV2  bool `koanf:"tokens_v2" usage:"serve /tokens/v2, the shape of Jupiter's Tokens API V2"`
	TokenList bool `koanf:"token_list" usage:"serve /tokenlist.json, the verified tokens in the shape of the Solana token list"`
}

// Streams bounds GET /tokens/stream and GET /trades/stream.
type Streams struct {
	Max       int `koanf:"max" usage:"readers of the change feed at once, and as many of trades"`
	PerClient int `koanf:"per_client" usage:"readers of the change feed at once and client, and as many of trades"`
	MaxReplay int `koanf:"max_replay" usage:"records that one reader's old cursor may make the node read again"`
	// MaxAge makes clients reconnect now and then. So they spread over new nodes, and a load
	// balancer can empty old nodes.
	MaxAge time.Duration `koanf:"max_age" usage:"how long a reader of a stream is served before it is asked to connect again"`
}

// RateLimits are requests per client and minute. The defaults are from the specification.
type RateLimits struct {
	Enabled bool `koanf:"enabled" usage:"limit requests per client"`
	Search  int  `koanf:"search" usage:"GET /tokens a minute and client"`
	Lookup  int  `koanf:"lookup" usage:"GET /tokens/{mint} a minute and client"`
	Batch   int  `koanf:"batch" usage:"POST /tokens/batch a minute and client"`
	Image   int  `koanf:"image" usage:"GET /img/{mint} a minute and client"`
	Global  int  `koanf:"global" usage:"requests a minute and client to routes without a limit of their own"`
	// GlobalCountsAll makes the global window count the limited routes, too. Then a limit above the
	// global one cannot be reached.
	GlobalCountsAll bool `koanf:"global_counts_all" usage:"let the global limit count requests to every route"`
	IPv6Factor56    int  `koanf:"ipv6_56_factor" usage:"how many times one client's bounds (rates, connections, streams, enrichment requests) the clients of an IPv6 /56 have together; 0 = no bound"`
	IPv6Factor48    int  `koanf:"ipv6_48_factor" usage:"the same for an IPv6 /48"`
	MaxClients      int  `koanf:"max_clients" usage:"clients remembered at once"`
	// SharedURL may hold a password.
	SharedURL     string        `koanf:"shared_url" usage:"Redis or Valkey through which API nodes share their limits, redis://…; with ?master_name=…&addr=… for Sentinels, ?cluster=true&addr=… for a cluster; empty: each node counts alone" secret:"true"`
	SharedCAFile  string        `koanf:"shared_ca_file" usage:"PEM file of the authorities that sign the certificates of a rediss:// server; empty: those of the system"`
	SharedTimeout time.Duration `koanf:"shared_timeout" usage:"how long a request waits for shared limits before the node counts alone"`
	SharedRetry   time.Duration `koanf:"shared_retry" usage:"first pause before shared limits are tried again; it doubles up to 10s"`
}

// Enrichment bounds the work that the public can cause in the enrichment room.
type Enrichment struct {
	QueueSize       int           `koanf:"queue_size" usage:"requests that wait for Kafka before new ones are dropped"`
	DedupTTL        time.Duration `koanf:"dedup_ttl" usage:"time in which a mint is asked for once"`
	NegativeTTL     time.Duration `koanf:"negative_ttl" usage:"time in which an address that holds no mint is not asked for"`
	PerClient       int           `koanf:"per_client" usage:"requests that one client causes in per_client_window"`
	PerClientWindow time.Duration `koanf:"per_client_window" usage:"see per_client"`
}

// DefaultConfig returns the documented defaults; they pass Validate.
func DefaultConfig() Config {
	return Config{
		Addr: "127.0.0.1:8080", Ranking: string(market.RankingVolume), TokensV2: true, TokenList: true,
		// 500 mints of 44 characters, quoted and indented, are some 30 KB. The rest is room to
		// answer "too many mints" instead of "too large".
		BodyLimit:   128 << 10,
		ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute, ShutdownGrace: 5 * time.Second,
		MaxConnections: 16_384, MaxConnectionsPerClient: 512,
		SnapshotPatience: 30 * time.Second, CheckpointEvery: time.Hour,
		RateLimits: RateLimits{Enabled: true, Search: 60, Lookup: 180, Batch: 20, Image: 600, Global: 300, IPv6Factor56: 8, IPv6Factor48: 32, MaxClients: 131_072, SharedTimeout: 25 * time.Millisecond, SharedRetry: time.Second},
		Enrichment: Enrichment{
			QueueSize: 20_000, DedupTTL: 10 * time.Minute, NegativeTTL: time.Hour, PerClient: 2_000, PerClientWindow: 10 * time.Minute,
		},
		Streams: Streams{Max: 1_000, PerClient: 8, MaxReplay: 100_000, MaxAge: time.Hour},
	}
}

// originURL matches a URL of a scheme, a host and perhaps a port. A content security policy can
// hold such a URL.
var originURL = regexp.MustCompile(`^https?://([A-Za-z0-9.-]+|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?$`)

// Validate returns all problems in one error, each with its key, its value and its rule.
func (c *Config) Validate() error {
	var errs []error
	refuse := func(key string, value any, rule string) {
		if !strings.HasPrefix(key, "rate_limits.") { // rate_limits is no part of the section api
			key = "api." + key
		}
		errs = append(errs, fmt.Errorf("%s: %v: %s", key, value, rule))
	}
	if _, _, err := net.SplitHostPort(c.Addr); err != nil {
		refuse("addr", fmt.Sprintf("%q", c.Addr), "must be host:port")
	}
	for _, field := range []struct {
		key   string
		value int
	}{
		{"max_connections", c.MaxConnections}, {"rate_limits.search", c.RateLimits.Search}, {"rate_limits.lookup", c.RateLimits.Lookup},
		{"rate_limits.batch", c.RateLimits.Batch}, {"rate_limits.image", c.RateLimits.Image}, {"rate_limits.global", c.RateLimits.Global},
		{"enrichment_requests.queue_size", c.Enrichment.QueueSize}, {"enrichment_requests.per_client", c.Enrichment.PerClient},
		{"streams.max", c.Streams.Max}, {"streams.per_client", c.Streams.PerClient}, {"streams.max_replay", c.Streams.MaxReplay},
	} {
		if field.value < 1 {
			refuse(field.key, field.value, "must be at least 1")
		}
	}
	for _, field := range []struct {
		key   string
		value time.Duration
	}{
		{"read_timeout", c.ReadTimeout}, {"write_timeout", c.WriteTimeout}, {"idle_timeout", c.IdleTimeout}, {"shutdown_grace", c.ShutdownGrace},
		{"snapshot_patience", c.SnapshotPatience}, {"rate_limits.shared_timeout", c.RateLimits.SharedTimeout},
		{"rate_limits.shared_retry", c.RateLimits.SharedRetry}, {"streams.max_age", c.Streams.MaxAge}, {"enrichment_requests.dedup_ttl", c.Enrichment.DedupTTL},
		{"enrichment_requests.negative_ttl", c.Enrichment.NegativeTTL}, {"enrichment_requests.per_client_window", c.Enrichment.PerClientWindow},
	} {
		if field.value <= 0 {
			refuse(field.key, field.value, "must be positive")
		}
	}
	if c.InternalToken != "" && !internaltoken.Valid(c.InternalToken) {
		refuse("internal_token", "***", fmt.Sprintf("must be at least %d visible ASCII characters, like the output of `openssl rand -hex 32`", internaltoken.MinLength))
	}
	if c.SwapURL != "" && !originURL.MatchString(c.SwapURL) {
		refuse("swap_url", fmt.Sprintf("%.100q", c.SwapURL), "must be http(s)://host:port without a path")
	}
	if c.ChainExplorer != "" && c.ChainExplorer != "none" && !originURL.MatchString(c.ChainExplorer) {
		refuse("chain_explorer", fmt.Sprintf("%.100q", c.ChainExplorer), "must be http(s)://host:port without a path, or none")
	}
	if c.CheckpointEvery != 0 && c.CheckpointEvery < leastCheckpointEvery {
		refuse("checkpoint_every", c.CheckpointEvery, fmt.Sprintf("must be 0, or at least %s: each writes the whole registry", leastCheckpointEvery))
	}
	if c.DrainTime < 0 {
		refuse("drain_time", c.DrainTime, "must not be negative")
	}
	for key, factor := range map[string]int{"rate_limits.ipv6_56_factor": c.RateLimits.IPv6Factor56, "rate_limits.ipv6_48_factor": c.RateLimits.IPv6Factor48} {
		if factor < 0 || factor > 65_536 {
			refuse(key, factor, "must be from 0 to 65536")
		}
	}
	if c.MaxConnectionsPerClient < 0 {
		refuse("max_connections_per_client", c.MaxConnectionsPerClient, "must not be negative")
	}
	if c.RateLimits.SharedURL != "" {
		if _, err := limits.ParseRedis(c.RateLimits.SharedURL, c.RateLimits.SharedCAFile); err != nil {
			refuse("rate_limits.shared_url", "***", err.Error())
		}
	}
	if !slices.Contains(market.Rankings(), market.Ranking(c.Ranking)) {
		refuse("ranking", c.Ranking, "must be volume, user_volume or organic_volume")
	}
	if c.BodyLimit < 1<<10 || c.BodyLimit > 16<<20 {
		refuse("body_limit", c.BodyLimit, "must be from 1024 to 16777216")
	}
	if c.RateLimits.MaxClients < 64 {
		refuse("rate_limits.max_clients", c.RateLimits.MaxClients, "must be at least 64")
	}
	if _, err := limits.ParseProxies(c.TrustedProxies); err != nil {
		refuse("trusted_proxies", strings.Join(c.TrustedProxies, ","), err.Error())
	}
	return errors.Join(errs...)
}

// leastCheckpointEvery bounds the cost of checkpoints: each writes the whole registry, which can be
// gigabytes.
const leastCheckpointEvery = time.Minute

func (c *Config) replica(checkpointFolder string) replica.Config {
	cfg := replica.Config{SnapshotPatience: c.SnapshotPatience}
	if c.CheckpointEvery > 0 {
		cfg.CheckpointFolder, cfg.CheckpointEvery = checkpointFolder, c.CheckpointEvery
	}
	return cfg
}

func (r *RateLimits) networks() limits.Networks {
	return limits.Networks{Factor56: r.IPv6Factor56, Factor48: r.IPv6Factor48}
}

func (c *Config) requests() requests.Config {
	return requests.Config{
		QueueSize: c.Enrichment.QueueSize, DedupTTL: c.Enrichment.DedupTTL, NegativeTTL: c.Enrichment.NegativeTTL,
		PerClient: c.Enrichment.PerClient, PerClientWindow: c.Enrichment.PerClientWindow,
		Networks: c.RateLimits.networks(),
	}
}
