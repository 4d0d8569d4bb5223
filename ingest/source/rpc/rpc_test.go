package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/testworld/jsonrpc"
)

// node is a fake server over a made-up chain.
type node struct {
	t  testing.TB
	mu sync.Mutex
	// tip is the slot that getSlot answers.
	tip    uint64
	blocks map[uint64][]byte
	// hidden slots are not listed by getBlocks and answered as skipped so many times.
	hidden map[uint64]int
	// fails answers with these errors first, method by method.
	fails  map[string][]error
	asked  map[uint64]int
	header map[uint64]int
	order  []uint64
}

func newNode(t testing.TB, c sourcetest.Chain) *node {
	n := &node{t: t, tip: c[len(c)-1].Slot, blocks: map[uint64][]byte{}, hidden: map[uint64]int{}, fails: map[string][]error{},
		asked: map[uint64]int{}, header: map[uint64]int{}}
	for _, b := range c {
		n.blocks[b.Slot] = b.JSON(t)
	}
	return n
}

func (n *node) fail(method string) error {
	if list := n.fails[method]; len(list) > 0 {
		n.fails[method] = list[1:]
		return list[0]
	}
	return nil
}

func (n *node) GetSlot(context.Context, solana.Commitment) (uint64, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.tip, n.fail("getSlot")
}

func (n *node) GetBlocks(_ context.Context, from, to uint64, _ solana.Commitment) (out []uint64, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for slot := range n.blocks {
		if slot >= from && slot <= to && n.hidden[slot] == 0 {
			out = append(out, slot)
		}
	}
	slices.Sort(out)
	return out, n.fail("getBlocks")
}

func (n *node) GetBlock(ctx context.Context, slot uint64, opts solana.BlockOptions) (json.RawMessage, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if opts.HeaderOnly {
		n.header[slot]++
	} else {
		n.asked[slot]++
		n.order = append(n.order, slot)
	}
	if err := n.fail("getBlock"); err != nil {
		return nil, err
	}
	if n.hidden[slot] > 1 {
		n.hidden[slot]--
		return nil, &solana.RPCError{Code: solana.CodeSlotSkipped}
	}
	if raw, ok := n.blocks[slot]; ok {
		return raw, ctx.Err()
	}
	return nil, &solana.RPCError{Code: solana.CodeSlotSkipped}
}

func open(t testing.TB, cfg Config, client Client) *Source {
	t.Helper()
	cfg.firstPause, cfg.poll = time.Millisecond, time.Millisecond
	s, err := New(cfg, Deps{Client: client})
	require.NoError(t, err)
	return s
}

func ends(c sourcetest.Chain) (from, to *uint64) { return &c[0].Slot, &c[len(c)-1].Slot }

func TestContract(t *testing.T) {
	t.Run("range", func(t *testing.T) {
		sourcetest.Contract(t, false, func(t *testing.T, setup sourcetest.Setup) source.Source {
			n := newNode(t, setup.Chain)
			if setup.Broken {
				n.blocks[setup.Chain.Skipped()[1]] = []byte(`{"blockhash":"x"}`)
			}
			from, to := ends(setup.Chain)
			return open(t, Config{From: from, To: to}, n)
		})
	})
	t.Run("tip", func(t *testing.T) {
		sourcetest.Contract(t, true, func(t *testing.T, setup sourcetest.Setup) source.Source {
			n := newNode(t, setup.Chain)
			if setup.Broken {
				n.blocks[setup.Chain.Skipped()[1]] = []byte(`{"blockhash":"x"}`)
			}
			last := n.tip
			n.tip = setup.Chain[0].Slot
			go func() {
				for slot := n.tip; slot <= last && t.Context().Err() == nil; slot++ {
					n.mu.Lock()
					n.tip = slot
					n.mu.Unlock()
					time.Sleep(time.Millisecond)
				}
			}()
			return open(t, Config{From: &setup.Chain[0].Slot}, n)
		})
	})
	t.Run("over http", func(t *testing.T) {
		sourcetest.Contract(t, false, func(t *testing.T, setup sourcetest.Setup) source.Source {
			n := newNode(t, setup.Chain)
			if setup.Broken {
				n.blocks[setup.Chain.Skipped()[1]] = []byte(`{"blockhash":"x"}`)
			}
			client, err := solana.NewClient(solana.Config{Endpoints: []string{serve(t, n)}}, solana.Deps{})
			require.NoError(t, err)
			from, to := ends(setup.Chain)
			return open(t, Config{From: from, To: to}, client)
		})
	})
}

