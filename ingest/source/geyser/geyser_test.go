package geyser

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/ingest/source/repair"
	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
)

func open(t testing.TB, addr string, change func(*Config, *Deps)) *Source {
	t.Helper()
	cfg := Config{Endpoint: "http://" + addr, firstPause: time.Millisecond, MaxPause: 20 * time.Millisecond, maxWait: 60 * time.Millisecond,
		Silence: 2 * time.Minute, pingEvery: 20 * time.Millisecond}
	deps := Deps{}
	if change != nil {
		change(&cfg, &deps)
	}
	s, err := New(cfg, deps)
	require.NoError(t, err)
	return s
}

func TestContract(t *testing.T) {
	sourcetest.Contract(t, true, func(t *testing.T, setup sourcetest.Setup) source.Source {
		f := &fake{chain: setup.Chain}
		if setup.Broken {
			f.script = []func(*sub) error{func(s *sub) error {
				if err := s.live(7); err != nil {
					return err
				}
				if err := s.send(raw("\xff\xff\xff garbage")); err != nil {
					return err
				}
				return s.live(-1)
			}}
		}
		return open(t, f.start(t), nil)
	})
}

// follow runs a source over f behind slot resume until every block of want has come, and returns
// the sink. It must be called in a bubble.
func follow(t *testing.T, f *fake, listener func(net.Listener) net.Listener, want sourcetest.Chain, resume uint64, change func(*Config, *Deps)) *sourcetest.Sink {
	t.Helper()
	dial := f.startInBubble(t, listener)
	s, sink := open(t, "fake:1", func(c *Config, d *Deps) {
		d.Dial = dial
		if change != nil {
			change(c, d)
		}
	}), &sourcetest.Sink{}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, sourcetest.Ledger{From: resume}, sink) }()
	sink.Wait(t, "the blocks", func() bool {
		got := map[uint64]bool{}
		for _, slot := range sink.Slots() {
			got[slot] = true
		}
		for _, b := range want {
			if !got[b.Slot] {
				return false
			}
		}
		return true
	})
	cancel()
	require.NoError(t, <-done)
	return sink
}

