package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
)

// Provider is the Geyser server of a world. Create and use it within one synctest bubble, whose
// clock it uses.
type Provider struct {
	pb.UnimplementedGeyserServer
	world    *World
	plan     *Plan
	began    time.Time
	timeline []moment
	never    map[uint64]bool
	betrayed []uint64
	listener *bufconn.Listener
	server   *grpc.Server

	mu       sync.Mutex
	sessions uint64
	rng      *rand.Rand // of the connections
}

// moment is a message that the stream has from a certain time on.
type moment struct {
	at    time.Duration
	slot  uint64
	block bool
	// account means that only subscribers to accounts get it.
	account bool
	data    []byte
}

// NewProvider draws when the stream has which message, and starts the server. The world begins now.
func NewProvider(w *World, plan *Plan) *Provider {
	p := &Provider{world: w, plan: plan, began: time.Now(), listener: bufconn.Listen(1 << 20), never: map[uint64]bool{}, rng: random(w.Seed, 3)}
	rng := random(w.Seed, 4)
	for _, s := range w.Slots {
		if s.Confirmed < w.Calm && rng.Float64() < plan.Never {
			p.never[s.Number] = true
		}
		p.statuses(s, rng)
		p.accounts(s, rng)
		if s.Fate == Lost && plan.Betrays > 0 && rng.Float64() < plan.Betrays && w.At(s.Block.Parent) != nil && w.At(s.Block.Parent).Fate == OnChain {
			p.betrayed = append(p.betrayed, s.Number)
			p.timeline = append(p.timeline, moment{at: s.Confirmed, slot: s.Number, block: true, data: s.Block.Update()})
		}
		if s.Fate == OnChain {
			p.timeline = append(p.timeline, moment{at: s.Confirmed, slot: s.Number, block: true, data: s.Block.Update()})
		}
	}
	slices.SortStableFunc(p.timeline, func(a, b moment) int { return int(a.at - b.at) })
	p.server = grpc.NewServer(grpc.ForceServerCodecV2(codec{}))
	pb.RegisterGeyserServer(p.server, p)
	go func() { _ = p.server.Serve(cutting{p.listener, p}) }()
	return p
}

// Stop ends the server.
func (p *Provider) Stop() { p.server.Stop() }

// Dial connects to the server.
func (p *Provider) Dial(ctx context.Context, _ string) (net.Conn, error) {
	return p.listener.DialContext(ctx)
}

// Betrayed returns the slots whose losing block the stream gives as confirmed.
func (p *Provider) Betrayed() []uint64 { return p.betrayed }

// Now returns the time since the beginning of the world.
func (p *Provider) Now() time.Duration { return time.Since(p.began) }

// statuses adds the statuses of a slot with a block to the timeline. A skipped slot has none.
func (p *Provider) statuses(s *Slot, rng *rand.Rand) {
	say := func(at time.Duration, st pb.SlotStatus, b *Block) {
		if p.plan.Statuses == StatusNone || p.plan.Statuses == StatusSome && rng.IntN(2) == 0 {
			return
		}
		if p.plan.StatusDelay > 0 {
			at += time.Duration(rng.Int64N(int64(p.plan.StatusDelay)))
		}
		u := &pb.SubscribeUpdateSlot{Slot: s.Number, Status: st}
		if b != nil {
			u.Parent = &b.Parent
		}
		if b != nil && st != pb.SlotStatus_SLOT_DEAD { // which names no bank
			u.BankId = optional(b.Bank)
		}
		p.timeline = append(p.timeline, moment{at: at, slot: s.Number, data: marshal(&pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Slot{Slot: u}})})
	}
	if s.Block == nil {
		return
	}
	step, first := p.world.SlotTime/4, s.Block
	if s.First != nil {
		first = s.First
	}
	say(s.Begins, pb.SlotStatus_SLOT_FIRST_SHRED_RECEIVED, nil)
	say(s.Begins+step, pb.SlotStatus_SLOT_CREATED_BANK, first)
	if s.Fate == Dead || s.FirstDied {
		say(s.Begins+2*step, pb.SlotStatus_SLOT_DEAD, first)
	} else {
		say(s.Begins+3*step, pb.SlotStatus_SLOT_COMPLETED, nil)
		say(s.Begins+4*step, pb.SlotStatus_SLOT_PROCESSED, first)
	}
	if s.First != nil {
		say(s.Again, pb.SlotStatus_SLOT_CREATED_BANK, s.Block)
		say(s.Again+p.world.replay(), pb.SlotStatus_SLOT_PROCESSED, s.Block)
	}
	if s.Fate != OnChain {
		return
	}
	if !p.world.Alpenglow || rng.IntN(2) == 0 { // fast finalisation skips confirmation
		say(s.Confirmed, pb.SlotStatus_SLOT_CONFIRMED, s.Block)
	}
	say(s.Finalized, pb.SlotStatus_SLOT_FINALIZED, s.Block)
}

