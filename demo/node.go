// Package demo is a simulated Solana node for the first look, load tests and end-to-end tests.
//
// In: a Config, transactions by sendTransaction. Out: Yellowstone gRPC on one address; JSON-RPC,
// token metadata and logos over HTTP on another. Guarantees: the chain's bytes are a function of
// Config and of the transactions submitted; see package chain. Memory is bounded by the history
// kept and by the source's max_tokens. It speaks for no real cluster and holds no real keys.
package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"github.com/mintlake/mintlake/demo/assets"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/geyser"
	"github.com/mintlake/mintlake/testworld/ledger"
	"github.com/mintlake/mintlake/testworld/rpc"
)

// maxQueue is how many submitted transactions may wait for a block.
const maxQueue = 10_000

// Deps are the node's collaborators; all are required.
type Deps struct {
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Node is the simulated node. Make it with New, then Run it; the addresses are known when WaitReady
// returns.
type Node struct {
	cfg     Config
	deps    Deps
	metrics *metrics
	ready   chan struct{}
	done    chan struct{}
	geyser  net.Listener
	http    net.Listener
	base    atomic.Value // string

	mu     sync.Mutex // guards gen, queue and airdrops
	gen    *chain.Generator
	queue  []*chain.Tx
	queued map[chain.Signature]struct{}
	// airdrops counts the airdrops. The count makes two equal ones differ.
	airdrops uint64
	ledger   *ledger.Ledger

	// nextCheckpoint is the slot from which the next checkpoint is due; checkpoints has the one to
	// be written.
	nextCheckpoint uint64
	checkpoints    chan *checkpoint
}

// New checks the configuration and registers the metrics; it opens nothing.
func New(cfg Config, deps Deps) (*Node, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("demo config: %w", err)
	}
	m, err := newMetrics(deps.Registerer)
	if err != nil {
		return nil, err
	}
	return &Node{cfg: cfg, deps: deps, metrics: m, ready: make(chan struct{}), done: make(chan struct{}), queued: map[chain.Signature]struct{}{},
		checkpoints: make(chan *checkpoint, 1)}, nil
}

// Run listens, makes the chain and serves until ctx ends. A clean stop returns nil. It may be
// called once.
func (n *Node) Run(ctx context.Context) error {
	if err := n.listen(); err != nil {
		return err
	}
	defer n.geyser.Close() //nolint:errcheck // the servers have closed it
	defer n.http.Close()   //nolint:errcheck // the servers have closed it
	if err := n.build(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	gs, err := geyser.New(geyser.Config{Token: n.cfg.token, Buffer: n.cfg.geyserBuffer, PingInterval: n.cfg.pingInterval, WithoutBankIDs: n.cfg.WithoutBankIDs, WithoutReplay: n.cfg.WithoutReplay,
		WithoutAccountFilters: n.cfg.WithoutAccountFilters},
		geyser.Deps{Ledger: n.ledger, Logger: n.deps.Logger, Registerer: n.deps.Registerer})
	if err != nil {
		return err
	}
	rs, err := rpc.New(rpc.Deps{Ledger: n.ledger, Logger: n.deps.Logger, Registerer: n.deps.Registerer, Submitter: n, GenesisHash: n.GenesisHash(),
		Future: n.cfg.Future, WithoutPages: n.cfg.WithoutPages, Chain: n.gen.Config()})
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	n.serve(ctx, g, gs.GRPC(), limited(rs, n.cfg.RPCRate))
	g.Go(func() error { return n.produce(ctx) })
	g.Go(func() error { return n.writeCheckpoints(ctx) })
	close(n.ready)
	n.deps.Logger.Info("demo chain ready", "geyser", n.GeyserAddr(), "rpc", n.RPCURL(), "seed", n.cfg.Seed, "tps", n.cfg.TPS)
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// listen binds both addresses, and settles the base URL that the metadata links start with.
func (n *Node) listen() (err error) {
	if n.geyser, err = net.Listen("tcp", n.cfg.GeyserAddr); err != nil {
		return fmt.Errorf("demo geyser: %w", err)
	}
	if n.http, err = net.Listen("tcp", n.cfg.HTTPAddr); err != nil {
		n.geyser.Close() //nolint:errcheck // nothing was served
		return fmt.Errorf("demo http: %w", err)
	}
	base := n.cfg.publicBaseURL
	if base == "" {
		base = "http://" + n.http.Addr().String()
	}
	n.base.Store(base)
	return nil
}

// build makes the chain at its checkpoint or at genesis and generates the slots before StartSlot.
func (n *Node) build(ctx context.Context) error {
	gen, transactions, err := n.resume(n.cfg.chain(n.BaseURL(), time.Now()))
	if err != nil {
		return err
	}
	n.gen = gen
	n.ledger = ledger.New(n.cfg.ledger, gen.NextSlot(), transactions, gen.Genesis())
	n.nextCheckpoint = n.cfg.StartSlot + checkpointEvery
	for gen.NextSlot() < n.cfg.StartSlot {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s, _ := gen.Next(nil)
		if s.Number < n.firstKept() {
			n.ledger.Forward(s)
			continue
		}
		if err := s.Sign(); err != nil {
			return err
		}
		n.ledger.Add(s)
	}
	return nil
}

// keptSlots is how many slots before StartSlot can be read and replayed. They must be signed, which
// takes most of the start: so it is not the whole history.
const keptSlots = 1000

// firstKept is the first slot that can be read and replayed after the start. That is all of the
// past until keptSlots slots have come after it: a node that was stopped in its first minutes
// may have told nobody of it.
func (n *Node) firstKept() uint64 {
	first := n.cfg.StartSlot - min(n.cfg.StartSlot, keptSlots)
	if first < n.cfg.GenesisSlot+n.cfg.pastSlots() {
		return n.cfg.GenesisSlot
	}
	return first
}

// serve starts both servers in g. They stop when ctx ends.
func (n *Node) serve(ctx context.Context, g *errgroup.Group, gs *grpc.Server, rs http.Handler) {
	mux := http.NewServeMux()
	meta := assets.Handler(n.BaseURL, n.lookup)
	mux.Handle("/metadata/", meta)
	mux.Handle("/logo/", meta)
	mux.HandleFunc("GET /tokenlist.json", func(w http.ResponseWriter, _ *http.Request) {
		file, _, _ := n.TokenList()
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(file)
	})
	mux.HandleFunc("GET /tokenlist.json.sig", func(w http.ResponseWriter, _ *http.Request) {
		_, signature, _ := n.TokenList()
		_, _ = w.Write(signature)
	})
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) })
	mux.Handle("/{$}", rs)
	hs := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, MaxHeaderBytes: 1 << 16}
	g.Go(func() error {
		if err := gs.Serve(n.geyser); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			return fmt.Errorf("serve geyser: %w", err)
		}
		return nil
	})
	g.Go(func() error {
		if err := hs.Serve(n.http); err != nil && !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve http: %w", err)
		}
		return nil
	})
	g.Go(func() error {
		<-ctx.Done()
		gs.Stop()
		return hs.Close()
	})
}