// serve puts the node behind HTTP and answers every fifth request with 503.
func serve(t testing.TB, n *node) string {
	t.Helper()
	method := func(call func(slots ...uint64) (any, error)) jsonrpc.Method {
		return func(params []json.RawMessage) (any, error) {
			slots := make([]uint64, 2)
			for i := range min(len(params), len(slots)) {
				_ = json.Unmarshal(params[i], &slots[i]) // others are options
			}
			result, err := call(slots...)
			if err != nil {
				err = &jsonrpc.Error{Code: solana.CodeSlotSkipped, Message: "skipped"}
			}
			return result, err
		}
	}
	answers := &jsonrpc.Handler{Methods: map[string]jsonrpc.Method{
		"getSlot":   method(func(...uint64) (any, error) { return n.GetSlot(t.Context(), "") }),
		"getBlocks": method(func(slots ...uint64) (any, error) { return n.GetBlocks(t.Context(), slots[0], slots[1], "") }),
		"getBlock":  method(func(slots ...uint64) (any, error) { return n.GetBlock(t.Context(), slots[0], solana.BlockOptions{}) }),
	}}
	var calls atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1)%5 == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		answers.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func runAll(t *testing.T, s *Source, ledger source.Ledger) *sourcetest.Sink {
	t.Helper()
	sink := &sourcetest.Sink{}
	require.NoError(t, s.Run(t.Context(), ledger, sink))
	return sink
}

func TestBlockThatTheServerHidesIsFoundByItsChild(t *testing.T) {
	c := sourcetest.NewChain(1000, 30)
	n := newNode(t, c)
	for _, i := range []int{4, 10, 11, 12, 20} {
		n.hidden[c[i].Slot] = 1 // left out of the list, answered when asked for
	}
	from, to := ends(c)
	sink := runAll(t, open(t, Config{From: from, To: to}, n), sourcetest.Ledger{})
	got := sink.Slots()
	slices.Sort(got)
	var want []uint64
	for _, b := range c {
		want = append(want, b.Slot)
	}
	require.Equal(t, want, got)
	require.Equal(t, want, sink.Slots(), "in order even so")
	for _, s := range sink.SkippedSlots() {
		require.Nil(t, c.At(s))
	}
}

func TestBlockThatCannotBeHadIsRefusedAndTheRestRead(t *testing.T) {
	c := sourcetest.NewChain(1000, 30)
	n := newNode(t, c)
	delete(n.blocks, c[7].Slot) // the server says skipped, its child says otherwise
	from, to := ends(c)
	sink := runAll(t, open(t, Config{From: from, To: to}, n), sourcetest.Ledger{})
	require.Len(t, sink.Blocks(), 29)
	require.Contains(t, sink.RefusedInputs(), fmt.Sprintf("slot %d", c[7].Slot))
	require.NotContains(t, sink.SkippedSlots(), c[7].Slot, "a hole is never taken for a skipped slot")
}

