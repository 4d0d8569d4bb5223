package enrich

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/factrecord"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/solana/bounds"
	"github.com/mintlake/mintlake/solana/tokenaccount"
	"github.com/mintlake/mintlake/testworld/jsonrpc"
	"github.com/mintlake/mintlake/testworld/layout"
	"github.com/mintlake/mintlake/testworld/liar"
)

// liarSeeds is how many runs TestOneOfThreeUpstreamsLies makes: each takes about a second.
var liarSeeds = flag.Int("liar-seeds", 12, "runs with a lying upstream")

// theirClock is the time of the chain: a bubble of synctest begins in 2000.
func theirClock() time.Time { return time.Now().AddDate(27, 0, 0) }

// inMemory is a transport without a network.
type inMemory map[string]http.Handler

func (m inMemory) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	m[r.URL.Host].ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

// node serves a ledger as it was a while ago: up to lag, as honest nodes differ.
type node struct {
	*ledger
	lag time.Duration
	// awayUntil is until when it answers 503, refused how often it did.
	awayUntil time.Time
	refused   atomic.Int64
	// lies are what it says of some accounts, always.
	lies     map[pubkey.Key]*solana.Account
	mu       sync.Mutex
	at       time.Time
	slot     uint64
	accounts map[pubkey.Key]*solana.Account
}

func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if time.Now().Before(n.awayUntil) {
		n.refused.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	n.mu.Lock()
	if n.at.IsZero() || time.Since(n.at) >= n.lag {
		n.ledger.mu.Lock()
		n.at, n.slot, n.accounts = time.Now(), n.ledger.slot, map[pubkey.Key]*solana.Account{}
		for key, account := range n.ledger.accounts {
			n.accounts[key] = account
		}
		n.ledger.mu.Unlock()
	}
	slot, accounts := n.slot, n.accounts
	n.mu.Unlock()
	(&jsonrpc.Handler{Methods: map[string]jsonrpc.Method{
		"getMultipleAccounts": jsonrpc.MultipleAccounts(func(keys []pubkey.Key, part *jsonrpc.DataSlice) (uint64, []*jsonrpc.Account) {
			found := make([]*jsonrpc.Account, len(keys))
			for i, key := range keys {
				account := accounts[key]
				if lie, ok := n.lies[key]; ok {
					account = lie
				}
				if account != nil {
					found[i] = jsonrpc.AccountOf(account.Owner, 1, account.Data, part)
				}
			}
			return slot, found
		}),
	}}).ServeHTTP(w, r)
}

// sources is a chain that changes all the time, three servers of it, the third of which lies, and
// the rooms that read from them.
type sources struct {
	*broker
	chain     *ledger
	bounds    *bounds.Bounds
	upstreams *Upstreams
	liar      *liar.Liar
	enricher  *Enricher
	// nodeA is a.test, nodeFalse is false.test, which says the same lies always.
	nodeA, nodeFalse *node
	rng              *rand.Rand
	mints            int
}

// Produce writes the requests of checks to the topic that the room reads.
func (s *sources) Produce(ctx context.Context, records ...kafka.Record) error {
	for _, record := range records {
		if record.Topic == schemas.TopicEnrichmentRequests {
			s.raw(record.Key, record.Value)
		}
	}
	return s.broker.Produce(ctx, records...)
}

