package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/solana/txwire"
)

func TestDefaultsAreValid(t *testing.T) {
	require.NoError(t, defaults().validate())
}

// Each rule refuses its bad value and says which key it is about.
func TestEachRuleHasABadValue(t *testing.T) {
	for key, spoil := range map[string]func(*Config){
		"stream.transactions":     func(c *Config) { c.Stream.Transactions = "votes" },
		"stream.spill_bytes":      func(c *Config) { c.Stream.SpillBytes = -1 },
		"data_dir":                func(c *Config) { c.DataDir = "" },
		"api.addr":                func(c *Config) { c.API.Addr = "8080" },
		"clickhouse.addr":         func(c *Config) { c.ClickHouse.Addr = "" },
		"rpc.ws_addr":             func(c *Config) { c.RPC.WSAddr = "8900" },
		"rpc.upstream":            func(c *Config) { c.RPC.Upstream = []string{"ftp://example.org/?key=hunter2"} },
		"api.trusted_proxies":     func(c *Config) { c.API.TrustedProxies = []string{"proxy"} },
		"api.max_connections":     func(c *Config) { c.API.MaxConnections = 0 },
		"api.drain_time":          func(c *Config) { c.API.DrainTime = c.StopTimeout },
		"stream.tls":              func(c *Config) { c.Stream.TLS.CertFile = "/nowhere.pem" },
		"stream.max_subscribers":  func(c *Config) { c.Stream.MaxSubscribers = 0 },
		"stream.max_replays":      func(c *Config) { c.Stream.MaxReplays = 0 },
		"stream.max_connections":  func(c *Config) { c.Stream.MaxConnections = 0 },
		"connections_per_address": func(c *Config) { c.Stream.MaxPerAddress = 0 },
		"api.body_limit":          func(c *Config) { c.API.BodyLimit = 1 },
		"rate_limits.search":      func(c *Config) { c.RateLimits.Search = 0 },
		"rate_limits.shared_url":  func(c *Config) { c.RateLimits.SharedURL = "http://:hunter2@redis" },
		"geyser.commitment":       func(c *Config) { c.Geyser.Commitment = "processed" },
		"tracing.endpoint":        func(c *Config) { c.Tracing.Endpoint = "localhost:4317" },
		"tracing.sample_ratio":    func(c *Config) { c.Tracing.SampleRatio = 1.5 },
		"log.level":               func(c *Config) { c.Log.Level = "loud" },
		"log.format":              func(c *Config) { c.Log.Format = "xml" },
		"source":                  func(c *Config) { c.Source = nil },
		"source geyser":           func(c *Config) { c.Source = []string{"geyser+https://example.org/?x-token=hunter2"} },
		"clickhouse.write_limit":  func(c *Config) { c.ClickHouse.WriteLimit = time.Millisecond },
		"clickhouse dsn":          func(c *Config) { c.ClickHouse.DSN = "ftp://a:hunter2@h" },
		"clickhouse.tls": func(c *Config) {
			c.ClickHouse.DSN, c.ClickHouse.TLS.CAFile = "http://a:hunter2@h", "ca.pem"
		},
		"clickhouse.cluster": func(c *Config) { c.ClickHouse.Cluster = "main" },
		"clickhouse.dsn":     func(c *Config) { c.ClickHouse.Password = "hunter2" },
		"kafka.brokers":      func(c *Config) { c.Kafka.TLS.Enabled = true },
		"kafka.tls.ca_file":  func(c *Config) { c.Kafka.TLS = kafka.TLSConfig{Enabled: true, CAFile: "/nowhere"} },
		"kafka.sasl.mechanism": func(c *Config) {
			c.Kafka.SASL = kafka.SASLConfig{Mechanism: "magic", Username: "a", Password: "hunter2"}
		},
		"kafka.partitions":        func(c *Config) { c.Kafka.Partitions = 0 },
		"that kafka.partitions":   func(c *Config) { c.Kafka.Partitions = 8 },
		"kafka.replicas":          func(c *Config) { c.Kafka.Replicas = 0 },
		"kafka.session":           func(c *Config) { c.Kafka.Session = time.Hour },
		"kafka.instance_id":       func(c *Config) { c.Kafka.InstanceID = "node 1" },
		"geyser.silence":          func(c *Config) { c.Geyser.Silence = 0 },
		"geyser.max_pause":        func(c *Config) { c.Geyser.MaxPause = -1 },
		"enrich.ipfs_gateways":    func(c *Config) { c.Enrich.IPFSGateways = []string{"ipfs.io"} },
		"enrich.arweave_gateways": func(c *Config) { c.Enrich.ArweaveGateways = []string{"ftp://arweave.net/"} },
		"swap.state_ttl":          func(c *Config) { c.Swap.StateTTL = 0 },
		"swap.pools_ttl":          func(c *Config) { c.Swap.PoolsTTL = 0 },
		"kafka.compression":       func(c *Config) { c.Kafka.Compression = "rar" },
		"ingest.session":          func(c *Config) { c.Ingest.Session = time.Millisecond },
		"ingest.program_check":    func(c *Config) { c.Ingest.ProgramCheck = 0 },
		"missing_per_minute":      func(c *Config) { c.Enrich.MissingPerMinute = -1 },
		"document_sockets":        func(c *Config) { c.Enrich.DocumentSockets = 7 },
		"document_bytes":          func(c *Config) { c.Enrich.DocumentBytes = 0 },
		"max_transaction_version": func(c *Config) { c.Ingest.MaxTransactionVersion = int(txwire.Highest) + 1 },
		"projector.bulk_lag":      func(c *Config) { c.Projector.BulkLag = 0 },
		"projector.fold_every":    func(c *Config) { c.Projector.FoldEvery = 0 },
		"swaps.signature_days":    func(c *Config) { c.Swaps.SignatureDays = -1 },
		"swap.state":              func(c *Config) { c.Swap.State = "streams" },
		"swap.trust":              func(c *Config) { c.Swap.Trust = []string{"pumpswap"} },
		"swap.max_pairs":          func(c *Config) { c.Swap.MaxPairs = 0 },
		"swap.hubs":               func(c *Config) { c.Swap.Hubs = []string{"usdc"} },
		"swap.least_depth":        func(c *Config) { c.Swap.LeastDepth = 0 },
		"swap.max_pools":          func(c *Config) { c.Swap.MaxPools = 0 },
		"swap.allowed_origins":    func(c *Config) { c.Swap.AllowedOrigins = []string{"app.example"} },
		"rpc.poll_interval":       func(c *Config) { c.RPC.PollInterval = 0 },
		"rpc.max_lag":             func(c *Config) { c.RPC.MaxLag = -1 },
		"rpc.send_upstreams":      func(c *Config) { c.RPC.SendUpstreams = 0 },
		"rpc.upstream_ws":         func(c *Config) { c.RPC.UpstreamWS = []string{"https://example.org/?key=hunter2"} },
		"rpc.das_api":             func(c *Config) { c.RPC.DASAPI = "api.example/?key=hunter2" },
		"api.internal_token":      func(c *Config) { c.API.InternalToken = "hunter2" },
		"rpc.hedge_share":         func(c *Config) { c.RPC.HedgeShare = 1.5 },
		"rpc.cache_bytes":         func(c *Config) { c.RPC.CacheBytes = -1 },
		"rpc.allowed_origins":     func(c *Config) { c.RPC.AllowedOrigins = []string{"*", "https://app.example"} },
		"stream.allowed_origins":  func(c *Config) { c.Stream.AllowedOrigins = []string{"https://app.example/page"} },
		"keys.trusted_proxies":    func(c *Config) { c.Keys.TrustedProxies = []string{"proxy"} },
		"admin.addr":              func(c *Config) { c.Admin.Addr = "0.0.0.0:8090" },
		"admin.token":             func(c *Config) { c.Admin.Token = "hunter2" },
		"allowed_hosts":           func(c *Config) { c.AllowedHosts = []string{"https://registry.example"} },
		"rooms":                   func(c *Config) { c.Rooms = []string{"kitchen"} },
		"stop_timeout":            func(c *Config) { c.StopTimeout = 0 },
		"reread_quiet":            func(c *Config) { c.Enrich.RereadQuiet = 0 },
		"reread_max_wait":         func(c *Config) { c.Enrich.RereadMaxWait = -1 },
		"reread_calls":            func(c *Config) { c.Enrich.RereadCalls = 0 },
		"swap.lookup_tables":      func(c *Config) { c.Swap.LookupTables = []string{"raydium"} },
	} {
		c := defaults()
		spoil(c)
		err := c.validate()
		require.ErrorContains(t, err, key)
		require.NotContains(t, err.Error(), "hunter2", "no secret in an error")
	}
}