func TestServerThatIsAwayIsWaitedFor(t *testing.T) {
	c := sourcetest.NewChain(1000, 10)
	n := newNode(t, c)
	away := []error{&solana.HTTPError{Status: 503}, &solana.HTTPError{Status: 429}, &solana.RPCError{Code: solana.CodeNodeUnhealthy}}
	n.fails = map[string][]error{"getSlot": slices.Clone(away), "getBlocks": slices.Clone(away), "getBlock": slices.Clone(away)}
	from, to := ends(c)
	sink := runAll(t, open(t, Config{From: from, To: to}, n), sourcetest.Ledger{})
	sourcetest.RequireChain(t, c, sink.Blocks())
	read, total := sink.ProgressSaid()
	require.Equal(t, total, read)
	require.Equal(t, *to-*from+1, total)
}

func TestServerWithoutGetBlocks(t *testing.T) {
	c := sourcetest.NewChain(1000, 20)
	n := newNode(t, c)
	n.fails = map[string][]error{"getBlocks": {&solana.RPCError{Code: -32601}}}
	from, to := ends(c)
	sink := runAll(t, open(t, Config{From: from, To: to}, n), sourcetest.Ledger{})
	sourcetest.RequireChain(t, c, sink.Blocks())
	require.Equal(t, c.Skipped(), sink.SkippedSlots())
}

func TestWrongKeyEndsTheRun(t *testing.T) {
	c := sourcetest.NewChain(1000, 5)
	n := newNode(t, c)
	n.fails = map[string][]error{"getSlot": {&solana.HTTPError{Status: 401}}}
	from, to := ends(c)
	require.ErrorContains(t, open(t, Config{From: from, To: to}, n).Run(t.Context(), sourcetest.Ledger{}, &sourcetest.Sink{}), "401")
}

func TestKnownBlocksCostOnlyAHeader(t *testing.T) {
	c := sourcetest.NewChain(1000, 30)
	n := newNode(t, c)
	from, to := ends(c)
	sink := runAll(t, open(t, Config{From: from, To: to}, n), sourcetest.LedgerOf(c, 20))
	sourcetest.RequireChain(t, c[20:], sink.Blocks())
	for _, b := range c[:20] {
		require.Zero(t, n.asked[b.Slot])
		require.Equal(t, 1, n.header[b.Slot])
	}
}

// countingSink counts the refusals of each input.
type countingSink struct {
	sourcetest.Sink
	refusals map[string]int
}

func (s *countingSink) Refused(_ context.Context, name string, _ error) { s.refusals[name]++ }

// TestGapIsRefusedOnce: a filler is asked for the same gap again and again, and reports a block
// that cannot be had once.
func TestGapIsRefusedOnce(t *testing.T) {
	c := sourcetest.NewChain(1000, 5)
	n := newNode(t, c)
	n.blocks[c[2].Slot] = []byte(`{"blockhash":"x"}`)
	s, sink := open(t, Config{}, n), &countingSink{refusals: map[string]int{}}
	for range 3 {
		require.NoError(t, s.Fill(t.Context(), c[0].Slot, c[4].Slot, sourcetest.Ledger{}, sink))
	}
	require.Equal(t, map[string]int{fmt.Sprintf("slot %d", c[2].Slot): 1}, sink.refusals)
	require.Len(t, sink.Blocks(), 3*4, "the others are read each time")
}

func TestFullSinkBoundsTheBlocksHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sourcetest.NewChain(1000, 40)
		n := newNode(t, c)
		from, to := ends(c)
		ctx, cancel := context.WithCancel(t.Context())
		sink := &sourcetest.Sink{OnBlock: func(ctx context.Context, _ *chain.Block) error { <-ctx.Done(); return ctx.Err() }}
		done := make(chan error, 1)
		s := open(t, Config{From: from, To: to, Parallel: 4}, n)
		go func() { done <- s.Run(ctx, sourcetest.Ledger{}, sink) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		n.mu.Lock()
		asked := len(n.order)
		n.mu.Unlock()
		require.Positive(t, asked)
		require.LessOrEqual(t, asked, 4+2)
		cancel()
		require.NoError(t, <-done)
	})
}
