package swap

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/internal/testkit/svmtest"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/pumpcurve"
)

// putCurve adds the curve of a coin that is quoted in a mint.
func putCurve(t *testing.T, c *swaptest.Chain, coin, in venue.Key) {
	t.Helper()
	address, err := pumpcurve.Address(coin)
	require.NoError(t, err)
	data := make([]byte, 166)
	copy(data, []byte{0x17, 0xb7, 0xf8, 0x37, 0x60, 0xd8, 0xac, 0x60})
	svmtest.KeysAt(data, map[int]venue.Key{83: in})
	c.Set(address, pumpcurve.Program, data)
}

// quotedScene is a quotedIn over a chain, with a clock that stands still.
type quotedScene struct {
	*quotedIn
	chain *swaptest.Chain
	log   *lockedBuffer
	mu    sync.Mutex
	time  time.Time
}

func newQuotedScene(t *testing.T) *quotedScene {
	t.Helper()
	s := &quotedScene{chain: chain(), log: &lockedBuffer{}, time: time.Unix(1_700_000_000, 0)}
	var err error
	s.quotedIn, err = newQuotedIn(s.chain, slog.New(slog.NewTextHandler(s.log, nil)), func() time.Time {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.time
	})
	require.NoError(t, err)
	return s
}

func (s *quotedScene) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.time = s.time.Add(d)
}

func (s *quotedScene) calls() int { return s.chain.Calls("getMultipleAccounts") }

// TestOnlyTheFirstQuestionForACoinWaits for its curve. Questions at the same time share the call,
// and later ones are answered at once while the curve is read again.
func TestOnlyTheFirstQuestionForACoinWaits(t *testing.T) {
	s := newQuotedScene(t)
	putCurve(t, s.chain, coin, taxed)
	putCurve(t, s.chain, swaptest.Named("in SOL"), venue.Key{})
	want := []venue.Key{taxed}
	release := s.chain.Hold()
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if found := s.find(t.Context(), coin); len(found) != 1 || found[0] != taxed {
				t.Errorf("found %v", found)
			}
		})
	}
	require.Eventually(t, func() bool { return s.calls() == 1 }, hang, time.Millisecond)
	release()
	wg.Wait()
	require.Equal(t, 1, s.calls())
	require.Equal(t, want, s.find(t.Context(), coin, swaptest.Named("in SOL"), swaptest.Named("no coin of pump's")), "SOL is a hub")
	require.Equal(t, 3, s.calls())

	s.pass(curveTTL)
	release = s.chain.Hold()
	for range 3 {
		require.Equal(t, want, s.find(t.Context(), coin), "no call ends now")
	}
	require.Eventually(t, func() bool { return s.calls() == 4 }, hang, time.Millisecond)
	release()
	require.Eventually(t, func() bool {
		kept, _ := s.known.Get(coin)
		return s.now().Before(kept.till)
	}, hang, time.Millisecond)
	require.Equal(t, want, s.find(t.Context(), coin))
	require.Equal(t, 4, s.calls())

	// Who does not want to wait is not held.
	release = s.chain.Hold()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	require.Empty(t, s.find(gone, swaptest.Named("another")))
	release()
}

// TestThatACoinHadNoCurveCountsForAWhile: whoever asks long afterwards waits for the call.
func TestThatACoinHadNoCurveCountsForAWhile(t *testing.T) {
	s := newQuotedScene(t)
	require.Empty(t, s.find(t.Context(), coin))
	putCurve(t, s.chain, coin, taxed)
	s.pass(2 * noCurveTTL)
	require.Equal(t, []venue.Key{taxed}, s.find(t.Context(), coin))
	require.Equal(t, 2, s.calls())
}

// TestACurveThatCannotBeReadIsNoError: what was known of its coin stays, and it is read again
// later.
func TestACurveThatCannotBeReadIsNoError(t *testing.T) {
	s := newQuotedScene(t)
	putCurve(t, s.chain, coin, taxed)
	s.chain.Fail(errors.New("away"))
	require.Empty(t, s.find(t.Context(), coin))
	require.Contains(t, s.log.String(), "a curve cannot be read")
	require.Equal(t, 1, s.calls())
	require.Empty(t, s.find(t.Context(), coin), "it is not tried again at once")
	require.Equal(t, 1, s.calls())

	s.chain.Fail(nil)
	s.pass(noAnswerTTL)
	require.Eventually(t, func() bool { return len(s.find(t.Context(), coin)) == 1 }, hang, time.Millisecond)
	require.Equal(t, 2, s.calls())

	s.chain.Fail(errors.New("away"))
	s.pass(curveTTL)
	require.Eventually(t, func() bool {
		require.Equal(t, []venue.Key{taxed}, s.find(t.Context(), coin))
		return s.failures.Load() == 2
	}, hang, time.Millisecond)
	require.Equal(t, []venue.Key{taxed}, s.find(t.Context(), coin))
}