// newSources starts the rooms. servers is how many of a, b and liar there are, from the last.
func newSources(t *testing.T, seed uint64, lies liar.Behaviour, names ...string) *sources {
	t.Helper()
	s := &sources{broker: newBroker(), chain: newLedger(), rng: rand.New(rand.NewPCG(seed, 2)), mints: 60}
	s.chain.slot = 470_000_000
	s.chain.mu.Lock()
	for i := range s.mints {
		s.set(i)
	}
	s.chain.mu.Unlock()
	s.nodeA = &node{ledger: s.chain}
	hosts := inMemory{
		"a.test": s.nodeA, "b.test": &node{ledger: s.chain, lag: time.Duration(s.rng.IntN(3000)) * time.Millisecond},
		"honest.test": &node{ledger: s.chain, lag: time.Duration(s.rng.IntN(500)) * time.Millisecond},
	}
	s.nodeFalse = &node{ledger: s.chain, lies: map[pubkey.Key]*solana.Account{
		mintKey(10): nil, mintKey(11): mintAccount(77), metaplexOf(mintKey(13)): metaplexAccount(mintKey(13), "Lie", ""),
	}}
	hosts["false.test"] = s.nodeFalse
	client := &http.Client{Transport: hosts}
	lies.Seed, lies.Client = seed, client
	s.liar = liar.New("http://honest.test", lies)
	hosts["liar.test"] = s.liar
	var err error
	s.bounds, err = bounds.New(bounds.Deps{Clock: theirClock})
	require.NoError(t, err)
	deps := UpstreamsDeps{Bounds: s.bounds}
	for _, name := range names {
		rpc, err := solana.NewClient(solana.Config{Endpoints: []string{"http://" + name}, MaxAttempts: 1}, solana.Deps{HTTPClient: client})
		require.NoError(t, err)
		deps.Upstreams = append(deps.Upstreams, Upstream{Name: name, RPC: rpc})
	}
	s.upstreams, err = NewUpstreams(deps)
	require.NoError(t, err)
	cfg := DefaultConfig()
	cfg.OffchainEnabled = false
	e, err := New(cfg, Deps{Consumer: s.member(), Producer: s, Upstreams: s.upstreams, Bounds: s.bounds})
	require.NoError(t, err)
	s.enricher = e
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = e.Run(ctx) })
	checker, err := NewChecker(s.upstreams, s, s.past())
	require.NoError(t, err)
	if checker != nil {
		running.Go(func() { require.NoError(t, checker.Run(ctx)) })
	}
	t.Cleanup(func() { stop(); running.Wait() })
	return s
}

func (s *sources) past() *Past { return &Past{Offsets: s.broker, OpenTail: s.tail} }

// hasMetadata says that the i-th mint has a Metaplex account, and is asked for by that account.
func hasMetadata(i int) bool { return i >= 3 && i%3 == 0 }

// ask asks for the i-th mint: by the mint, or by the account that an update of its metadata named.
func (s *sources) ask(t *testing.T, i int, slot uint64) {
	t.Helper()
	if hasMetadata(i) {
		s.request(t, askAccount(metaplexOf(mintKey(i)), slot, ""))
		return
	}
	s.request(t, ask(mintKey(i), sighted, slot, ""))
}

// askAll asks for all mints as they are.
func (s *sources) askAll(t *testing.T) {
	t.Helper()
	for i := range s.mints {
		s.ask(t, i, s.chain.slot)
	}
}

// set gives a mint other accounts. Of the first three only the supply changes. The caller holds the
// chain's lock.
func (s *sources) set(i int) {
	mint := mintKey(i)
	address, _ := tokenaccount.MetaplexAddress(mint)
	data := layout.Mint{Decimals: byte(i % 10), Supply: s.rng.Uint64N(1e15)}
	if i >= 3 && s.rng.IntN(4) > 0 {
		data.MintAuthority = layout.Some(mintKey(s.rng.IntN(1000)))
	}
	s.chain.accounts[mint] = &solana.Account{Owner: tokenaccount.ProgramToken, Lamports: 1, Data: data.Bytes()}
	if hasMetadata(i) {
		s.chain.accounts[address] = metaplexAccount(mint, fmt.Sprintf("Lake %d", s.rng.IntN(100)), "")
	}
}

// live lets the chain go on for a time: a slot is 200 ms. Mints change now and then; the first
// three change their supply in every second slot.
func (s *sources) live(t *testing.T, d time.Duration, blocks bool) {
	t.Helper()
	for range d / (200 * time.Millisecond) {
		time.Sleep(200 * time.Millisecond)
		// A slot shows with its changes: nobody reads accounts of another one under its number.
		s.chain.mu.Lock()
		s.chain.slot++
		slot := s.chain.slot
		changed := []int{}
		if slot%2 == 0 {
			changed = append(changed, s.rng.IntN(3))
		}
		if s.rng.IntN(5) == 0 {
			changed = append(changed, s.rng.IntN(s.mints))
		}
		for _, i := range changed {
			s.set(i)
		}
		s.chain.mu.Unlock()
		if blocks {
			require.NoError(t, s.bounds.Block(slot, nil, theirClock().Unix()))
		}
		for _, i := range changed {
			s.ask(t, i, slot)
		}
	}
}

// still lets slots go on for a time, in which nothing changes.
func (s *sources) still(d time.Duration) {
	for range d / (200 * time.Millisecond) {
		time.Sleep(200 * time.Millisecond)
		s.chain.mu.Lock()
		s.chain.slot++
		s.chain.mu.Unlock()
	}
}

