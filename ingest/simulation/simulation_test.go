package simulation_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mr-tron/base58"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/runner"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/ingest/source/accounts"
	"github.com/mintlake/mintlake/ingest/source/geyser"
	"github.com/mintlake/mintlake/ingest/source/parse"
	"github.com/mintlake/mintlake/ingest/source/rpc"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/registry/coverage"
	"github.com/mintlake/mintlake/registry/root"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/testworld/simulation"
)

const slots = 160

// TestWhateverTheProviderDoesTheRegistryIsThatOfAPerfectOne runs ingest over MINTLAKE_TEST_SEEDS
// made-up clusters (default 12; 40 in make test-rounds), from MINTLAKE_TEST_FIRST_SEED on.
func TestWhateverTheProviderDoesTheRegistryIsThatOfAPerfectOne(t *testing.T) {
	first := fromEnv(t, "MINTLAKE_TEST_FIRST_SEED", 1)
	for seed := first; seed < first+fromEnv(t, "MINTLAKE_TEST_SEEDS", clusters()); seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := simulation.NewWorld(seed, slots)
				run(t, w, simulation.NewPlan(w), ingest)
			})
		})
	}
}

// TestTheNodeAloneIsEnough: following by getBlock, what the node did not have when it was asked is
// there in the end.
func TestTheNodeAloneIsEnough(t *testing.T) {
	first := fromEnv(t, "MINTLAKE_TEST_FIRST_SEED", 1)
	for seed := first; seed < first+fromEnv(t, "MINTLAKE_TEST_SEEDS", clusters())/2; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := simulation.NewWorld(seed, slots)
				plan := simulation.NewPlan(w)
				plan.Accounts = simulation.AccountsRefused // getBlock shows none
				run(t, w, plan, poll)
			})
		})
	}
}

func TestPerfectProvider(t *testing.T) {
	for seed := range clusters() / 4 {
		synctest.Test(t, func(t *testing.T) {
			w := simulation.NewWorld(seed, slots)
			log := run(t, w, simulation.Perfect(), ingest)
			require.Empty(t, log.DeadLetters)
		})
	}
}

// TestBlockThatCameAsConfirmedAndLostIsTold: a provider that streams blocks of losing forks as
// confirmed has broken its word. Nothing can be taken back from the log, but nothing of it is
// silent: slot records, refusals and a metric tell.
func TestBlockThatCameAsConfirmedAndLostIsTold(t *testing.T) {
	told := 0
	for seed := range clusters() / 2 {
		synctest.Test(t, func(t *testing.T) {
			w := simulation.NewWorld(seed, slots)
			plan := simulation.Perfect()
			plan.Betrays = 0.5
			// finality, half of it, or nothing but what is built on it tells
			plan.Statuses = simulation.StatusMode(seed % 3)
			provider := simulation.NewProvider(w, plan)
			defer provider.Stop()
			log := &memoryLog{}
			ingest(t, provider, simulation.NewNode(provider), log, func(_ context.Context, r *runner.Runner) {
				time.Sleep(w.End + time.Minute - provider.Now())
				require.Empty(t, r.Coverage().Gaps)
			})
			statuses := log.Statuses()
			letters := map[string]bool{}
			for _, d := range log.DeadLetters {
				letters[string(d.GetKey())] = true
			}
			for _, slot := range provider.Betrayed() {
				require.Equal(t, eventspb.SlotStatus_SLOT_STATUS_DEAD, statuses[slot], "slot %d", slot)
				require.True(t, letters[fmt.Sprint("slot ", slot)], "slot %d", slot)
				told++
			}
			for _, b := range w.Chain() {
				require.Equal(t, eventspb.SlotStatus_SLOT_STATUS_INGESTED, statuses[b.Slot], "slot %d", b.Slot)
			}
		})
	}
	require.Greater(t, told, int(clusters()/2))
}

// clusters is how many made-up clusters a property is tried on.
func clusters() uint64 { return uint64(testkit.Rounds(12, 40)) }

func fromEnv(t *testing.T, name string, fallback uint64) uint64 {
	text := os.Getenv(name)
	if text == "" {
		return fallback
	}
	n, err := strconv.ParseUint(text, 10, 32)
	require.NoError(t, err)
	return n
}

