// Package geyser is the source that follows the chain over Yellowstone gRPC.
//
// In: a Geyser server's stream of filtered blocks, slot statuses and, if the server allows it, mint
// and metadata accounts. Out: blocks, each once, parents first if the parent comes in time, with
// the accounts that their transactions wrote; slots without a block; slots whose block lost its
// fork. Guarantees: a connection that ends, falls silent or sends garbage is given up, and opened
// again from the slot after the last one passed on. What the server cannot replay becomes a gap,
// which is counted and passed to the filler, never silently ignored. If replays fail again and
// again, in whatever way, the source asks for live data alone. Nothing that the server sends ends
// the process, and a message larger than maxMessageBytes is not read.
package geyser

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/ingest/source/accounts"
	"github.com/mintlake/mintlake/ingest/source/order"
	"github.com/mintlake/mintlake/ingest/source/parse"
	"github.com/mintlake/mintlake/ingest/source/repair"
	"github.com/mintlake/mintlake/solana/yellowstone"
)

const (
	// maxWaiting bounds the blocks that wait for a parent that has not come.
	maxWaiting = 64
	// repairEvery is the time between checks of the ledger for gaps to fill. It grows to 10 min
	// while a gap cannot be closed.
	repairEvery = 10 * time.Second
)

// Config configures a Source. Zero values take the defaults named at each field.
type Config struct {
	// Kind is the source's kind in metrics and the ledger: source.KindGeyser (default) or
	// source.KindDemo.
	Kind string
	// Endpoint is https://host:port or http://host:port; the port defaults to 443 and 80.
	Endpoint string
	// Token is sent as x-token with every call; empty = none.
	Token string
	// Commitment is confirmed (default) or finalized.
	Commitment string
	// AllTransactions asks for all transactions of a block, instead of those that name Token,
	// Token-2022 or Metaplex Token Metadata.
	AllTransactions bool
	// From is the slot that the server is asked to replay from if the ledger has no block to resume
	// after. Nil means that the source then begins with the live blocks.
	From *uint64
	// NoAccountUpdates leaves out the subscription to mint and metadata accounts. If the server
	// refuses that subscription, the stream goes on without it too.
	NoAccountUpdates bool
	// BlocksMeta also subscribes to block headers. The source does not need them, but a recording
	// keeps them for others.
	BlocksMeta bool
	// Silence is the time without any message, including pings, after which the connection is given
	// up. Default 30 s; servers ping every 10 to 15 s.
	Silence time.Duration
	// pingEvery is the time between our own pings, which servers answer. Default 10 s.
	pingEvery time.Duration
	// firstPause is the pause after a first failure. It doubles, with jitter, up to MaxPause.
	// Defaults 250 ms and 30 s.
	firstPause, MaxPause time.Duration
	// Reader says up to which version transactions are read.
	Reader parse.Reader
	// maxMessageBytes bounds one message, after decompression. Default 128 MiB.
	maxMessageBytes int
	// maxWait is how long a block waits for a parent that has not come. Default 2 s.
	maxWait time.Duration
}

func (c Config) withDefaults() Config {
	c.Silence = cmp.Or(max(c.Silence, 0), 30*time.Second)
	c.pingEvery = cmp.Or(max(c.pingEvery, 0), 10*time.Second)
	c.firstPause = cmp.Or(max(c.firstPause, 0), 250*time.Millisecond)
	c.MaxPause = cmp.Or(max(c.MaxPause, 0), 30*time.Second)
	c.maxWait = cmp.Or(max(c.maxWait, 0), 2*time.Second)
	c.maxMessageBytes = cmp.Or(max(c.maxMessageBytes, 0), 128<<20)
	c.Kind = cmp.Or(c.Kind, source.KindGeyser)
	c.Commitment = cmp.Or(c.Commitment, "confirmed")
	return c
}

// Deps are the source's collaborators; all may be nil.
type Deps struct {
	// Filler closes the gaps that the server cannot replay. Without one they stay open, and
	// coverage shows them.
	Filler repair.Filler
	// Tap gets every message that parses, as it came, before the source handles it. Tap must not
	// keep or change the message.
	Tap func(message []byte)
	TLS *tls.Config
	// Dial opens the connection to host:port; nil = TCP.
	Dial       func(ctx context.Context, address string) (net.Conn, error)
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Source follows a Geyser server.
type Source struct {
	cfg     Config
	deps    Deps
	url     *url.URL
	log     *slog.Logger
	metrics *source.Metrics
}

var _ source.Source = (*Source)(nil)

// New checks the configuration; it does no I/O.
func New(cfg Config, deps Deps) (*Source, error) {
	cfg = cfg.withDefaults()
	u, err := yellowstone.ParseURL(cfg.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("new geyser source: %w", err)
	}
	if _, err := commitmentLevel(cfg.Commitment); err != nil {
		return nil, fmt.Errorf("new geyser source: %w", err)
	}
	m, err := source.NewMetrics(cfg.Kind, deps.Registerer)
	if err != nil {
		return nil, fmt.Errorf("new geyser source: %w", err)
	}
	m.Preset(source.Reasons{
		Reconnect: []string{endClosed, endUnavailable, endAuth, endFromSlot, endTooLarge, endServerError, endSilent, endGarbage, endGap},
		Accounts:  []string{accounts.Joined, accounts.Dropped},
	})
	s := &Source{cfg: cfg, deps: deps, url: u, log: deps.Logger, metrics: m}
	s.log = cmp.Or(s.log, slog.New(slog.DiscardHandler))
	return s, nil
}

// Kind returns Config.Kind.
func (s *Source) Kind() string { return s.cfg.Kind }

// Run follows the chain until ctx ends, then returns nil. It returns an error of the sink, or if
// the server refuses the token at the first connection. Later refusals are waited out like any
// other failure.
func (s *Source) Run(ctx context.Context, ledger source.Ledger, sink source.Sink) error {
	group, inner := errgroup.WithContext(ctx)
	buffer := accounts.NewBuffer(s.metrics)
	carrier := order.NewCarrier(sink, buffer, s.metrics)
	resume := ledger.Resume()
	begin := resume
	if begin == 0 && s.cfg.From != nil {
		begin = *s.cfg.From - min(*s.cfg.From, 1) // the line starts after it
	}
	repairer := repair.New(repair.Config{Every: repairEvery, Resume: resume},
		repair.Deps{Ledger: ledger, Sink: carrier, Filler: s.deps.Filler, Time: &carrier.Time, Metrics: s.metrics, Logger: s.log})
	carrier.OnGap = repairer.OnGap
	f := &follower{Source: s, carrier: carrier, buffer: buffer, repairer: repairer,
		line: order.New(order.Config{MaxBlocks: maxWaiting, MaxWait: s.cfg.maxWait, Skips: true}, begin)}
	group.Go(func() error { return f.follow(inner) })
	group.Go(func() error { return repairer.Run(inner) })
	err := group.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return err
}
