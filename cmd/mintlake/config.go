package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mintlake/mintlake/api"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/projector/swaps"
	"github.com/mintlake/mintlake/volume"
)

// Config is every setting of Mintlake. Each key is also an environment variable and a flag: see internal/config.
type Config struct {
	DataDir string   `koanf:"data_dir" usage:"folder of the embedded engines' data"`
	Source  []string `koanf:"source" usage:"where the chain comes from: geyser+https://…, rpc+https://…?from=&to=, file:PATH, demo:?tps=&tokens=&seed=, none; repeat for more files"`
	Record  string   `koanf:"record" usage:"record the Geyser stream while it is ingested: a folder, or a new file *.geyser.zst"`
	Rooms   []string `koanf:"rooms" usage:"rooms that up runs"`

	API        api.Config     `koanf:"api"`
	RateLimits api.RateLimits `koanf:"rate_limits"`
	Swaps      swaps.Config   `koanf:"swaps"`
	Volume     volume.Config  `koanf:"volume"`
	Swap       struct {
		Addr string   `koanf:"addr" usage:"swap quote API"`
		Keys []string `koanf:"keys" usage:"accepted keys of the swap API as NAME:SHA256 (mintlake keys new swap)"`
	} `koanf:"swap"`
	RPC struct {
		Addr     string   `koanf:"addr" usage:"JSON-RPC gateway"`
		Upstream []string `koanf:"upstream" usage:"JSON-RPC servers for enrichment, backfill and the gateway"`
		Keys     []string `koanf:"keys" usage:"accepted keys of the gateway and the stream as NAME:SHA256 (mintlake keys new rpc)"`
	} `koanf:"rpc"`
	Stream struct {
		Addr    string `koanf:"addr" usage:"gRPC and WebSocket stream"`
		Publish bool   `koanf:"publish" usage:"pass a Geyser source's transactions on to the stream"`
	} `koanf:"stream"`
	Metrics struct {
		Addr string `koanf:"addr" usage:"Prometheus metrics"`
	} `koanf:"metrics"`
	Kafka struct {
		Addr     string   `koanf:"addr" usage:"embedded Kafka broker"`
		Brokers  []string `koanf:"brokers" usage:"Kafka brokers to use instead of the embedded one"`
		Replicas int      `koanf:"replicas" usage:"replication factor of new topics on --kafka-brokers"`
	} `koanf:"kafka"`
	ClickHouse struct {
		Addr        string `koanf:"addr" usage:"embedded ClickHouse's HTTP interface"`
		DSN         string `koanf:"dsn" usage:"ClickHouse to use instead of the embedded one, clickhouse://… or http://…" secret:"true"`
		Cluster     string `koanf:"cluster" usage:"name of the ClickHouse cluster behind the DSN; empty for a single server"`
		MemoryBytes int64  `koanf:"memory_bytes" usage:"memory cap of the embedded ClickHouse; 0 = half of the machine, at most 8 GiB"`
		Threads     int    `koanf:"threads" usage:"threads of one query in the embedded ClickHouse; 0 = all cores"`
	} `koanf:"clickhouse"`
	Geyser struct {
		Token      string `koanf:"token" usage:"x-token of the Geyser provider" secret:"true"`
		Commitment string `koanf:"commitment" usage:"confirmed or finalized"`
		Accounts   bool   `koanf:"accounts" usage:"subscribe to the accounts of mints and metadata too; goes on without them where the provider refuses"`
	} `koanf:"geyser"`
	Enrich struct {
		Offchain         bool          `koanf:"offchain" usage:"fetch off-chain metadata"`
		AllowPrivate     []string      `koanf:"allow_private" usage:"host:port of private addresses that off-chain metadata may come from"`
		Rereads          bool          `koanf:"rereads" usage:"read the accounts of changed mints again, when there is an upstream"`
		RereadQuiet      time.Duration `koanf:"reread_quiet" usage:"how long a changed mint must be quiet before it is read again"`
		RereadMaxWait    time.Duration `koanf:"reread_max_wait" usage:"how long a mint that keeps changing waits to be read again"`
		MissingPerMinute int           `koanf:"missing_per_minute" usage:"documents a minute asked for of tokens that were bootstrapped and have none; 0 = none"`
		RereadCalls      int           `koanf:"reread_calls" usage:"RPC calls a second for changed mints, 50 mints each"`
	} `koanf:"enrich"`
	Projector struct {
		BulkLag   int64         `koanf:"bulk_lag" usage:"records that a partition must be behind for its rows to be made in large folds"`
		FoldEvery time.Duration `koanf:"fold_every" usage:"least time between two such folds while more is to come"`
	} `koanf:"projector"`
	Logos LogoConfig `koanf:"logos"`
	Log   struct {
		Level  string `koanf:"level" usage:"debug, info, warn or error"`
		Format string `koanf:"format" usage:"text or json"`
	} `koanf:"log"`
	StopTimeout time.Duration `koanf:"stop_timeout" usage:"how long one room may take to stop"`
}

