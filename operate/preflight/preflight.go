// Package preflight asks the endpoints of a chain what they offer, before Mintlake relies on them.
//
// In: a source and JSON-RPC upstreams, all of which may be hostile. Out: a report: what works and
// what does not, and from a dry run of ingest what a day costs in calls, bytes and disk.
// Guarantees: every question has a bound of time and of bytes. Nothing is written but a temporary
// folder, which is removed. No URL with a key, and no control character of a server, is in the
// report.
package preflight

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/solana"
)

// Config says which endpoints are asked, and what Mintlake will want of them.
type Config struct {
	// Source is a Geyser or an rpc source.
	Source source.Spec
	// Token is the x-token of the Geyser server; empty = none.
	Token string
	// Commitment is confirmed or finalized.
	Commitment string
	// AllTransactions: see geyser.Config. AccountUpdates asks for the accounts of mints too.
	AllTransactions, AccountUpdates bool
	// Upstreams are JSON-RPC servers, and UpstreamsWS their WebSockets.
	Upstreams, UpstreamsWS []string
	// For is how long the dry run of ingest takes; 0 leaves out the dry run, and so the Forecast.
	For time.Duration
	// Wait bounds the answer to one question. Default 10 s.
	Wait time.Duration
	Use
}

// Use is what Mintlake will do with the endpoints.
type Use struct {
	// Gateway says that the gateway runs, which asks each upstream for its slots. Swap says that
	// the swap API runs, which reads new pools.
	Gateway, Swap bool
	// RereadCalls is the most calls a second for changed mints; 0 if they are not read again.
	RereadCalls int
	// RereadQuiet and RereadMaxWait: see enrich.RereadConfig.
	RereadQuiet, RereadMaxWait time.Duration
	// Documents says that off-chain documents are fetched. MissingPerMinute is how many documents a
	// minute are fetched at most of those that were never read.
	Documents        bool
	MissingPerMinute int
	// Tokens is how many tokens wait for their document. HostRate is how many documents a second
	// the host with most of them bears.
	Tokens   int64
	HostRate float64
	// Compression is that of Kafka's records.
	Compression string
}

// maxFor bounds Config.For: its records lie in a temporary folder.
const maxFor = 10 * time.Minute

// State is what a check found.
type State string

// States, from best to worst. Unknown means that the check could not tell. Less means that a part
// does not work.
const (
	OK      State = "ok"
	Unknown State = "unknown"
	Less    State = "less"
	Fails   State = "fails"
)

// Check is one question and its answer.
type Check struct {
	Name string `json:"name"`
	// Endpoint is the host that was asked.
	Endpoint string `json:"endpoint,omitempty"`
	State    State  `json:"state"`
	// Found is what the endpoint answered. Means is what does not work because of that; empty if
	// all works.
	Found string `json:"found"`
	Means string `json:"means,omitempty"`
	// Millis is the median of the answers' latencies, where it was measured.
	Millis float64 `json:"latency_ms,omitempty"`
}

// Report is all that was found.
type Report struct {
	// State is the worst of the checks.
	State  State   `json:"state"`
	Checks []Check `json:"checks"`
	// Sample is what ingest read in its dry run, and Forecast what that makes in a day; nil without
	// a run.
	Sample   *Sample   `json:"sample,omitempty"`
	Forecast *Forecast `json:"forecast,omitempty"`
}

// ErrLess and ErrFails say that something is not offered.
var (
	ErrLess  = errors.New("some of it does not work with these endpoints: see the lines with less")
	ErrFails = errors.New("it does not work with these endpoints: see the lines with fails")
)

// Err returns nil, ErrLess or ErrFails.
func (r *Report) Err() error {
	switch r.State {
	case Fails:
		return ErrFails
	case Less:
		return ErrLess
	case OK, Unknown:
	}
	return nil
}