// requireTruth checks that the registry says of every mint what its accounts say.
func (s *sources) requireTruth(t *testing.T) {
	t.Helper()
	facts := map[pubkey.Key][]registry.Fact{}
	// In this order a state needs nothing of what it has dropped.
	for _, retractions := range []bool{true, false} {
		for _, fact := range s.facts(t) {
			if (fact.GetRetraction() != nil) == retractions {
				facts[pubkey.Key(fact.GetMint())] = append(facts[pubkey.Key(fact.GetMint())], registry.FactsOfEnrichment(fact)...)
			}
		}
	}
	wrong := []string{}
	for i := range s.mints {
		mint := mintKey(i)
		slot, accounts, err := s.chain.GetMultipleAccounts(t.Context(), accountsOf(mint), solana.AccountOptions{})
		require.NoError(t, err)
		var chain []registry.Fact
		for _, fact := range factsOf(mint, slot, accounts[0], accounts[1]).facts {
			chain = append(chain, registry.FactsOfEnrichment(fact)...)
		}
		if want, got := valuesOf(chain), valuesOf(facts[mint]); want != got {
			wrong = append(wrong, fmt.Sprintf("mint %d:\n%s\nwant\n%s", i, got, want))
		}
	}
	require.Empty(t, wrong, "seed told by the test's name")
}

// valuesOf folds facts, and returns the values that hold.
func valuesOf(facts []registry.Fact) string {
	var state registry.State
	for _, fact := range facts {
		state.Apply(fact)
	}
	var lines []string
	for _, fact := range state.Facts() {
		if fact.Register != registry.RegisterRetraction {
			lines = append(lines, fmt.Sprintf("%d %s %q", fact.Register, fact.Item, fact.Value))
		}
	}
	return strings.Join(lines, "\n")
}

func (s *sources) lies(name string) float64 {
	return testutil.ToFloat64(s.upstreams.metrics.lies.WithLabelValues(name))
}

// Of three upstreams one lies, in every way, for a minute. A minute after it stopped, the registry
// is what the chain is; no honest upstream was taken for a liar.
func TestOneOfThreeUpstreamsLies(t *testing.T) {
	for seed := range uint64(*liarSeeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				share := []float64{0.05, 0.3, 0.9}[seed%3]
				s := newSources(t, seed, liar.Behaviour{Share: share, Late: 5 * time.Second}, "a.test", "b.test", "liar.test")
				s.askAll(t)
				s.live(t, time.Minute, seed%2 == 0)
				if share > 0.1 {
					require.Positive(t, s.liar.Lies())
				}
				s.liar.Stop()
				s.live(t, 30*time.Second, seed%2 == 0)
				s.still(30 * time.Second)
				s.requireTruth(t)
				require.Zero(t, s.lies("a.test"))
				require.Zero(t, s.lies("b.test"))
			})
		})
	}
}

// Three honest upstreams, one a little behind, one slow, of a chain that changes all the time: none
// is taken for a liar, and nothing is undecided.
func TestHonestDifferencesAreNoLies(t *testing.T) {
	for seed := range uint64(4) {
		synctest.Test(t, func(t *testing.T) {
			s := newSources(t, seed, liar.Behaviour{}, "a.test", "b.test", "liar.test")
			s.askAll(t)
			s.live(t, 3*time.Minute, true)
			for _, one := range s.upstreams.all {
				require.Zero(t, s.lies(one.Name), one.Name)
				require.False(t, s.upstreams.isOut(one), one.Name)
			}
			require.Zero(t, testutil.ToFloat64(s.upstreams.metrics.checks.WithLabelValues(checkUndecided)))
			require.Positive(t, testutil.ToFloat64(s.upstreams.metrics.checks.WithLabelValues(checkAgreed)))
			require.Positive(t, testutil.ToFloat64(s.upstreams.metrics.checks.WithLabelValues(checkMoving)), "some change all the time")
		})
	}
}