// defaults is a configuration that validates and runs everything on this machine.
func defaults() *Config {
	c := &Config{DataDir: ".mintlake", Source: []string{"none"}, Rooms: allRooms(), StopTimeout: 15 * time.Second}
	c.API = api.DefaultConfig()
	c.RateLimits = c.API.RateLimits
	c.Swaps, c.Volume = swaps.DefaultConfig(), volume.DefaultConfig()
	c.Swap.Addr = "127.0.0.1:8081"
	c.RPC.Addr = "127.0.0.1:8899"
	c.Stream.Addr, c.Stream.Publish = "127.0.0.1:10000", true
	c.Metrics.Addr = "127.0.0.1:9600"
	c.Kafka.Addr = "127.0.0.1:9092"
	c.Kafka.Replicas = 1
	c.ClickHouse.Addr = "127.0.0.1:8123"
	c.Geyser.Commitment, c.Geyser.Accounts = "confirmed", true
	c.Enrich.Offchain = true
	c.Enrich.Rereads, c.Enrich.RereadQuiet, c.Enrich.RereadMaxWait, c.Enrich.RereadCalls = true, 10*time.Second, time.Minute, 5
	c.Enrich.MissingPerMinute = 60
	c.Projector.BulkLag, c.Projector.FoldEvery = 30_000, time.Minute
	c.Logos = defaultLogoConfig()
	c.Log.Level, c.Log.Format = "info", "text"
	return c
}

// validate tells all problems at once, each with key, value and rule.
func (c *Config) validate() error {
	var problems []error
	bad := func(key string, value any, rule string) {
		problems = append(problems, fmt.Errorf("%s: %v: %s", key, value, rule))
	}
	if c.DataDir == "" {
		bad("data_dir", `""`, "must name a folder")
	}
	for key, addr := range map[string]string{
		"swap.addr": c.Swap.Addr, "rpc.addr": c.RPC.Addr, "stream.addr": c.Stream.Addr,
		"metrics.addr": c.Metrics.Addr, "kafka.addr": c.Kafka.Addr, "clickhouse.addr": c.ClickHouse.Addr,
	} {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			bad(key, addr, "must be host:port")
		}
	}
	for _, upstream := range c.RPC.Upstream {
		if u, err := url.Parse(upstream); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			bad("rpc.upstream", redactURL(upstream), "must be an http or https URL")
		}
	}
	problems = append(problems, c.validateAPI(bad)...)
	for _, room := range []interface{ Validate() error }{&c.Swaps, &c.Volume} {
		if err := room.Validate(); err != nil {
			problems = append(problems, err)
		}
	}
	oneOf := func(key, value string, allowed ...string) {
		if !slices.Contains(allowed, value) {
			bad(key, value, "must be one of "+strings.Join(allowed, ", "))
		}
	}
	oneOf("geyser.commitment", c.Geyser.Commitment, "confirmed", "finalized")
	oneOf("log.level", c.Log.Level, "debug", "info", "warn", "error")
	oneOf("log.format", c.Log.Format, "text", "json")
	for _, room := range c.Rooms {
		oneOf("rooms", room, allRooms()...)
	}
	if len(c.Source) == 0 {
		bad("source", "[]", "must name at least one source, or none")
	}
	for _, text := range c.Source {
		if _, err := source.ParseSpec(text); err != nil {
			problems = append(problems, err)
		}
	}
	if c.Kafka.Replicas < 1 {
		bad("kafka.replicas", c.Kafka.Replicas, "must be at least 1")
	}
	for key, wait := range map[string]time.Duration{"enrich.reread_quiet": c.Enrich.RereadQuiet, "enrich.reread_max_wait": c.Enrich.RereadMaxWait} {
		if wait <= 0 {
			bad(key, wait, "must be more than 0; enrich.rereads turns re-reads off")
		}
	}
	if c.Enrich.RereadCalls < 1 {
		bad("enrich.reread_calls", c.Enrich.RereadCalls, "must be at least 1; enrich.rereads turns re-reads off")
	}
	if c.Enrich.MissingPerMinute < 0 || c.Enrich.MissingPerMinute > 60_000 {
		bad("enrich.missing_per_minute", c.Enrich.MissingPerMinute, "must be 0 to 60000")
	}
	if c.Projector.BulkLag < 1 {
		bad("projector.bulk_lag", c.Projector.BulkLag, "must be at least 1")
	}
	if c.Projector.FoldEvery <= 0 {
		bad("projector.fold_every", c.Projector.FoldEvery, "must be more than 0")
	}
	c.Logos.validate(bad)
	if c.StopTimeout <= 0 {
		bad("stop_timeout", c.StopTimeout, "must be more than 0")
	}
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(problems...)
}

// redactURL hides what may be a secret in a URL: user, password, path and query.
func redactURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "(not a URL)"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
}