// accounts adds the account updates of the slot's blocks to the timeline. With AccountsConfirmed
// they come when the block is confirmed, and only of blocks that are. With AccountsEarly they come
// at some moment of the slot, also of blocks that are never confirmed; those of a slot with two
// banks while their bank is replayed.
func (p *Provider) accounts(s *Slot, rng *rand.Rand) {
	early := p.plan.Accounts == AccountsEarly
	if s.Block == nil || p.plan.Accounts == AccountsConfirmed && s.Fate != OnChain {
		return
	}
	at := s.Confirmed
	if early {
		at = s.Begins + time.Duration(rng.Int64N(int64(p.world.SlotTime)))
	}
	if early && s.First != nil {
		p.account(s, s.First, s.Begins+p.world.SlotTime/4+1)
		at = s.Again + p.world.replay()/2
	}
	p.account(s, s.Block, at)
}

// account adds the account updates of a block to the timeline.
func (p *Provider) account(s *Slot, b *Block, at time.Duration) {
	for _, data := range b.AccountUpdates() {
		p.timeline = append(p.timeline, moment{at: at, slot: s.Number, account: true, data: data})
	}
}

// head returns the index after the last moment that has happened.
func (p *Provider) head() int {
	now := p.Now()
	at, _ := slices.BinarySearchFunc(p.timeline, now, func(m moment, now time.Duration) int {
		if m.at <= now {
			return -1
		}
		return 1
	})
	return at
}

// oldest returns the first slot that from_slot reaches.
func (p *Provider) oldest() uint64 {
	top := uint64(firstSlot)
	for _, m := range p.timeline[:p.head()] {
		top = max(top, m.slot)
	}
	return top - min(p.plan.Window, top-firstSlot)
}

// SubscribeReplayInfo returns the oldest slot that can be replayed; none if the server replays
// nothing. It is unimplemented without Plan.Tells.
func (p *Provider) SubscribeReplayInfo(context.Context, *pb.SubscribeReplayInfoRequest) (*pb.SubscribeReplayInfoResponse, error) {
	switch {
	case !p.plan.Tells:
		return nil, status.Error(codes.Unimplemented, "no")
	case p.plan.Replay == ReplayInternal:
		return &pb.SubscribeReplayInfoResponse{}, nil
	}
	return &pb.SubscribeReplayInfoResponse{FirstAvailable: proto.Uint64(p.oldest())}, nil
}

// Subscribe streams the world from now on. With from_slot it first replays blocks and accounts
// since that slot, but no statuses, as far as Plan.Replay and Plan.Window allow.
func (p *Provider) Subscribe(stream grpc.BidiStreamingServer[pb.SubscribeRequest, pb.SubscribeUpdate]) error {
	req, err := stream.Recv()
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.sessions++
	s := &session{Provider: p, stream: stream, rng: random(p.world.Seed, 1000+p.sessions), accounts: len(req.Accounts) > 0}
	p.mu.Unlock()
	if s.accounts && p.plan.Accounts == AccountsRefused {
		return status.Error([]codes.Code{codes.InvalidArgument, codes.PermissionDenied, codes.Internal}[s.rng.IntN(3)], "accounts are not allowed")
	}
	go func() {
		for {
			if _, err := stream.Recv(); err != nil {
				return
			}
		}
	}()
	next := p.head()
	if req.FromSlot != nil {
		from := *req.FromSlot
		switch oldest := p.oldest(); {
		case p.plan.Replay == ReplayInternal:
			return status.Error(codes.Internal, "from_slot is not supported")
		case p.plan.Replay == ReplayPings && p.Now() < p.world.Calm:
			return s.live(len(p.timeline))
		case from < oldest && p.plan.Replay == ReplayRefuses:
			return status.Error(codes.OutOfRange, fmt.Sprintf("broadcast from %d is not available", from))
		case from < oldest:
			from = oldest
		}
		left := s.rng.IntN(20)
		for _, m := range p.timeline[:next] {
			if !m.block && !m.account || m.slot < from {
				continue
			}
			if left--; p.plan.Replay == ReplayBreaks && left < 0 && p.Now() < p.world.Calm {
				return s.breaks()
			}
			if err := s.say(m); err != nil {
				return withoutEnd(err)
			}
		}
	}
	return s.live(next)
}

// session is one subscription.
type session struct {
	*Provider
	accounts bool // the client asked for accounts
	stream   grpc.ServerStream
	rng      *rand.Rand
	held     []moment // to be sent after later ones
	last     []byte   // the message sent last
}