// WaitReady blocks until the addresses are bound and the first slot is being made, or ctx ends.
func (n *Node) WaitReady(ctx context.Context) error {
	select {
	case <-n.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Done is closed when the source's max_slots slots have been made and all of them are finalized.
func (n *Node) Done() <-chan struct{} { return n.done }

// GeyserAddr is the host:port of the Yellowstone service.
func (n *Node) GeyserAddr() string { return n.geyser.Addr().String() }

// RPCAddr is the host:port of the HTTP server.
func (n *Node) RPCAddr() string { return n.http.Addr().String() }

// RPCURL is the URL of the JSON-RPC endpoint.
func (n *Node) RPCURL() string { return "http://" + n.RPCAddr() + "/" }

// BaseURL is where metadata and logos are reached, without a trailing slash.
func (n *Node) BaseURL() string { return n.base.Load().(string) }

// Anchors returns the clock of this chain so far. Give it back in Config.Anchors when the chain is
// to go on. Call it after WaitReady.
func (n *Node) Anchors() []Anchor { return n.gen.Config().Anchors }

// GenesisHash returns the hash that names the chain. Call it after WaitReady.
func (n *Node) GenesisHash() pubkey.Key {
	if n.cfg.GenesisHash != (pubkey.Key{}) {
		return n.cfg.GenesisHash
	}
	return n.gen.GenesisHash()
}

// Slot returns the newest slot made, whether it has a block or not.
func (n *Node) Slot() uint64 { return n.ledger.Last() }

// Ledger returns the node's history, for tests.
func (n *Node) Ledger() *ledger.Ledger { return n.ledger }

// lookup reads a mint's name from the chain, Metaplex first.
func (n *Node) lookup(mint chain.Key) (assets.Token, bool) {
	list, _ := n.ledger.Accounts([]chain.Key{mint, chain.MetadataAddress(mint)}, ledger.Processed)
	if m, ok := chain.ReadMetaplex(list[1]); ok {
		return assets.Token{Name: m.Name, Symbol: m.Symbol, Major: n.gen.Major(mint)}, true
	}
	if m, ok := chain.ReadExtension(list[0]); ok {
		return assets.Token{Name: m.Name, Symbol: m.Symbol}, true
	}
	return assets.Token{}, false
}