// TestProcessedNeedsAGeyserServer where the stream is served: that is told before anything starts,
// and by config. Other rooms may share the setting.
func TestProcessedNeedsAGeyserServer(t *testing.T) {
	const told = "stream.processed: no source is a Geyser server"
	for text, serves := range map[string]bool{"none": false, "rpc+https://example.org": false, "geyser+https://example.org": true, "demo:": true} {
		_, err := runCommand(t, "config", "--stream-processed", "--source", text)
		if serves {
			require.NoError(t, err, text)
		} else {
			require.ErrorContains(t, err, told, text)
		}
	}
	_, err := runCommand(t, "config", "--stream-processed", "--rooms", "ingest,api")
	require.NoError(t, err)
	c := defaults()
	c.API.Addr, c.RPC.Addr, c.Stream.Addr, c.Metrics.Addr = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	c.Stream.Processed = true
	require.ErrorContains(t, checkStart(c, []string{roomGateway}, false), told)
	require.NoError(t, checkStart(c, []string{roomAPI}, false))
	c.Source = []string{"geyser+https://example.org"}
	require.NoError(t, checkStart(c, []string{roomGateway}, false))
}

// TestAStreamWithoutAnUpstreamIsTold: it runs, and config --check says what that costs.
func TestAStreamWithoutAnUpstreamIsTold(t *testing.T) {
	for _, c := range []struct {
		args  []string
		costs bool
	}{
		{[]string{"--source", "geyser+https://example.org"}, true},
		{[]string{"--source", "geyser+https://example.org", "--rpc-upstream", "https://example.org"}, false},
		{[]string{"--source", "demo:"}, false},
		{[]string{"--source", "rpc+https://example.org"}, false},
	} {
		out, err := runCommand(t, append([]string{"config", "--check"}, c.args...)...)
		require.NoError(t, err)
		require.Equal(t, c.costs, strings.Contains(out, "the swap API finds no pools"), "%v: %s", c.args, out)
	}
}