// A server may fail in any of these ways: the set of blocks is the truth, each once, in order.
func TestWhateverTheServerDoesNothingIsLost(t *testing.T) {
	c := sourcetest.NewChain(1000, 60)
	drop := func(after int) func(*sub) error { return func(s *sub) error { return s.live(after) } }
	fails := func(code codes.Code) func(*sub) error {
		return func(s *sub) error { _ = s.live(5); return status.Error(code, "x") }
	}
	says := func(messages ...any) func(*sub) error {
		return func(s *sub) error {
			if err := s.live(6); err != nil {
				return err
			}
			for _, m := range messages {
				if err := s.send(m); err != nil {
					return err
				}
			}
			return s.live(3)
		}
	}
	hangs := func(s *sub) error {
		_ = s.live(9)
		<-s.stream.Context().Done()
		return nil
	}
	nonsense := func(change func(*pb.SubscribeUpdateBlock)) any {
		u := c[20].Update()
		change(u.GetBlock())
		return u
	}
	cases := []struct {
		name   string
		fake   *fake
		cut    []int
		change func(*Config, *Deps)
	}{
		{name: "ends the stream, again and again", fake: &fake{script: []func(*sub) error{drop(3), drop(0), drop(1), drop(10), drop(0), drop(0), drop(7)}}},
		{name: "ends it with an error", fake: &fake{script: []func(*sub) error{fails(codes.Unavailable), fails(codes.Internal), fails(codes.Unknown), fails(codes.ResourceExhausted), fails(codes.Unauthenticated)}}},
		{name: "cuts the connection amid a block", cut: []int{500, 3000, 5000, 700, 9000, 333, 12000}},
		{name: "falls silent", fake: &fake{script: []func(*sub) error{hangs, hangs}}, change: func(c *Config, _ *Deps) { c.Silence = 100 * time.Millisecond }},
		{name: "sends garbage", fake: &fake{script: []func(*sub) error{says(raw("\xff\xff\xff")), says(raw{0x2a, 0x80}), says(raw{0x2a, 0x05, 1, 2})}}},
		{name: "sends nonsense", fake: &fake{script: []func(*sub) error{
			says(nonsense(func(b *pb.SubscribeUpdateBlock) { b.Blockhash = "0OIl" })),
			says(nonsense(func(b *pb.SubscribeUpdateBlock) { b.ParentSlot = b.Slot })),
			says(nonsense(func(b *pb.SubscribeUpdateBlock) { b.Slot = 1 << 60 })),
			says(nonsense(func(b *pb.SubscribeUpdateBlock) { b.Transactions[0].Transaction = nil })),
			says(nonsense(func(b *pb.SubscribeUpdateBlock) { b.Transactions[0].Index = 1 << 40 })),
			says(nonsense(func(b *pb.SubscribeUpdateBlock) { b.ExecutedTransactionCount = 0 }), &pb.SubscribeUpdate{}, raw{}),
			says(nonsense(func(b *pb.SubscribeUpdateBlock) { b.BlockTime.Timestamp = -5 })),
			says(slotUpdate(1<<60, nil, pb.SlotStatus_SLOT_DEAD), slotUpdate(1<<40, nil, 77)),
		}}},
		{name: "jumps far ahead", fake: &fake{script: []func(*sub) error{says(nonsense(func(b *pb.SubscribeUpdateBlock) {
			b.Slot, b.ParentSlot, b.Blockhash = 1<<50, 1<<50-1, b.ParentBlockhash
		}))}}},
		{name: "sends a message of absurd size", fake: &fake{script: []func(*sub) error{says(raw(make([]byte, 200_000)))}}, change: func(c *Config, _ *Deps) { c.maxMessageBytes = 100_000 }},
		{name: "repeats", fake: &fake{every: func(i int) []any {
			return []any{c[i].Update(), c[max(i-3, 0)].Update(), c[i].Update()}
		}}},
		{name: "reorders", fake: &fake{every: func(i int) []any { // 4 3 2 1 0, 9 8 7 6 5 …
			return []any{c[i-i%5+4-i%5].Update()}
		}}},
		{name: "loses a block once", fake: &fake{script: []func(*sub) error{func(s *sub) error {
			for i := range 20 {
				if i != 11 && s.block(i) != nil {
					return nil
				}
			}
			<-s.stream.Context().Done()
			return nil
		}}}},
		{name: "can tell what it can replay", fake: &fake{tells: true, oldest: 1, script: []func(*sub) error{drop(5), drop(5), fails(codes.Internal), fails(codes.Internal), fails(codes.Internal)}}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := tc.fake
			if f == nil {
				f = &fake{}
			}
			f.chain = c
			synctest.Test(t, func(t *testing.T) {
				sink := follow(t, f, func(l net.Listener) net.Listener { return &cutting{Listener: l, after: tc.cut} }, c, c[0].Parent, tc.change)
				// a block may be given early by a lie that looks right; it is the same block
				if tc.name == "sends nonsense" {
					return
				}
				sourcetest.RequireChain(t, c, sink.Blocks())
				require.Equal(t, c.Skipped(), inside(sink.SkippedSlots(), c))
				require.Empty(t, sink.DeadSlots())
			})
		})
	}
}

func inside(slots []uint64, c sourcetest.Chain) []uint64 {
	return slices.DeleteFunc(slots, func(s uint64) bool { return s < c[0].Slot })
}

// filler hands over from the truth.
type filler struct {
	chain sourcetest.Chain
	mu    sync.Mutex
	gaps  []repair.Gap
}

func (f *filler) Fill(ctx context.Context, from, to uint64, _ source.Ledger, sink source.Sink) error {
	f.mu.Lock()
	f.gaps = append(f.gaps, repair.Gap{From: from, To: to})
	f.mu.Unlock()
	for _, b := range f.chain {
		if b.Slot >= from && b.Slot <= to {
			parent := b.Parent
			if _, err := sink.Block(ctx, &chain.Block{Slot: b.Slot, ParentSlot: &parent, Blockhash: b.Hash, Whole: true}); err != nil {
				return err
			}
		}
	}
	return nil
}