// run lets ingest follow a world to its end, stopped and killed as planned, and compares what it
// wrote with the truth.
func run(t *testing.T, w *simulation.World, plan *simulation.Plan, ingest session) *memoryLog {
	t.Helper()
	provider := simulation.NewProvider(w, plan)
	defer provider.Stop() // and all that it runs: a bubble must be left by all
	node, log := simulation.NewNode(provider), &memoryLog{}
	for i, stop := range plan.Stops {
		ingest(t, provider, node, log, func(_ context.Context, r *runner.Runner) {
			time.Sleep(stop - provider.Now())
			// killed before anything is in the ledger, it begins anew wherever the chain is
			for r.Coverage().ToSlot == 0 && provider.Now() < w.Calm {
				time.Sleep(time.Second)
			}
			if plan.Kills[i] {
				log.Kill()
				time.Sleep(time.Second)
			}
		})
		log.Revive()
		time.Sleep(plan.Aways[i])
	}
	ingest(t, provider, node, log, func(ctx context.Context, r *runner.Runner) {
		time.Sleep(w.End - provider.Now())
		for deadline := provider.Now() + time.Hour; ; time.Sleep(time.Second) {
			c := r.Coverage()
			switch {
			case c.ToSlot >= w.Goal() && len(c.Gaps) == 0:
				return
			case ctx.Err() != nil:
				t.Error("ingest ended")
				return
			case provider.Now() > deadline:
				t.Errorf("still incomplete an hour later: %+v, alpenglow %t, plan %+v", c, w.Alpenglow, *plan)
				return
			}
		}
	})
	check(t, w, plan, log)
	return log
}

// session runs ingest until its time is up.
type session func(*testing.T, *simulation.Provider, *simulation.Node, *memoryLog, func(context.Context, *runner.Runner))

// ingest follows the stream, and fills gaps from the node.
func ingest(t *testing.T, provider *simulation.Provider, node *simulation.Node, log *memoryLog, until func(context.Context, *runner.Runner)) {
	t.Helper()
	live(t, log, until, func(metrics prometheus.Registerer, logger *slog.Logger) source.Source {
		filler, err := rpc.New(rpc.Config{}, rpc.Deps{Client: node, Registerer: metrics, Logger: logger})
		require.NoError(t, err)
		follower, err := geyser.New(geyser.Config{Endpoint: "http://provider:10000", Silence: 6 * time.Second, MaxPause: 2 * time.Second}, geyser.Deps{Dial: provider.Dial, Filler: filler, Registerer: metrics, Logger: logger})
		require.NoError(t, err)
		return follower
	})
}

// poll follows the node alone.
func poll(t *testing.T, _ *simulation.Provider, node *simulation.Node, log *memoryLog, until func(context.Context, *runner.Runner)) {
	t.Helper()
	live(t, log, until, func(metrics prometheus.Registerer, logger *slog.Logger) source.Source {
		follower, err := rpc.New(rpc.Config{}, rpc.Deps{Client: node, Registerer: metrics, Logger: logger})
		require.NoError(t, err)
		return follower
	})
}

func live(t *testing.T, log *memoryLog, until func(context.Context, *runner.Runner), open func(prometheus.Registerer, *slog.Logger) source.Source) {
	t.Helper()
	metrics := watched{prometheus.NewRegistry(), prometheus.NewRegistry()}
	logger := slog.New(slog.DiscardHandler)
	if os.Getenv("MINTLAKE_TEST_LOG") != "" {
		logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	r, err := runner.New(runner.Config{Sources: []source.Source{open(metrics, logger)}}, runner.Deps{Producer: log, Ledger: log, Mints: log, Registerer: metrics})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- r.Run(ctx)
		stop()
	}()
	var watch sync.WaitGroup
	watch.Go(func() { // whatever happens, ingest holds a bounded number of blocks
		for ; ctx.Err() == nil; time.Sleep(500 * time.Millisecond) {
			held := metrics.held(t)
			if n := held[inFlight]; n > 32 {
				t.Errorf("%v blocks in flight", n)
			}
			if n := held[waiting]; n > 4*64 {
				t.Errorf("%v blocks wait for a parent", n)
			}
		}
	})
	until(ctx, r)
	stop()
	watch.Wait()
	if err := <-done; err != nil {
		require.ErrorIs(t, err, errKilled)
	}
	if t.Failed() {
		t.FailNow() // only now: a bubble must be left by all
	}
}

