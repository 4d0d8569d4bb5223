// Command server is an API node over a made-up registry in memory. test-openapi and bench-http send
// their requests to it.
//
// In: how many tokens, and the settings of the node that matter to a test. Out: the address on
// standard output once the node is ready, then HTTP until it is interrupted. Guarantees: the same
// number of tokens is the same registry each time; neither Kafka nor ClickHouse is needed.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/mr-tron/base58"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/pflag"

	"github.com/mintlake/mintlake/api"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/apitest"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// exampleMint is the mint that the OpenAPI document's examples ask for.
const exampleMint = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench-server:", err)
		os.Exit(1)
	}
}

func run() error {
	cfg := api.DefaultConfig()
	tokens := pflag.Int("tokens", 1_000, "tokens of the registry")
	pflag.StringVar(&cfg.Addr, "addr", "127.0.0.1:0", "address; port 0 takes a free one")
	pflag.BoolVar(&cfg.RateLimits.Enabled, "limits", false, "limit requests per client")
	pflag.StringVar(&cfg.RateLimits.SharedURL, "shared-url", "", "Redis to share the limits through")
	pflag.StringSliceVar(&cfg.TrustedProxies, "trusted-proxies", nil, "addresses whose X-Forwarded-For is believed")
	pflag.IntVar(&cfg.MaxConnections, "max-connections", cfg.MaxConnections, "most connections")
	pflag.DurationVar(&cfg.Streams.MaxAge, "stream-age", cfg.Streams.MaxAge, "how long a stream lasts")
	metrics := pflag.String("metrics-addr", "", "address of the metrics; empty: none")
	pflag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log, history := registryOf(*tokens)
	registry := prometheus.NewRegistry()
	node, err := api.New(cfg, api.Deps{
		Offsets: log, Producer: log, History: history, Market: noTrades{}, Registerer: registry,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		OpenTail: func(topics []string, start map[kafka.TopicPartition]int64) (kafka.TailReader, error) {
			return log.Tail(topics, start), nil
		},
	})
	if err != nil {
		return err
	}
	if *metrics != "" {
		go func() { _ = http.ListenAndServe(*metrics, promhttp.HandlerFor(registry, promhttp.HandlerOpts{})) }() //nolint:gosec // a test's, on loopback
	}
	go announce(ctx, node)
	return node.Run(ctx)
}

// announce prints the address when the registry is loaded.
func announce(ctx context.Context, node *api.Server) {
	for !node.Ready() && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
	}
	fmt.Println("http://" + node.Addr())
}

// registryOf makes up a registry. The first token is exampleMint; every fourth has all fields; the
// first thousand have a history.
func registryOf(tokens int) (*apitest.Log, *apitest.History) {
	log, history := apitest.NewLog(), &apitest.History{}
	now := time.Now()
	for i := range tokens {
		mint := apitest.Mint(i)
		if i == 0 {
			mint, _ = base58.Decode(exampleMint) // a constant
		}
		address, slot := base58.Encode(mint), uint64(1_000+i)
		created, named := apitest.Created(mint, slot), apitest.Named(mint, slot, "SYM"+strconv.Itoa(i), "Name of token "+strconv.Itoa(i))
		facts := &eventspb.Enrichment{Mint: mint, Slot: slot + 1, Fact: &eventspb.Enrichment_Offchain{Offchain: &eventspb.OffchainMetadata{
			Uri: []byte("https://example.org/x.json"), Description: "A token that was made up for a measurement, number " + strconv.Itoa(i),
			Image: "https://images.example.org/logo/" + address + ".png", ExternalUrl: "https://token-" + strconv.Itoa(i) + ".example.org",
			Extensions: map[string]string{"website": "https://example.org", "twitter": "https://x.example/" + address}, Tags: []string{"made-up"},
		}}}
		log.Message(schemas.TopicTokenEvents, address, created, now)
		log.Message(schemas.TopicTokenEvents, address, named, now)
		if i%4 == 0 {
			log.Message(schemas.TopicEnrichments, address, facts, now)
		}
		if i >= 1_000 {
			continue
		}
		history.Event(created)
		history.Event(named)
		if i%4 == 0 {
			history.Read(facts, "off_chain", "off_chain")
		}
	}
	return log, history
}