// A lone upstream's impossible claims are refused, and lose nothing else: the requests wait for an
// answer that can be.
func TestALoneUpstreamsImpossibleClaims(t *testing.T) {
	for seed := range uint64(4) {
		synctest.Test(t, func(t *testing.T) {
			s := newSources(t, seed, liar.Behaviour{Share: 0.6, Only: []string{liar.Slots}}, "liar.test")
			s.live(t, 10*time.Second, true) // blocks bound the slots
			s.askAll(t)
			s.live(t, 30*time.Second, true)
			s.liar.Stop()
			s.live(t, 10*time.Second, true)
			require.NotEmpty(t, s.facts(t))
			for _, fact := range s.facts(t) {
				require.Less(t, fact.GetSlot(), s.chain.slot+6_100, "none is above what can be")
				require.Equal(t, "liar.test", fact.GetUpstream())
			}
		})
	}
}

// Two upstreams that contradict each other for good, with nobody to decide: it is told, and neither
// is left out. With a third one, the liar is, and the registry is what the chain is.
func TestAnUpstreamThatSaysTheSameLieAlways(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSources(t, 1, liar.Behaviour{}, "a.test", "false.test")
		s.askAll(t)
		s.live(t, 2*time.Minute, true)
		require.Positive(t, testutil.ToFloat64(s.upstreams.metrics.checks.WithLabelValues(checkUndecided)))
		require.Zero(t, s.lies("a.test"))
		require.Zero(t, s.lies("false.test"))
	})
	synctest.Test(t, func(t *testing.T) {
		s := newSources(t, 1, liar.Behaviour{}, "a.test", "b.test", "false.test")
		s.askAll(t)
		s.live(t, time.Minute, true)
		s.still(30 * time.Second)
		require.Positive(t, s.lies("false.test"))
		require.True(t, s.upstreams.isOut(s.upstreams.named("false.test")))
		s.requireTruth(t)
		require.Zero(t, s.lies("a.test"))
		require.Zero(t, s.lies("b.test"))
		for _, fact := range s.facts(t) {
			if retraction := fact.GetRetraction(); retraction != nil {
				require.Contains(t, retraction.GetReason(), "two upstreams contradict")
			}
		}
	})
}

// The upstream that is asked first says that there is no metadata account, or that it is of another
// program. Nothing else tells of the mint.
func TestALieAboutAMetadataAccount(t *testing.T) {
	for name, said := range map[string]*solana.Account{
		"none": nil, "of another program": mintAccount(1), "malformed": {Owner: tokenaccount.ProgramMetaplex, Data: []byte{4, 1}},
		"of another mint": metaplexAccount(mintKey(16), "Lie", ""),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSources(t, 1, liar.Behaviour{}, "false.test", "a.test", "b.test")
				s.nodeFalse.lies[metaplexOf(mintKey(15))] = said
				s.ask(t, 15, s.chain.slot)
				s.still(30 * time.Second)
				require.Contains(t, kinds(s.facts(t)), "metaplex_account")
				require.Empty(t, s.deadLetters(t))
				require.Positive(t, counted(t, s.upstreams.metrics.checks.WithLabelValues(checkDiffered)))
			})
		})
	}
}

// An answer in which each account names its mint takes no upstream's turn: of two, one would be
// read from always.
func TestAnAnswerWithoutDenialsTakesNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSources(t, 1, liar.Behaviour{}, "a.test", "b.test")
		r := reading{upstream: "a.test", slot: s.chain.slot, accounts: []*solana.Account{metaplexAccount(mintKey(15), "Lake", "")}}
		j := &job{account: metaplexOf(mintKey(15)), request: askAccount(metaplexOf(mintKey(15)), s.chain.slot, "")}
		s.enricher.resolver.turns.enter(j)
		require.NoError(t, s.enricher.resolver.answer(t.Context(), []*job{j}, r))
		require.Zero(t, s.upstreams.next)
	})
}

// An upstream says that there is no metadata account, and the others are away. When one is back
// within the patience of a request, it is asked; else the request ends with what the one said.
func TestNoMetadataAccountWhileOthersAreAway(t *testing.T) {
	for away, want := range map[time.Duration]resolution{10 * time.Second: resolvedMint, time.Hour: resolvedClosed} {
		synctest.Test(t, func(t *testing.T) {
			s := newSources(t, 1, liar.Behaviour{}, "false.test", "a.test")
			s.nodeFalse.lies[metaplexOf(mintKey(15))] = nil
			s.nodeA.awayUntil = time.Now().Add(away)
			s.ask(t, 15, s.chain.slot)
			s.still(2 * time.Minute)
			require.Less(t, s.nodeA.refused.Load(), int64(10), "who fails is left in peace for longer and longer")
			for _, outcome := range []resolution{resolvedMint, resolvedClosed} {
				found := testutil.ToFloat64(s.enricher.metrics.resolutions.WithLabelValues(string(outcome)))
				require.Equal(t, outcome == want, found == 1, "%s with others away for %s", outcome, away)
			}
		})
	}
}