// What a server cannot replay is never passed over in silence: the filler is told, and told right.
func TestGapsAreToldAndFilled(t *testing.T) {
	c := sourcetest.NewChain(1000, 60)
	drop := []func(*sub) error{func(s *sub) error { return s.live(10) }}
	cases := map[string]*fake{
		"out of range":                      {oldest: c[30].Slot, standAt: 35, resumes: 3},
		"says what it has":                  {oldest: c[30].Slot, tells: true, standAt: 35, resumes: 2},
		"says that it has nothing":          {noReplay: true, tells: true, standAt: 35, resumes: 2},
		"refuses every from_slot":           {noReplay: true, standAt: 35, resumes: 4},
		"has nothing, and breaks off again": {noReplay: true, tells: true, standAt: 55, resumes: 4, script: []func(*sub) error{drop[0], func(s *sub) error { return s.live(3) }, func(s *sub) error { return s.live(3) }}},
	}
	for name, f := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f.chain = c
			if f.script == nil {
				f.script = drop
			}
			synctest.Test(t, func(t *testing.T) {
				fill := &filler{chain: c}
				sink := follow(t, f, nil, c, 0, func(_ *Config, d *Deps) { d.Filler = fill })
				got := sink.Slots()
				slices.Sort(got)
				require.Equal(t, len(c), len(slices.Compact(got)))
				require.NotEmpty(t, fill.gaps)
				if f.standAt == 35 { // else the server may be back before the next block
					require.Equal(t, c[10-1].Slot+1, fill.gaps[0].From)
				}
				for _, s := range sink.SkippedSlots() {
					require.Nil(t, c.At(s), "slot %d was called skipped", s)
				}
			})
		})
	}
}

func TestBlockThatIsAlwaysBrokenIsAGapAndTheRestGoesOn(t *testing.T) {
	c := sourcetest.NewChain(1000, 40)
	f := &fake{chain: c, every: func(i int) []any {
		if i == 17 {
			return []any{raw("\x2a\xff\xff\xff\x01")}
		}
		return []any{c[i].Update()}
	}}
	rest := slices.Delete(slices.Clone(c), 17, 18)
	synctest.Test(t, func(t *testing.T) {
		fill := &filler{}
		sink := follow(t, f, nil, rest, 0, func(_ *Config, d *Deps) { d.Filler = fill })
		sourcetest.RequireChain(t, rest, sink.Blocks())
		require.Equal(t, []repair.Gap{{From: c[16].Slot + 1, To: c[17].Slot}}, fill.gaps)
		require.NotEmpty(t, sink.RefusedInputs())
	})
}

func TestResumesBehindTheLedger(t *testing.T) {
	c := sourcetest.NewChain(1000, 30)
	f := &fake{chain: c}
	s, sink := open(t, f.start(t), nil), &sourcetest.Sink{}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { _ = s.Run(ctx, sourcetest.LedgerOf(c, 20), sink) }()
	sink.Wait(t, "blocks", func() bool { return len(sink.Blocks()) == 10 })
	require.Equal(t, c[19].Slot+1, f.subs[0].req.GetFromSlot())
	sourcetest.RequireChain(t, c[20:], sink.Blocks())
}

// TestBeginsWhereItIsTold if the ledger has none of its blocks, as a demo's past is before what is
// live. Later it resumes as ever.
func TestBeginsWhereItIsTold(t *testing.T) {
	c := sourcetest.NewChain(1000, 30)
	for known, first := range map[int]int{0: 5, 20: 20} {
		f := &fake{chain: c}
		s, sink := open(t, f.start(t), func(cfg *Config, _ *Deps) { cfg.From = &c[5].Slot }), &sourcetest.Sink{}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		ledger := sourcetest.Ledger{}
		if known > 0 {
			ledger = sourcetest.LedgerOf(c, known)
		}
		go func() { done <- s.Run(ctx, ledger, sink) }()
		sink.Wait(t, "blocks", func() bool { return len(sink.Blocks()) == 30-first })
		cancel()
		require.NoError(t, <-done)
		sourcetest.RequireChain(t, c[first:], sink.Blocks())
		if known == 0 {
			require.Equal(t, c[5].Slot, f.subs[0].req.GetFromSlot())
		}
	}
}

func TestWrongToken(t *testing.T) {
	f := &fake{chain: sourcetest.NewChain(1000, 5), token: "right"}
	addr := f.start(t)
	err := open(t, addr, func(c *Config, _ *Deps) { c.Token = "wrong" }).Run(t.Context(), sourcetest.Ledger{}, &sourcetest.Sink{})
	require.ErrorContains(t, err, "MINTLAKE_GEYSER_TOKEN")
	require.NotContains(t, err.Error(), "wrong")
	require.Equal(t, codes.Unauthenticated, status.Code(errors.Unwrap(err)))
}

