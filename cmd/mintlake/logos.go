package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/client/cli"
	"github.com/mintlake/mintlake/internal/factrecord"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/logos/decoder"
	"github.com/mintlake/mintlake/logos/fetch"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

func logosCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "logos", Short: "Decide what logo a token shows",
		Long: `Decide what logo a token shows. A decision is an event on registry.enrichments.v1, so that all API nodes, the registry and ClickHouse learn of it.

Without --kafka-brokers it is told to the broker of the "mintlake up" that runs on this machine (--kafka-addr).`,
	}
	var none, own bool
	set := configured(&cobra.Command{
		Use:   "set MINT [URL]",
		Short: "Show the image at URL (http, https, ipfs, ar or data), or with --none no logo, or with --own the token's own again",
		Example: `  mintlake logos set EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v https://example.org/usdc.svg
  mintlake logos set EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v --none`,
		Args: cli.Arguments,
	}, func(ctx context.Context, cfg *Config, logger *slog.Logger, args []string) error {
		url := ""
		if len(args) == 2 {
			url = args[1]
		}
		if chosen := btoi(url != "") + btoi(none) + btoi(own); chosen != 1 {
			return errors.New("logos set: give a URL, or --none, or --own")
		}
		return decide(ctx, cfg, logger, args[0], func(last *eventspb.LogoOverride, version uint64) (*eventspb.LogoOverride, error) {
			if err := checkLogoURL(cfg, url); err != nil {
				return nil, err
			}
			return &eventspb.LogoOverride{Version: version, Url: url, None: none, Purge: last.GetPurge()}, nil
		})
	})
	set.Flags().BoolVar(&none, "none", false, "the token shows no logo")
	set.Flags().BoolVar(&own, "own", false, "the token shows its own logo again")
	purge := configured(&cobra.Command{
		Use: "purge MINT", Short: "Forget what was fetched as the token's logo, on every node, and fetch it anew", Args: cli.Arguments,
	}, func(ctx context.Context, cfg *Config, logger *slog.Logger, args []string) error {
		return decide(ctx, cfg, logger, args[0], func(last *eventspb.LogoOverride, version uint64) (*eventspb.LogoOverride, error) {
			return &eventspb.LogoOverride{Version: version, Url: last.GetUrl(), None: last.GetNone(), Purge: version}, nil
		})
	})
	cmd.AddCommand(set, purge)
	return cmd
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// maxDecisionURL bounds the URL that an operator sets as a token's logo, since every node keeps it.
// It leaves room for a data URI with a small picture.
const maxDecisionURL = 16 << 10

// checkLogoURL returns an error for a URL that cannot be fetched. It checks the picture in a data
// URI too.
func checkLogoURL(cfg *Config, url string) error {
	if url == "" {
		return nil
	}
	if len(url) > maxDecisionURL {
		return fmt.Errorf("logos set: the URL is longer than %d bytes", maxDecisionURL)
	}
	fetcher, err := fetch.New(fetch.Config{AllowPrivate: cfg.Enrich.AllowPrivate}, fetch.Deps{})
	if err != nil {
		return err
	}
	if fetcher.Host(url) != "" {
		return nil // the room that checks logos finds out whether the image exists
	}
	// Only a data URI has no host, so this connects to nothing. Other texts fail here.
	response, err := fetcher.Fetch(context.Background(), url)
	if err != nil {
		return fmt.Errorf("logos set: %w", err)
	}
	pool, err := decoder.New(decoder.Config{Processes: 1}, decoder.Deps{})
	if err != nil {
		return err
	}
	defer pool.Close()
	if _, err := pool.Inspect(context.Background(), response.Body); err != nil {
		return fmt.Errorf("logos set: %w", err)
	}
	return nil
}

// decide writes a decision about the mint that text names. next gets the last decision, which is
// nil if there is none, and the version of the new one. It returns the new decision.
func decide(ctx context.Context, cfg *Config, logger *slog.Logger, text string, next func(*eventspb.LogoOverride, uint64) (*eventspb.LogoOverride, error)) error {
	mint, err := pubkey.Parse(text)
	if err != nil {
		return fmt.Errorf("logos: %s is no mint: %w", text, err)
	}
	brokers := cfg.Kafka.Brokers
	if len(brokers) == 0 {
		brokers = []string{cfg.Kafka.Addr}
	}
	deps, err := kafkaDeps(cfg, logger, nil)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	last, err := lastDecision(ctx, brokers, deps, mint)
	if err != nil {
		return fmt.Errorf("logos: read earlier decisions from %v: %w", brokers, err)
	}
	// The version is higher than the last one, even if the clock of the last decision was ahead.
	decision, err := next(last, max(uint64(time.Now().UnixMilli()), last.GetVersion()+1))
	if err != nil {
		return err
	}
	record, err := factrecord.Record(&eventspb.Enrichment{Mint: mint[:], Fact: &eventspb.Enrichment_LogoOverride{LogoOverride: decision}}, time.Now())
	if err != nil {
		return fmt.Errorf("logos: %w", err)
	}
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers}, deps)
	if err != nil {
		return err
	}
	defer producer.Close()
	if err := producer.Produce(ctx, record); err != nil {
		return fmt.Errorf("logos: write: %w", err)
	}
	fmt.Fprintf(os.Stdout, "decision %d about %s is written\n", decision.GetVersion(), mint)
	return nil
}

// typeLogoOverride is the type of a decision's record.
var typeLogoOverride = factrecord.Type(&eventspb.Enrichment{Fact: &eventspb.Enrichment_LogoOverride{}})

// lastDecision returns the last decision about a mint; it reads the whole topic. The next decision
// needs it, because a decision replaces the last one completely.
func lastDecision(ctx context.Context, brokers []string, deps kafka.Deps, mint pubkey.Key) (*eventspb.LogoOverride, error) {
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: brokers}, deps)
	if err != nil {
		return nil, err
	}
	defer admin.Close()
	topics := []string{schemas.TopicEnrichments}
	asking, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	at, ends, err := kafka.Bounds(asking, admin, topics...)
	if err != nil {
		return nil, err
	}
	tailer, err := kafka.NewTailer(kafka.TailerConfig{Brokers: brokers, Topics: topics, Start: maps.Clone(at), Name: "logos-command"}, deps)
	if err != nil {
		return nil, err
	}
	defer tailer.Close()
	var last *eventspb.LogoOverride
	err = kafka.ReadTo(ctx, tailer, at, ends, 5_000, func(records []kafka.Record) error {
		for i := range records {
			if found := decisionAbout(&records[i], mint); found.GetVersion() > last.GetVersion() {
				last = found
			}
		}
		return nil
	})
	return last, err
}

// decisionAbout returns the decision in a record, or nil if the record is not a decision about the
// mint.
func decisionAbout(record *kafka.Record, mint pubkey.Key) *eventspb.LogoOverride {
	if kind := record.Header(schemas.HeaderType); kind != nil && string(kind) != typeLogoOverride {
		return nil
	}
	fact := &eventspb.Enrichment{}
	if proto.Unmarshal(record.Value, fact) != nil || string(fact.GetMint()) != string(mint[:]) {
		return nil
	}
	return fact.GetLogoOverride()
}
