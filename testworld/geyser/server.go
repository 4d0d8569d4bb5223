// Package geyser serves the ledger of the test world over the real Yellowstone gRPC protocol.
//
// In: the ledger and its events.
// Out: the service geyser.Geyser: Subscribe with all filters, replay by from_slot, ping and pong,
// and the unary calls.
// Guarantees: statuses and errors are those of yellowstone-grpc 0c3f357 (grpc.rs); a subscriber
// that reads too slowly is disconnected, and at most Config.Buffer events and the block in flight
// are held for it.
package geyser

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/prometheus/client_golang/prometheus"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/ledger"
)

const (
	// cachedBlocks is how many blocks are kept in protobuf form.
	cachedBlocks = 64
	// lagCheck is how often a stream whose client does not read looks whether it has lagged.
	lagCheck = 200 * time.Millisecond
	// blockhashAge is how many blocks a blockhash stays valid (Solana's MAX_PROCESSING_AGE).
	blockhashAge = 150
)

// Config of the server.
type Config struct {
	// Token is what clients must send as x-token; empty asks for none.
	Token string
	// PingInterval is the time between the server's pings; default 10 s.
	PingInterval time.Duration
	// Buffer is how many events a subscriber may leave unread before it is cut off; default 4,096.
	Buffer int
	// WithoutBankIDs leaves bank ids out of all updates, as older servers do.
	WithoutBankIDs bool
	// WithoutReplay fails every from_slot with an internal error, although SubscribeReplayInfo
	// names a first slot.
	WithoutReplay bool
	// WithoutAccountFilters refuses filters of blocks that name accounts, as a server does whose
	// limits allow none (yellowstone-grpc, FilterLimitsBlocks.account_include_max).
	WithoutAccountFilters bool
}

// Deps are the server's collaborators. Now stamps updates; nil means time.Now.
type Deps struct {
	Ledger     *ledger.Ledger
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Now        func() time.Time
}

// Server implements pb.GeyserServer.
type Server struct {
	pb.UnimplementedGeyserServer
	cfg         Config
	ledger      *ledger.Ledger
	log         *slog.Logger
	now         func() time.Time
	cache       *lru.Cache[chain.Hash, *converted]
	subscribers prometheus.Gauge
	updates     prometheus.Counter
	lagged      prometheus.Counter
}

// New makes a server; it opens no port.
func New(cfg Config, deps Deps) (*Server, error) {
	if cfg.PingInterval == 0 {
		cfg.PingInterval = 10 * time.Second
	}
	if cfg.Buffer == 0 {
		cfg.Buffer = 4096
	}
	cache, err := lru.New[chain.Hash, *converted](cachedBlocks)
	if err != nil {
		return nil, fmt.Errorf("geyser block cache: %w", err)
	}
	s := &Server{cfg: cfg, ledger: deps.Ledger, log: deps.Logger, now: deps.Now, cache: cache,
		subscribers: prometheus.NewGauge(prometheus.GaugeOpts{Name: "mintlake_demo_geyser_subscribers", Help: "Open Subscribe streams."}),
		updates:     prometheus.NewCounter(prometheus.CounterOpts{Name: "mintlake_demo_geyser_updates_total", Help: "Updates sent to subscribers."}),
		lagged:      prometheus.NewCounter(prometheus.CounterOpts{Name: "mintlake_demo_geyser_lagged_total", Help: "Subscribers cut off for reading too slowly."})}
	if s.now == nil {
		s.now = time.Now
	}
	for _, c := range []prometheus.Collector{s.subscribers, s.updates, s.lagged} {
		if err := deps.Registerer.Register(c); err != nil {
			return nil, fmt.Errorf("register geyser metrics: %w", err)
		}
	}
	return s, nil
}

// GRPC makes a gRPC server that serves s and checks x-token.
func (s *Server) GRPC() *grpc.Server {
	g := grpc.NewServer(
		grpc.MaxRecvMsgSize(4<<20),
		grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if err := s.authorize(ctx); err != nil {
				return nil, err
			}
			return next(ctx, req)
		}),
		grpc.StreamInterceptor(func(srv any, st grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			if err := s.authorize(st.Context()); err != nil {
				return err
			}
			return next(srv, st)
		}))
	pb.RegisterGeyserServer(g, s)
	return g
}

// authorize checks the call's x-token, if the server has a token.
func (s *Server) authorize(ctx context.Context) error {
	if s.cfg.Token == "" {
		return nil
	}
	md, _ := metadata.FromIncomingContext(ctx)
	for _, v := range md.Get("x-token") {
		if subtle.ConstantTimeCompare([]byte(v), []byte(s.cfg.Token)) == 1 {
			return nil
		}
	}
	return status.Error(codes.Unauthenticated, "No valid auth token")
}