// heldPairs holds pairs as they were when they were asked for first.
type heldPairs struct {
	market *market.Market
	held   map[[2]venue.Key]*market.Snapshot
}

func (h *heldPairs) Pair(a, b venue.Key) (*market.Snapshot, error) {
	kept := h.held[[2]venue.Key{a, b}]
	if kept == nil {
		return nil, market.ErrNotHeld
	}
	now := *kept
	now.ReadAt = time.Now()
	return &now, nil
}

// TestAHeldQuoteMakesNoCall: pairs that are held are quoted from memory, also while the JSON-RPC
// server is away. Hubs are never taken for coins of pump's.
func TestAHeldQuoteMakesNoCall(t *testing.T) {
	c := chain()
	sol := swaptest.WrappedSOL
	putCurve(t, c, coin, taxed)
	h := &heldPairs{held: map[[2]venue.Key]*market.Snapshot{}}
	now := time.Now()
	store, err := keys.NewStatic()
	require.NoError(t, err)
	s, err := New(Config{Addr: "127.0.0.1:0", Hubs: []venue.Key{sol}}, Deps{Keys: store, RPC: c, Now: func() time.Time { return now }})
	require.NoError(t, err)
	h.market, err = market.New(market.Config{}, market.Deps{RPC: c, Venues: s.cfg.venues})
	require.NoError(t, err)
	for _, p := range [][2]venue.Key{{coin, sol}, {coin, taxed}, {taxed, sol}} {
		c.CPMM(swaptest.Pool{Name: p[0].String() + p[1].String(), Mints: p, Amounts: [2]uint64{1 << 40, 1 << 40}, TradeRate: 2500})
		snapshot, err := h.market.Snapshot(t.Context(), p[0], p[1])
		require.NoError(t, err)
		h.held[p], h.held[[2]venue.Key{p[1], p[0]}] = snapshot, snapshot
	}
	s.market, err = market.New(market.Config{}, market.Deps{RPC: c, Venues: s.cfg.venues, Held: h, Now: func() time.Time { return now }})
	require.NoError(t, err)
	require.NoError(t, s.trust.Check(t.Context(), 0))
	ask := func(in, out venue.Key) *view {
		t.Helper()
		r, err := parseRequest(fields{{fieldSource, in.String()}, {fieldTarget, out.String()}, {fieldAmount, "1000000"}, {fieldSlippage, "50"}}, false)
		require.NoError(t, err)
		_, choice, err := s.quote(t.Context(), r)
		require.NoError(t, err)
		return choice.view
	}
	calls := func() int { return c.Calls("getMultipleAccounts") + c.Calls("getProgramAccounts") }
	before := calls()
	found := ask(coin, sol)
	require.Equal(t, before+1, calls(), "the coin's curve")
	require.Len(t, found.graph.Neighbours(coin), 2, "a route may go through the mint in which the coin is quoted")
	for range 3 {
		ask(coin, sol)
	}
	require.Equal(t, before+1, calls())

	c.Fail(errors.New("away"))
	ask(sol, coin)
	require.Equal(t, before+1, calls())
	require.Len(t, ask(taxed, sol).graph.Neighbours(taxed), 1, "nothing is known of its curve")
	require.Equal(t, before+2, calls())
	ask(taxed, sol)
	require.Equal(t, before+2, calls(), "and nobody waits for it again")
}

// TestOnlyHubs: a request may leave out routes through the mint in which pump quotes a token.
func TestOnlyHubs(t *testing.T) {
	c := chain()
	other := swaptest.Named("other")
	c.Mint(other, swaptest.TokenProgram, 6)
	putCurve(t, c, coin, other)
	for _, p := range [][2]venue.Key{{coin, other}, {other, swaptest.WrappedSOL}} {
		c.CPMM(swaptest.Pool{Name: p[0].String(), Mints: p, Amounts: [2]uint64{1 << 40, 1 << 40}, TradeRate: 2500})
	}
	f := start(t, Config{Hubs: []venue.Key{swaptest.WrappedSOL}}, c)
	path := query(coin, swaptest.WrappedSOL, "1000000")
	for _, more := range []string{"", "&only_hubs=false", "&restrictIntermediateTokens=false"} {
		require.Len(t, f.quoteOK(t, path+more).Route, 2)
	}
	for _, more := range []string{"&only_hubs=true", "&restrictIntermediateTokens=true"} {
		f.refused(t, http.MethodGet, path+more, "", http.StatusNotFound, "no pool trades")
	}
}