func TestTLSAndToken(t *testing.T) {
	web := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate
	defer web.Close()
	c := sourcetest.NewChain(1000, 5)
	f := &fake{chain: c, token: "right"}
	addr := f.start(t, grpc.Creds(credentials.NewServerTLSFromCert(&web.TLS.Certificates[0])))
	roots := x509.NewCertPool()
	roots.AddCert(web.Certificate())
	s := open(t, addr, func(c *Config, d *Deps) {
		c.Endpoint, c.Token, d.TLS = "https://"+addr, "right", &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	})
	sink := &sourcetest.Sink{}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { _ = s.Run(ctx, sourcetest.Ledger{}, sink) }()
	sink.Wait(t, "blocks", func() bool { return len(sink.Blocks()) == 5 })
}

func TestSubscriptionAndPings(t *testing.T) {
	c := sourcetest.NewChain(1000, 5)
	f := &fake{chain: c}
	synctest.Test(t, func(t *testing.T) {
		follow(t, f, nil, c, 0, func(_ *Config, d *Deps) {
			// the answer to a ping takes its way meanwhile
			d.Tap = func([]byte) { time.Sleep(time.Millisecond) }
		})
	})
	req := f.subs[0].req
	require.Nil(t, req.FromSlot, "nothing was ingested: from now on")
	require.Equal(t, pb.CommitmentLevel_CONFIRMED, req.GetCommitment())
	require.Len(t, req.Blocks["mintlake"].AccountInclude, 3)
	require.True(t, req.Blocks["mintlake"].GetIncludeTransactions())
	require.True(t, req.Slots["mintlake"].GetInterslotUpdates(), "else dead slots are not told")
	f.mu.Lock()
	defer f.mu.Unlock()
	require.NotZero(t, f.pongs, "the server's pings are answered")
}

func TestDeadForkIsTold(t *testing.T) {
	c := sourcetest.NewChain(1000, 3)
	loser := sourcetest.NewBlock(c[2].Slot+1, c[2], "loser")
	winner := sourcetest.NewBlock(c[2].Slot+2, c[2], "winner")
	f := &fake{chain: append(slices.Clone(c), loser, winner), every: nil}
	f.script = []func(*sub) error{func(s *sub) error {
		for i := range f.chain {
			if err := s.block(i); err != nil {
				return err
			}
		}
		for range 2 {
			if err := s.send(slotUpdate(winner.Slot, &c[2].Slot, pb.SlotStatus_SLOT_FINALIZED)); err != nil {
				return err
			}
		}
		<-s.stream.Context().Done()
		return nil
	}}
	s, sink := open(t, f.start(t), nil), &sourcetest.Sink{}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { _ = s.Run(ctx, sourcetest.Ledger{}, sink) }()
	sink.Wait(t, "the dead slot", func() bool { return len(sink.DeadSlots()) > 0 })
	require.Equal(t, []uint64{loser.Slot}, sink.DeadSlots())
}

func TestFullPipelineIsNotTheServersSilence(t *testing.T) {
	c := sourcetest.NewChain(1000, 30)
	f := &fake{chain: c}
	synctest.Test(t, func(t *testing.T) {
		dial := f.startInBubble(t, nil)
		s := open(t, "fake:1", func(c *Config, d *Deps) { c.Silence, d.Dial = 50*time.Millisecond, dial })
		sink := &sourcetest.Sink{OnBlock: func(context.Context, *chain.Block) error { time.Sleep(15 * time.Millisecond); return nil }}
		slow := sync.OnceFunc(func() { time.Sleep(300 * time.Millisecond) })
		inner := sink.OnBlock
		sink.OnBlock = func(ctx context.Context, b *chain.Block) error { slow(); return inner(ctx, b) }
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = s.Run(ctx, sourcetest.Ledger{}, sink) }()
		sink.Wait(t, "blocks", func() bool { return len(sink.Blocks()) == 30 })
		sourcetest.RequireChain(t, c, sink.Blocks())
		require.Equal(t, 1, f.count(), "no reconnect")
	})
}
