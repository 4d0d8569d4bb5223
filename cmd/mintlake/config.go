package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mintlake/mintlake/access/hosts"
	"github.com/mintlake/mintlake/access/origins"
	"github.com/mintlake/mintlake/access/proxies"
	"github.com/mintlake/mintlake/api"
	"github.com/mintlake/mintlake/demo"
	"github.com/mintlake/mintlake/ingest/balances"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/nearest"
	"github.com/mintlake/mintlake/logos/fetch"
	"github.com/mintlake/mintlake/projector/swaps"
	"github.com/mintlake/mintlake/solana/slottime"
	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/volume"
)

// Config has every setting of Mintlake. Each key is also an environment variable and a flag: see
// internal/config.
type Config struct {
	DataDir string   `koanf:"data_dir" usage:"folder of the embedded engines' data"`
	Source  []string `koanf:"source" usage:"where the chain comes from: geyser+https://…, rpc+https://…?from=&to=, file:PATH, demo:?tps=&tokens=&seed=, none; repeat for more files" secret:"url"`
	Record  string   `koanf:"record" usage:"record the Geyser stream while it is ingested: a folder, or a new file *.geyser.zst"`
	// CheckLinks is for sources without getGenesisHash. Where a source has it, the genesis hash is
	// checked in any case.
	CheckLinks bool     `koanf:"check_links" usage:"stop when the source's blocks do not continue the chain in the slot ledger"`
	Rooms      []string `koanf:"rooms" usage:"rooms that up runs"`

	AllowedHosts []string `koanf:"allowed_hosts" usage:"host names besides localhost by which loopback addresses may be asked (API, metrics, embedded ClickHouse): registry.example, *.example, * for any; a proxy that keeps the Host header needs it"`

	API        api.Config     `koanf:"api"`
	RateLimits api.RateLimits `koanf:"rate_limits"`
	Swaps      swaps.Config   `koanf:"swaps"`
	Volume     volume.Config  `koanf:"volume"`
	// Balances is read by ingest, the projector and the API.
	Balances balances.Config `koanf:"balances"`
	Swap     SwapConfig      `koanf:"swap"`
	RPC      struct {
		Addr           string        `koanf:"addr" usage:"JSON-RPC gateway; WebSocket subscriptions are served there too"`
		WSAddr         string        `koanf:"ws_addr" usage:"second address for WebSocket subscriptions; empty = the port after rpc.addr, where clients look; off = none"`
		Upstream       []string      `koanf:"upstream" usage:"JSON-RPC servers for enrichment, backfill and the gateway" secret:"url"`
		UpstreamWS     []string      `koanf:"upstream_ws" usage:"WebSockets of JSON-RPC servers, as wss://host, for account, program and log subscriptions; the preferred one first; empty = none" secret:"url"`
		Keys           []string      `koanf:"keys" usage:"accepted keys of the gateway and the stream as NAME:SHA256 (mintlake keys new rpc NAME)"`
		AllowedOrigins []string      `koanf:"allowed_origins" usage:"web origins whose pages may call the JSON-RPC gateway, as swap.allowed_origins"`
		PollInterval   time.Duration `koanf:"poll_interval" usage:"how often the gateway asks each upstream for health and slots while there are calls; each 5s while there are none"`
		MaxLag         int           `koanf:"max_lag" usage:"slots that an upstream may be below the upstreams' median and still be chosen; 0 = those of 10s, as the upstreams' slots tell (50 at 200ms a slot)"`
		SendUpstreams  int           `koanf:"send_upstreams" usage:"upstreams that get a transaction of sendTransaction at once"`
		HedgeShare     float64       `koanf:"hedge_share" usage:"most reads that also go to a second upstream because the first takes longer than 95 % of the method's answers, as a part of all reads; 0 = none"`
		ShareReads     bool          `koanf:"share_reads" usage:"identical reads that are on their way at one time share an upstream's answer"`
		DASAPI         string        `koanf:"das_api" usage:"token API that answers DAS methods about fungible tokens (getAsset, getAssets, getAssetBatch, searchAssets, getAssetsByOwner, getTokenAccounts), as http://127.0.0.1:8080; empty = the one in the same process, if there is one; off = none. Set api.internal_token at both"`
		AnswerBalances bool          `koanf:"answer_balances" usage:"answer getTokenSupply and getTokenLargestAccounts at commitment confirmed from balances, by the token API of rpc.das_api, for mints that are complete"`
		CacheBytes     int           `koanf:"cache_bytes" usage:"memory for answers that cannot change: finalized blocks and transactions, the genesis hash; 0 = none"`
	} `koanf:"rpc"`
	Stream StreamConfig `koanf:"stream"`
	Keys   struct {
		TrustedProxies []string `koanf:"trusted_proxies" usage:"addresses or CIDR prefixes whose X-Forwarded-For is believed, for keys that are for certain addresses (gateway, stream, swap API)"`
	} `koanf:"keys"`
	Admin   AdminConfig `koanf:"admin"`
	Metrics struct {
		Addr  string `koanf:"addr" usage:"Prometheus metrics, /healthz and /readyz"`
		PProf bool   `koanf:"pprof" usage:"serve Go's profiles at /debug/pprof/ of metrics.addr"`
	} `koanf:"metrics"`
	Tracing struct {
		Endpoint    string  `koanf:"endpoint" usage:"OTLP collector that spans are sent to over HTTP, as http://127.0.0.1:4318; empty = tracing is off"`
		SampleRatio float64 `koanf:"sample_ratio" usage:"part of the traces that are kept, 0 to 1"`
	} `koanf:"tracing"`
	Kafka struct {
		Addr     string   `koanf:"addr" usage:"embedded Kafka broker"`
		Brokers  []string `koanf:"brokers" usage:"Kafka brokers to use instead of the embedded one"`
		Replicas int      `koanf:"replicas" usage:"replication factor of new topics on --kafka-brokers"`
		// Partitions must be the same in every process: the number that the topics have.
		Partitions int              `koanf:"partitions" usage:"partitions of the topics on --kafka-brokers that have several; to be chosen before the first start, see docs/sizing.md"`
		TLS        kafka.TLSConfig  `koanf:"tls"`
		SASL       kafka.SASLConfig `koanf:"sasl"`
		// Compression is that of written records. Readers accept any.
		Compression string        `koanf:"compression" usage:"compression of records: none, gzip, snappy, lz4 or zstd"`
		Session     time.Duration `koanf:"session" usage:"how long a silent member of a consumer group keeps its partitions; brokers allow 6s to 30m unless told otherwise"`
		InstanceID  string        `koanf:"instance_id" usage:"name of this process in its consumer groups, which no other process has: if it is back within kafka.session, it keeps its partitions; empty = a restart hands them to other members"`
	} `koanf:"kafka"`
	ClickHouse struct {
		Addr        string               `koanf:"addr" usage:"embedded ClickHouse's HTTP interface"`
		DSN         string               `koanf:"dsn" usage:"ClickHouse to use instead of the embedded one: clickhouse://host:9000/…, http://host:8123/…, or with TLS clickhouse://host:9440/…?secure=true, https://host:8443/…; several as host:port,host:port" secret:"true"`
		Username    string               `koanf:"username" usage:"user at --clickhouse-dsn, where that names none"`
		Password    string               `koanf:"password" usage:"password at --clickhouse-dsn, where that holds none" secret:"true"`
		TLS         clickhouse.TLSConfig `koanf:"tls"`
		Cluster     string               `koanf:"cluster" usage:"name of the ClickHouse cluster behind the DSN; empty for a single server"`
		MemoryBytes int64                `koanf:"memory_bytes" usage:"memory cap of the embedded ClickHouse; 0 = half of the machine, at most 8 GiB"`
		Threads     int                  `koanf:"threads" usage:"threads of one query in the embedded ClickHouse; 0 = all cores"`
		WriteLimit  time.Duration        `koanf:"write_limit" usage:"how long one write may take before it is killed and tried again, with twice the time; at most 2m"`
	} `koanf:"clickhouse"`
	Geyser struct {
		Token      string        `koanf:"token" usage:"x-token of the Geyser provider" secret:"true"`
		Commitment string        `koanf:"commitment" usage:"confirmed or finalized"`
		Accounts   bool          `koanf:"accounts" usage:"subscribe to the accounts of mints and metadata too; goes on without them where the provider refuses"`
		Silence    time.Duration `koanf:"silence" usage:"how long the stream may bring nothing, not even a ping, before it is opened anew; servers ping every 10 to 15s"`
		MaxPause   time.Duration `koanf:"max_pause" usage:"longest pause between two attempts to open the stream"`
	} `koanf:"geyser"`
	Ingest struct {
		Standby bool          `koanf:"standby" usage:"elect one of the ingest processes of a stream; the others stand by. Of mintlake ingest only"`
		Session time.Duration `koanf:"session" usage:"how long a silent leader stays in office; brokers allow 6s to 30m unless told otherwise"`
		// MaxTransactionVersion is below the highest that the code reads only in tests and
		// emergencies.
		MaxTransactionVersion int `koanf:"max_transaction_version" usage:"highest version of transactions that is asked for and read; a block with a higher one is a gap until this is raised or Mintlake is upgraded"`
		// ProgramCheck is short only in tests.
		ProgramCheck time.Duration `koanf:"program_check" usage:"how often the upstream is asked whether programs that are decoded were deployed anew"`
	} `koanf:"ingest"`
	Enrich struct {
		Offchain         bool          `koanf:"offchain" usage:"fetch off-chain metadata"`
		AllowPrivate     []string      `koanf:"allow_private" usage:"host:port of private addresses that off-chain metadata may come from"`
		IPFSGateways     []string      `koanf:"ipfs_gateways" usage:"URLs that an IPFS identifier is appended to, for metadata and logos; the preferred one first"`
		ArweaveGateways  []string      `koanf:"arweave_gateways" usage:"URLs that an Arweave transaction is appended to, for metadata and logos; the preferred one first"`
		Rereads          bool          `koanf:"rereads" usage:"read the accounts of changed mints again, when there is an upstream"`
		RereadQuiet      time.Duration `koanf:"reread_quiet" usage:"how long a changed mint must be quiet before it is read again"`
		RereadMaxWait    time.Duration `koanf:"reread_max_wait" usage:"how long a mint that keeps changing waits to be read again"`
		MissingPerMinute int           `koanf:"missing_per_minute" usage:"most documents a minute asked for of tokens that were bootstrapped and have none, each host at its own pace; 0 = none"`
		DocumentSockets  int           `koanf:"document_sockets" usage:"documents fetched at once; one host gets an eighth of them at most, an IPFS or Arweave gateway a quarter, and the walk over missing documents three quarters"`
		DocumentBytes    int64         `koanf:"document_bytes" usage:"bytes a second that the walk over missing documents reads"`
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

// instanceID matches what Kafka accepts as group.instance.id, and an empty setting.
var instanceID = regexp.MustCompile(`^[A-Za-z0-9._-]{0,249}$`)

// defaults returns a valid configuration that runs everything on this machine.
func defaults() *Config {
	c := &Config{DataDir: ".mintlake", Source: []string{"none"}, Rooms: allRooms(), CheckLinks: true, StopTimeout: 15 * time.Second}
	c.API = api.DefaultConfig()
	c.RateLimits = c.API.RateLimits
	c.Swaps, c.Volume, c.Balances = swaps.DefaultConfig(), volume.DefaultConfig(), balances.DefaultConfig()
	c.Swap = defaultSwapConfig()
	c.RPC.Addr = "127.0.0.1:8899"
	c.RPC.PollInterval, c.RPC.SendUpstreams = slottime.Default, 1
	c.RPC.HedgeShare, c.RPC.ShareReads, c.RPC.CacheBytes = 0.05, true, 64<<20
	c.Stream = defaultStreamConfig()
	// A key works from any program. So web pages of this machine need no further permission; other
	// pages must be named by the operator.
	c.RPC.AllowedOrigins = origins.ThisMachine()
	c.Admin.Addr = "127.0.0.1:8090"
	c.Metrics.Addr = "127.0.0.1:9600"
	c.Tracing.SampleRatio = 0.05
	c.Kafka.Addr = "127.0.0.1:9092"
	c.Kafka.Replicas, c.Kafka.Partitions = 1, 4
	c.Kafka.Compression, c.Kafka.Session = kafka.DefaultCompression, 10*time.Second
	c.ClickHouse.WriteLimit = clickhouse.DefaultWriteLimit
	c.ClickHouse.Addr = "127.0.0.1:8123"
	c.Geyser.Commitment, c.Geyser.Accounts = "confirmed", true
	c.Geyser.Silence, c.Geyser.MaxPause = 30*time.Second, 30*time.Second
	c.Ingest.Standby, c.Ingest.Session, c.Ingest.ProgramCheck = true, 6*time.Second, time.Hour
	c.Ingest.MaxTransactionVersion = int(txwire.Highest)
	c.Enrich.Offchain = true
	c.Enrich.IPFSGateways, c.Enrich.ArweaveGateways = fetch.DefaultIPFSGateways(), fetch.DefaultArweaveGateways()
	c.Enrich.Rereads, c.Enrich.RereadQuiet, c.Enrich.RereadMaxWait, c.Enrich.RereadCalls = true, 10*time.Second, time.Minute, 5
	c.Enrich.MissingPerMinute, c.Enrich.DocumentSockets, c.Enrich.DocumentBytes = 120_000, 256, 8<<20
	c.Projector.BulkLag, c.Projector.FoldEvery = 30_000, time.Minute
	c.Logos = defaultLogoConfig()
	c.Log.Level, c.Log.Format = "info", "text"
	return c
}

// allTransactions reports whether the stream has all transactions, not only those of token
// programs.
func (c *Config) allTransactions() bool { return c.Stream.Publish && c.Stream.Transactions == "all" }

// validate returns an error that joins all problems, each with key, value and rule.
func (c *Config) validate() error {
	var problems []error
	bad := func(key string, value any, rule string) {
		problems = append(problems, fmt.Errorf("%s: %v: %s", key, value, rule))
	}
	if c.DataDir == "" {
		bad("data_dir", `""`, "must name a folder")
	}
	c.validateSurfaces(bad)
	c.validateRPC(bad)
	c.Stream.validate(bad)
	c.Swap.validate(bad)
	c.Admin.validate(bad)
	problems = append(problems, c.validateAPI(bad)...)
	for _, room := range []interface{ Validate() error }{&c.Swaps, &c.Volume, &c.Balances} {
		if err := room.Validate(); err != nil {
			problems = append(problems, err)
		}
	}
	oneOf(bad, "geyser.commitment", c.Geyser.Commitment, "confirmed", "finalized")
	oneOf(bad, "log.level", c.Log.Level, "debug", "info", "warn", "error")
	oneOf(bad, "log.format", c.Log.Format, "text", "json")
	for _, room := range c.Rooms {
		oneOf(bad, "rooms", room, allRooms()...)
	}
	if traces := c.tracingConfig(); traces.Validate() != nil {
		problems = append(problems, traces.Validate())
	}
	problems = append(problems, c.validateSource(bad)...)
	problems = append(problems, c.validateClickHouse()...)
	problems = append(problems, c.validateKafka(bad)...)
	c.validateEnrich(bad)
	for key, wait := range map[string]time.Duration{
		"geyser.silence": c.Geyser.Silence, "geyser.max_pause": c.Geyser.MaxPause,
	} {
		if wait <= 0 {
			bad(key, wait, "must be more than 0")
		}
	}
	if c.ClickHouse.WriteLimit < time.Second || c.ClickHouse.WriteLimit > clickhouse.LongestWriteLimit {
		bad("clickhouse.write_limit", c.ClickHouse.WriteLimit, "must be 1s to 2m")
	}
	for key, session := range map[string]time.Duration{"ingest.session": c.Ingest.Session, "kafka.session": c.Kafka.Session} {
		if session < time.Second || session > 30*time.Minute {
			bad(key, session, "must be 1s to 30m")
		}
	}
	if highest := int(txwire.Highest); c.Ingest.MaxTransactionVersion < 0 || c.Ingest.MaxTransactionVersion > highest {
		bad("ingest.max_transaction_version", c.Ingest.MaxTransactionVersion, fmt.Sprintf("must be 0 to %d, the highest that this version of Mintlake reads", highest))
	}
	if c.Ingest.ProgramCheck < time.Second {
		bad("ingest.program_check", c.Ingest.ProgramCheck, "must be at least 1s")
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

// validateSurfaces checks addresses to listen on, allowed origins, allowed hosts and trusted
// proxies.
func (c *Config) validateSurfaces(bad func(key string, value any, rule string)) {
	for key, addr := range map[string]string{
		"swap.addr": c.Swap.Addr, "rpc.addr": c.RPC.Addr, "stream.addr": c.Stream.Addr,
		"metrics.addr": c.Metrics.Addr, "kafka.addr": c.Kafka.Addr, "clickhouse.addr": c.ClickHouse.Addr,
	} {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			bad(key, addr, "must be host:port")
		}
	}
	for key, list := range map[string][]string{
		"swap.allowed_origins": c.Swap.AllowedOrigins, "rpc.allowed_origins": c.RPC.AllowedOrigins, "stream.allowed_origins": c.Stream.AllowedOrigins,
	} {
		if _, err := origins.Parse(list); err != nil {
			bad(key, list, err.Error())
		}
	}
	if err := hosts.Check(c.AllowedHosts); err != nil {
		bad("allowed_hosts", c.AllowedHosts, err.Error())
	}
	if _, err := proxies.Parse(c.Keys.TrustedProxies); err != nil {
		bad("keys.trusted_proxies", c.Keys.TrustedProxies, err.Error())
	}
}

func (c *Config) validateSource(bad func(key string, value any, rule string)) (problems []error) {
	if len(c.Source) == 0 {
		bad("source", "[]", "must name at least one source, or none")
	}
	for _, text := range c.Source {
		spec, err := source.ParseSpec(text)
		if err == nil && spec.Kind == source.KindDemo {
			_, err = demo.ParseSource(text)
		}
		if err != nil {
			problems = append(problems, err)
		}
	}
	return problems
}

func (c *Config) validateKafka(bad func(key string, value any, rule string)) (problems []error) {
	if _, err := kafka.NewSecurity(c.Kafka.TLS, c.Kafka.SASL); err != nil {
		problems = append(problems, err)
	}
	if len(c.Kafka.Brokers) == 0 && (c.Kafka.TLS != kafka.TLSConfig{} || c.Kafka.SASL != kafka.SASLConfig{}) {
		bad("kafka.brokers", "[]", "must name the brokers that kafka.tls and kafka.sasl are for: the embedded one listens on loopback, in plain text")
	}
	if c.Kafka.Partitions < 1 || c.Kafka.Partitions > 256 {
		bad("kafka.partitions", c.Kafka.Partitions, "must be 1 to 256")
	}
	if len(c.Kafka.Brokers) == 0 && c.Kafka.Partitions != 4 {
		bad("kafka.brokers", "[]", "must name the brokers that kafka.partitions is for: the embedded one has 4")
	}
	if !instanceID.MatchString(c.Kafka.InstanceID) {
		bad("kafka.instance_id", c.Kafka.InstanceID, "must be at most 249 letters, digits, dots, dashes or underscores")
	}
	if c.Kafka.Replicas < 1 {
		bad("kafka.replicas", c.Kafka.Replicas, "must be at least 1")
	}
	if !slices.Contains(kafka.Compressions(), c.Kafka.Compression) {
		bad("kafka.compression", c.Kafka.Compression, "must be one of "+strings.Join(kafka.Compressions(), ", "))
	}
	return problems
}

func (c *Config) validateEnrich(bad func(key string, value any, rule string)) {
	for key, gateways := range map[string][]string{"enrich.ipfs_gateways": c.Enrich.IPFSGateways, "enrich.arweave_gateways": c.Enrich.ArweaveGateways} {
		if _, err := fetch.ParseGateways(gateways); err != nil {
			bad(key, len(gateways), err.Error())
		}
	}
	for key, wait := range map[string]time.Duration{"enrich.reread_quiet": c.Enrich.RereadQuiet, "enrich.reread_max_wait": c.Enrich.RereadMaxWait} {
		if wait <= 0 {
			bad(key, wait, "must be more than 0; enrich.rereads turns re-reads off")
		}
	}
	if c.Enrich.RereadCalls < 1 {
		bad("enrich.reread_calls", c.Enrich.RereadCalls, "must be at least 1; enrich.rereads turns re-reads off")
	}
	if c.Enrich.MissingPerMinute < 0 || c.Enrich.MissingPerMinute > 600_000 {
		bad("enrich.missing_per_minute", c.Enrich.MissingPerMinute, "must be 0 to 600000")
	}
	if c.Enrich.DocumentSockets < 8 || c.Enrich.DocumentSockets > 4096 {
		bad("enrich.document_sockets", c.Enrich.DocumentSockets, "must be 8 to 4096")
	}
	if c.Enrich.DocumentBytes < 1<<10 {
		bad("enrich.document_bytes", c.Enrich.DocumentBytes, "must be at least 1024")
	}
}

// redactURL removes what may be a secret from a URL: user, password, path and query.
func redactURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "(not a URL)"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
}

// oneOf reports a problem if value is not one of allowed, with a hint at the nearest of them.
func oneOf(bad func(key string, value any, rule string), key, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		bad(key, value, "must be one of "+strings.Join(allowed, ", ")+nearest.Hint(value, allowed))
	}
}