// run is one preflight under way.
type run struct {
	cfg    Config
	log    *slog.Logger
	checks []Check
	// tip is the highest slot that the source told; 0 if none.
	tip uint64
	// blockBytes is the size of the largest block that was read over JSON-RPC.
	blockBytes int
	genesis    map[string]string // by the endpoint's host
}

// Run asks everything, one question after the other. An endpoint's failure is in the report; the
// error is about the configuration, the context, or this machine.
func Run(ctx context.Context, cfg Config, log *slog.Logger) (*Report, error) {
	cfg.Wait = cmp.Or(max(cfg.Wait, 0), 10*time.Second)
	cfg.Compression = cmp.Or(cfg.Compression, kafka.DefaultCompression)
	if cfg.For < 0 || cfg.For > maxFor {
		return nil, fmt.Errorf("preflight: for %s: must be 0 to %s", cfg.For, maxFor)
	}
	r := &run{cfg: cfg, log: log, genesis: map[string]string{}}
	r.log = cmp.Or(r.log, slog.New(slog.DiscardHandler))
	reads, err := r.askSource(ctx)
	if err != nil {
		return nil, err
	}
	for _, endpoint := range cfg.Upstreams {
		r.askUpstream(ctx, endpoint)
	}
	r.compareChains()
	r.askWebSockets(ctx)
	if len(cfg.Upstreams) == 0 {
		r.add(Check{Name: "upstream", State: Less, Found: "no JSON-RPC upstream is named", Means: WithoutUpstream})
	}
	report := &Report{}
	if reads && cfg.For > 0 && ctx.Err() == nil {
		if report.Sample, err = r.sample(ctx); err != nil {
			return nil, err
		}
	}
	if report.Sample != nil {
		report.Forecast = forecast(r.cfg, report.Sample)
	}
	r.checkRates(ctx, report.Forecast)
	report.Checks, report.State = r.checks, worst(r.checks)
	return report, ctx.Err()
}

// WithoutUpstream is what a Geyser source without a JSON-RPC upstream costs.
const WithoutUpstream = "account reads are skipped, so mints that no transaction of the stream creates stay without their fields; " +
	"gaps that the stream cannot replay stay open until mintlake backfill; the swap API finds no pools; the gateway passes no calls on"

func (r *run) add(c Check) { r.checks = append(r.checks, c) }

// askSource asks the source. reads reports whether ingest can read it.
func (r *run) askSource(ctx context.Context) (reads bool, err error) {
	switch r.cfg.Source.Kind {
	case source.KindGeyser:
		return r.askGeyser(ctx)
	case source.KindRPC:
		name := solana.Host(r.cfg.Source.Endpoint)
		u, err := r.upstream(r.cfg.Source.Endpoint)
		if err != nil {
			r.add(Check{Name: "source", Endpoint: name, State: Fails, Found: said(err)})
			return false, nil
		}
		return r.askBlocks(ctx, u, "source") && ctx.Err() == nil, nil
	}
	return false, fmt.Errorf("preflight: source %s has no endpoint to ask: name geyser+https://host:port or rpc+https://host", r.cfg.Source.Kind)
}

// compareChains compares the genesis hashes that the endpoints told.
func (r *run) compareChains() {
	first, by := "", ""
	for _, endpoint := range r.cfg.Upstreams {
		name := solana.Host(endpoint)
		hash := r.genesis[name]
		switch {
		case hash == "":
		case first == "":
			first, by = hash, name
		case hash != first:
			r.add(Check{Name: "upstream.chain", Endpoint: name, State: Fails, Found: "genesis hash " + hash,
				Means: "it serves another chain than " + by + ", and is left out while it does"})
		}
	}
}

// worst returns the worst of the states OK, Less and Fails. It ignores Unknown, which is only
// shown.
func worst(checks []Check) State {
	state := OK
	for _, c := range checks {
		if c.State == Fails || c.State == Less && state == OK {
			state = c.State
		}
	}
	return state
}