func TestARequestAtASlotOfNoChain(t *testing.T) {
	w := newWorld()
	for i, slot := range []uint64{math.MaxUint64, math.MaxUint64 - 1, 1 << 60} {
		w.request(t, ask(mintKey(i), eventspb.RequestReason_REQUEST_REASON_METADATA_SET, slot, "https://u.test/1"))
		w.request(t, ask(mintKey(i), sighted, slot, ""))
	}
	w.start(t)
	w.drained(t)
	require.Empty(t, w.facts(t))
	require.Len(t, w.deadLetters(t), 6)
	for _, letter := range w.deadLetters(t) {
		require.Contains(t, letter.GetReason(), reasonBadRequest)
	}
	require.NoError(t, proto.Unmarshal(w.deadLetters(t)[0].GetValue(), &eventspb.EnrichmentRequest{}))
}

// An event at a slot that no chain can have reached, of a foreign broker or an earlier version,
// makes no re-read: none would ever be late enough.
func TestAnEventAtASlotOfNoChain(t *testing.T) {
	topic := &events{}
	r, err := NewRereader(RereadConfig{}, RereadDeps{Consumer: topic, Producer: newBroker(), RPC: newLedger()})
	require.NoError(t, err)
	for _, slot := range []uint64{math.MaxUint64 - 1, 1 << 53, 1000} {
		topic.add(t, mintKey(1), slot, schemas.KindMintTo, time.Now())
		r.notice(&topic.records[len(topic.records)-1])
	}
	require.Equal(t, 1, r.dirty.size())
	require.EqualValues(t, 1000, r.dirty.mints[mintKey(1)].slot)
}

// The next process asks other upstreams than the one before did. What an upstream said that is gone
// differs from what the only upstream says that answers. Then a second one answers, too.
func TestAReadFromAnUpstreamThatIsGoneIsChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSources(t, 1, liar.Behaviour{}, "b.test", "a.test")
		s.mints = 1
		for _, fact := range factsOf(mintKey(0), s.chain.slot, mintAccount(77), nil).facts {
			fact.Upstream = "gone.test"
			record, err := factrecord.Record(fact, time.Now())
			require.NoError(t, err)
			require.NoError(t, s.broker.Produce(t.Context(), record))
		}
		s.nodeA.awayUntil = time.Now().Add(10 * time.Second)
		next, err := NewChecker(s.upstreams, s, s.past())
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { require.NoError(t, next.Run(ctx)) })
		s.still(9 * time.Second)
		require.Positive(t, s.nodeA.refused.Load())
		require.Zero(t, testutil.ToFloat64(s.upstreams.metrics.checks.WithLabelValues(checkDiffered)), "one against one decides nothing")
		s.still(30 * time.Second)
		s.requireTruth(t)
		stop()
		running.Wait()
	})
}

// A process ends before it has checked what it wrote. The next one checks it.
func TestTheNextProcessChecks(t *testing.T) {
	lies := 0
	for seed := range uint64(6) {
		synctest.Test(t, func(t *testing.T) {
			s := newSources(t, seed, liar.Behaviour{Share: 0.9}, "a.test", "b.test", "liar.test")
			for i := range s.mints {
				s.ask(t, i, s.chain.slot)
				if i%10 == 9 { // a call of its own: each upstream has its turn
					s.still(200 * time.Millisecond)
				}
			}
			lies += int(s.liar.Lies())
			s.liar.Stop()
			s.upstreams.unchecked.mu.Lock()
			clear(s.upstreams.unchecked.reads)
			s.upstreams.unchecked.mu.Unlock()

			next, err := NewChecker(s.upstreams, s, s.past())
			require.NoError(t, err)
			ctx, stop := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { require.NoError(t, next.Run(ctx)) })
			s.still(time.Minute)
			s.requireTruth(t)
			require.Zero(t, s.lies("a.test")+s.lies("b.test"))
			stop()
			running.Wait()
		})
	}
	require.Positive(t, lies)
}