// check compares the log with the world.
func check(t *testing.T, w *simulation.World, plan *simulation.Plan, log *memoryLog) {
	t.Helper()
	l := coverage.New()
	for _, s := range log.Slots {
		l.Apply(s)
	}
	c := l.Coverage()
	require.GreaterOrEqual(t, c.ToSlot, w.Goal())
	require.Empty(t, c.Gaps)

	truth := &memoryLog{}
	perfect, err := runner.New(runner.Config{Sources: []source.Source{whole{w, c.FromSlot, c.ToSlot}}}, runner.Deps{Producer: truth})
	require.NoError(t, err)
	require.NoError(t, perfect.Run(context.Background()))
	// A mint that was read before is known to both. Without that, an account update tells what a
	// stream that lost it cannot make up for: so without it, only the events are compared.
	before := w.Reads(c.FromSlot)
	requireSame(t, truth.Registry(before), log.Registry(before))
	if plan.Accounts == simulation.AccountsRefused {
		require.Empty(t, log.Facts)
	} else if plan.Perfect {
		require.NotEmpty(t, log.Facts)
	}
	requireAccounts(t, w, log)
	truth.Facts, log.Facts = nil, nil
	requireSame(t, truth.Registry(nil), log.Registry(nil))
	requireSlots(t, w, plan, c, log)
}

// requireSame compares the registries as users and roots see them. The place of a fact may differ
// where its value does not: of a mint that was sighted twice, the later place holds.
func requireSame(t *testing.T, want, got map[pubkey.Key]*registry.State) {
	t.Helper()
	truth, ours := root.NewReplay(root.EverySlot), root.NewReplay(root.EverySlot)
	for mint, state := range want {
		require.Contains(t, got, mint)
		token, member := state.Token(mint)
		ourToken, ourMember := got[mint].Token(mint)
		require.Equal(t, token, ourToken)
		require.Equal(t, member, ourMember)
		truth.Apply(state.Facts())
		ours.Apply(got[mint].Facts())
	}
	require.Len(t, got, len(want))
	require.Equal(t, truth.Root(), ours.Root())
}

// requireAccounts: every fact of an account is what a transaction of a block of the chain left.
func requireAccounts(t *testing.T, w *simulation.World, log *memoryLog) {
	t.Helper()
	for _, fact := range log.Facts {
		s := w.At(fact.GetSlot())
		require.Equal(t, simulation.OnChain, s.Fate, "slot %d", fact.GetSlot())
		require.True(t, s.Block.Wrote(fact.GetSignature(), fact.GetMint(), fact.GetMintAccount().GetSupply()), "slot %d", fact.GetSlot())
	}
}

func requireSlots(t *testing.T, w *simulation.World, plan *simulation.Plan, c coverage.Coverage, log *memoryLog) {
	t.Helper()
	told := log.Statuses()
	for slot := c.FromSlot; slot <= c.ToSlot; slot++ {
		s := w.At(slot)
		switch got := told[slot]; {
		case s.Fate == simulation.OnChain:
			require.Equal(t, eventspb.SlotStatus_SLOT_STATUS_INGESTED, got, "slot %d", slot)
		case s.Fate == simulation.Skipped:
			require.Equal(t, eventspb.SlotStatus_SLOT_STATUS_SKIPPED, got, "slot %d", slot)
		case plan.Perfect:
			require.Equal(t, eventspb.SlotStatus_SLOT_STATUS_DEAD, got, "slot %d", slot)
		default: // whether the stream told of the losing block is up to the faults
			require.Contains(t, []eventspb.SlotStatus{eventspb.SlotStatus_SLOT_STATUS_DEAD, eventspb.SlotStatus_SLOT_STATUS_SKIPPED}, got, "slot %d", slot)
		}
	}
	for _, record := range log.Slots {
		if s := w.At(record.GetSlot()); record.GetStatus() == eventspb.SlotStatus_SLOT_STATUS_INGESTED {
			require.NotNil(t, s.Block)
			require.Equal(t, simulation.OnChain, s.Fate)
			require.Equal(t, base58.Encode(s.Block.Hash[:]), base58.Encode(record.GetBlockhash()))
			require.Equal(t, s.Block.Parent, record.GetParentSlot())
		}
	}
}

// whole is the perfect source: every block of the chain in order.
type whole struct {
	world    *simulation.World
	from, to uint64
}

func (whole) Kind() string { return source.KindFile }

func (s whole) Run(ctx context.Context, _ source.Ledger, sink source.Sink) error {
	for _, b := range s.world.Chain() {
		if b.Slot < s.from || b.Slot > s.to {
			continue
		}
		buffer := accounts.NewBuffer(nil)
		for _, message := range slices.Concat(b.AccountUpdates(), [][]byte{b.Update()}) {
			u, err := parse.Reader{}.GeyserUpdate(message)
			switch {
			case err != nil:
				return err
			case u.Account != nil:
				buffer.Add(u.Slot, u.Account)
				continue
			}
			buffer.Join(u.Block)
			if _, err := sink.Block(ctx, u.Block); err != nil {
				return err
			}
		}
	}
	return nil
}