// TestTheCommitmentOfBlocksIsThatOfTheirSource: the stream and the audit name it.
func TestTheCommitmentOfBlocksIsThatOfTheirSource(t *testing.T) {
	for _, c := range []struct {
		setting string
		sources []string
		want    string
	}{
		{"confirmed", nil, "confirmed"},
		{"finalized", []string{"none"}, "finalized"},
		{"finalized", []string{"demo:"}, "finalized"},
		{"confirmed", []string{"geyser+https://example.org?commitment=finalized"}, "finalized"},
		{"finalized", []string{"geyser+https://example.org?commitment=confirmed"}, "confirmed"},
		{"finalized", []string{"rpc+https://example.org"}, "confirmed"},
		{"confirmed", []string{"rpc+https://example.org?commitment=finalized"}, "finalized"},
		{"finalized", []string{"rpc+https://example.org", "file:blocks"}, "confirmed"},
		{"finalized", []string{"file:blocks", "rpc+https://example.org"}, "confirmed"},
	} {
		cfg := defaults()
		cfg.Geyser.Commitment, cfg.Source = c.setting, c.sources
		require.Equal(t, c.want, cfg.blockCommitment(), "%s %s", c.setting, c.sources)
	}
}

func TestAllProblemsAreToldAtOnce(t *testing.T) {
	c := defaults()
	c.DataDir, c.Log.Level, c.Kafka.Replicas = "", "loud", -1
	err := c.validate()
	for _, key := range []string{"data_dir", "log.level", "kafka.replicas"} {
		require.ErrorContains(t, err, key)
	}
}