// convert returns a block in protobuf form, from the cache if it is there.
func (s *Server) convert(b *chain.Block) *converted {
	if c, ok := s.cache.Get(b.Hash); ok && c.block == b {
		return c
	}
	c := convertBlock(b)
	s.cache.Add(b.Hash, c)
	return c
}

type incoming struct {
	req *pb.SubscribeRequest
	err error
}

// Subscribe runs one stream: it applies the newest request, replays when asked to, then follows the
// ledger.
func (s *Server) Subscribe(stream pb.Geyser_SubscribeServer) error {
	s.subscribers.Inc()
	defer s.subscribers.Dec()
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	requests := make(chan incoming)
	go receive(ctx, stream, requests)
	out := make(chan *pb.SubscribeUpdate, 16)
	sendErr := make(chan error, 1)
	// In a goroutine of its own: Send blocks while the client does not read, and the handler must
	// still be able to end the stream.
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case u := <-out:
				if err := stream.Send(u); err != nil {
					sendErr <- err
					return
				}
				s.updates.Inc()
			}
		}
	}()
	r := &run{srv: s, ctx: ctx, requests: requests, out: out, sendErr: sendErr}
	defer r.close()
	return r.loop()
}

// receive passes on what the client sends, up to and with the first error.
func receive(ctx context.Context, stream pb.Geyser_SubscribeServer, to chan<- incoming) {
	for {
		req, err := stream.Recv()
		select {
		case to <- incoming{req, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// run is the state of one Subscribe call.
type run struct {
	srv      *Server
	ctx      context.Context // lives exactly as long as the call
	requests chan incoming
	out      chan *pb.SubscribeUpdate
	sendErr  chan error
	sub      *ledger.Subscription
	filter   *filter
}

func (r *run) close() {
	if r.sub != nil {
		r.sub.Close()
	}
}

// loop serves the call until it ends: the client's requests, pings, and events. While events wait
// in the subscription's backlog, it does nothing else.
func (r *run) loop() error {
	ping := time.NewTicker(r.srv.cfg.PingInterval)
	defer ping.Stop()
	for {
		var events chan ledger.Event
		if r.sub != nil {
			if len(r.sub.Backlog) > 0 {
				if err := r.backlog(); err != nil {
					return err
				}
				continue
			}
			events = r.sub.C
		}
		select {
		case <-r.ctx.Done():
			return status.FromContextError(r.ctx.Err()).Err()
		case err := <-r.sendErr:
			return err
		case in := <-r.requests:
			if err := r.request(in); err != nil {
				if errors.Is(err, io.EOF) {
					r.requests = nil // half-closed: the stream goes on
					continue
				}
				return err
			}
		case <-ping.C:
			if err := r.emit(&pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Ping{Ping: &pb.SubscribeUpdatePing{}}}); err != nil {
				return err
			}
		case ev, ok := <-events:
			if !ok {
				return r.ended()
			}
			if err := (&session{srv: r.srv, filter: r.filter, emit: r.emit}).handle(ev); err != nil {
				return err
			}
		}
	}
}

func (r *run) backlog() error {
	ev := r.sub.Backlog[0]
	r.sub.Backlog = r.sub.Backlog[1:]
	return (&session{srv: r.srv, filter: r.filter, emit: r.emit}).handle(ev)
}

func (r *run) ended() error {
	if r.sub.Err() != nil {
		r.srv.lagged.Inc()
		return status.Error(codes.Internal, "lagged to receive geyser messages")
	}
	return status.Error(codes.Unavailable, "server is shutting down try again later")
}

// emit gives an update to the sending goroutine. While that goroutine is blocked, emit looks now
// and then whether the subscription has lagged, and ends the stream if it has.
func (r *run) emit(u *pb.SubscribeUpdate) error {
	select {
	case r.out <- u:
		return nil
	default:
	}
	check := time.NewTicker(lagCheck)
	defer check.Stop()
	for {
		select {
		case r.out <- u:
			return nil
		case err := <-r.sendErr:
			return err
		case <-r.ctx.Done():
			return status.FromContextError(r.ctx.Err()).Err()
		case <-check.C:
			if r.sub != nil && r.sub.Err() != nil {
				r.srv.lagged.Inc()
				return status.Error(codes.Internal, "lagged to send an update")
			}
		}
	}
}

// request answers a ping, or takes a new filter. It subscribes if there is no subscription yet, or
// if the client names a from_slot. It returns io.EOF if the client sends no more.
func (r *run) request(in incoming) error {
	if in.err != nil {
		if errors.Is(in.err, io.EOF) {
			return io.EOF
		}
		return in.err
	}
	if p := in.req.GetPing(); p != nil {
		return r.emit(&pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Pong{Pong: &pb.SubscribeUpdatePong{Id: p.GetId()}}})
	}
	f, err := newFilter(in.req)
	if err != nil {
		return status.Errorf(codes.InvalidArgument, "failed to create filter: %v", err)
	}
	for _, blocks := range in.req.GetBlocks() {
		if r.srv.cfg.WithoutAccountFilters && len(blocks.GetAccountInclude()) > 0 {
			return status.Error(codes.InvalidArgument, "failed to create filter: Max amount of pubkeys reached, only 0 allowed")
		}
	}
	r.filter = f
	if r.sub != nil && in.req.FromSlot == nil {
		return nil // the stream goes on with the new filter
	}
	if r.srv.cfg.WithoutReplay && in.req.FromSlot != nil {
		return status.Error(codes.Internal, "replay failed")
	}
	sub, err := r.srv.ledger.Subscribe(r.srv.cfg.Buffer, in.req.FromSlot)
	if err != nil {
		return status.Error(codes.OutOfRange, err.Error())
	}
	r.close()
	r.sub = sub
	return nil
}

// tip returns the newest block at a commitment.
func (s *Server) tip(c *pb.CommitmentLevel) (*chain.Block, error) {
	level, err := commitment(c)
	if err != nil {
		return nil, status.Error(codes.Unknown, err.Error())
	}
	b := s.ledger.Tip(level)
	if b == nil {
		return nil, status.Error(codes.Internal, "block is not available yet")
	}
	return b, nil
}

// SubscribeReplayInfo returns the first slot that from_slot may name.
func (s *Server) SubscribeReplayInfo(context.Context, *pb.SubscribeReplayInfoRequest) (*pb.SubscribeReplayInfoResponse, error) {
	first := s.ledger.First()
	return &pb.SubscribeReplayInfoResponse{FirstAvailable: &first}, nil
}

// Ping answers with the same count.
func (s *Server) Ping(_ context.Context, req *pb.PingRequest) (*pb.PongResponse, error) {
	return &pb.PongResponse{Count: req.GetCount()}, nil
}

// GetLatestBlockhash returns the hash of the tip and how long it is valid.
func (s *Server) GetLatestBlockhash(_ context.Context, req *pb.GetLatestBlockhashRequest) (*pb.GetLatestBlockhashResponse, error) {
	b, err := s.tip(req.Commitment)
	if err != nil {
		return nil, err
	}
	return &pb.GetLatestBlockhashResponse{Slot: b.Slot, Blockhash: b.Hash.String(), LastValidBlockHeight: b.Height + blockhashAge}, nil
}

// GetBlockHeight is the tip's height.
func (s *Server) GetBlockHeight(_ context.Context, req *pb.GetBlockHeightRequest) (*pb.GetBlockHeightResponse, error) {
	b, err := s.tip(req.Commitment)
	if err != nil {
		return nil, err
	}
	return &pb.GetBlockHeightResponse{BlockHeight: b.Height}, nil
}

// GetSlot is the tip's slot.
func (s *Server) GetSlot(_ context.Context, req *pb.GetSlotRequest) (*pb.GetSlotResponse, error) {
	b, err := s.tip(req.Commitment)
	if err != nil {
		return nil, err
	}
	return &pb.GetSlotResponse{Slot: b.Slot}, nil
}

// IsBlockhashValid returns whether a blockhash may still be used at the tip.
func (s *Server) IsBlockhashValid(_ context.Context, req *pb.IsBlockhashValidRequest) (*pb.IsBlockhashValidResponse, error) {
	b, err := s.tip(req.Commitment)
	if err != nil {
		return nil, err
	}
	level, _ := commitment(req.Commitment)
	h, err := pubkey.Parse(req.GetBlockhash())
	return &pb.IsBlockhashValidResponse{Slot: b.Slot, Valid: err == nil && s.ledger.BlockhashValid(h, level)}, nil
}

// GetVersion is a JSON text of the shape that the real server gives.
func (s *Server) GetVersion(context.Context, *pb.GetVersionRequest) (*pb.GetVersionResponse, error) {
	return &pb.GetVersionResponse{Version: `{"version":{"package":"mintlake-demo","version":"1.0.0","proto":"14.0.1","solana":"4.3.2","git":"demo","rustc":"-","buildts":"-"},"extra":{"hostname":null}}`}, nil
}