// live sends each moment at its time, from index next on, and pings in between.
func (s *session) live(next int) error {
	for {
		wait := 2 * time.Second // pings
		if next < len(s.timeline) {
			wait = min(wait, s.timeline[next].at-s.Now())
		}
		if wait > 0 {
			timer := time.NewTimer(wait)
			select {
			case <-s.stream.Context().Done():
				timer.Stop()
				return s.stream.Context().Err()
			case <-timer.C:
			}
		}
		if next >= len(s.timeline) || s.timeline[next].at > s.Now() {
			if err := s.stream.SendMsg(marshal(&pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Ping{Ping: &pb.SubscribeUpdatePing{}}})); err != nil {
				return err
			}
			continue
		}
		m := s.timeline[next]
		next++
		if err := s.say(m); err != nil {
			return withoutEnd(err)
		}
	}
}

// errEnd ends a stream without an error.
var errEnd = errors.New("end of the stream")

// withoutEnd returns what the stream ends with if say failed with err.
func withoutEnd(err error) error {
	if errors.Is(err, errEnd) {
		return nil
	}
	return err
}

// breaks returns an error that ends a stream; nil for an end without one.
func (s *session) breaks() error {
	return []error{nil, status.Error(codes.Unavailable, "away"), status.Error(codes.Internal, "broken"), status.Error(codes.Unknown, "?"),
		status.Error(codes.ResourceExhausted, "lagged"), status.Error(codes.Aborted, "no")}[s.rng.IntN(6)]
}

// say sends a message. Until the world is calm it may also simulate a fault: drop the message, hold
// it back until after later ones, send garbage before it or an earlier message again after it,
// hang, or end the stream. A block in never and, for a client that did not ask, an account are
// always left out.
func (s *session) say(m moment) error {
	fault := func(chance float64) bool { return chance > 0 && s.Now() < s.world.Calm && s.rng.Float64() < chance }
	switch {
	case m.account && !s.accounts, m.block && s.never[m.slot], fault(s.plan.Drop):
		return nil
	case fault(s.plan.End):
		if err := s.breaks(); err != nil {
			return err
		}
		return errEnd
	case fault(s.plan.Hang):
		<-s.stream.Context().Done()
		return s.stream.Context().Err()
	case fault(s.plan.Garbage):
		data := slices.Clone(m.data)
		data = data[:s.rng.IntN(len(data))]
		if len(data) > 0 {
			data[s.rng.IntN(len(data))] ^= byte(1 + s.rng.IntN(255))
		}
		if err := s.stream.SendMsg(data[:len(data)/2]); err != nil {
			return err
		}
	case fault(s.plan.Reorder):
		s.held = append(s.held, m)
		return nil
	}
	if err := s.stream.SendMsg(m.data); err != nil {
		return err
	}
	if s.last != nil && fault(s.plan.Repeat) {
		if err := s.stream.SendMsg(s.last); err != nil {
			return err
		}
	}
	s.last = m.data
	if len(s.held) > 0 && (s.rng.IntN(4) == 0 || s.Now() >= s.world.Calm) {
		s.rng.Shuffle(len(s.held), func(i, j int) { s.held[i], s.held[j] = s.held[j], s.held[i] })
		for _, h := range s.held {
			if err := s.stream.SendMsg(h.data); err != nil {
				return err
			}
		}
		s.held = nil
	}
	return nil
}

// codec sends byte slices as they are.
type codec struct{}

func (codec) Name() string { return "proto" }

func (codec) Marshal(v any) (mem.BufferSlice, error) {
	if data, ok := v.([]byte); ok {
		return mem.BufferSlice{mem.SliceBuffer(data)}, nil
	}
	data, err := proto.Marshal(v.(proto.Message))
	return mem.BufferSlice{mem.SliceBuffer(data)}, err
}

func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	return proto.Unmarshal(data.Materialize(), v.(proto.Message))
}

// cutting breaks some connections after a number of bytes, also in the middle of a message.
type cutting struct {
	net.Listener
	provider *Provider
}

// Accept accepts a connection. Some break after 200 to 40,200 bytes.
func (c cutting) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	p := c.provider
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Now() >= p.world.Calm || p.rng.Float64() >= p.plan.Cut {
		return conn, nil
	}
	return &cutConn{Conn: conn, provider: p, left: 200 + p.rng.IntN(40_000)}, nil
}

// cutConn is a connection that breaks after left more bytes.
type cutConn struct {
	net.Conn
	provider *Provider
	left     int
}

func (c *cutConn) Write(b []byte) (int, error) {
	if len(b) > c.left && c.provider.Now() < c.provider.world.Calm {
		n, _ := c.Conn.Write(b[:c.left])
		_ = c.Close()
		return n, net.ErrClosed
	}
	c.left -= len(b)
	return c.Conn.Write(b)
}
