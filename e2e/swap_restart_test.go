package e2e

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/demo"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/market"
)

// TestKillsDoNotStopQuotes: a swap API is killed while it holds pools and the chain goes on. The
// next one goes on from the checkpoint: its first quotes are of the state of now, equal those that
// are read from the chain, and nothing is listed or read for them but what is new.
func TestKillsDoNotStopQuotes(t *testing.T) {
	t.Parallel()
	r := newRestarts(t)
	dir := t.TempDir()
	up := r.launch(dir, "--swap-fill")
	require.Eventually(t, func() bool { return up.metric(`mintlake_swap_state_readings_total{outcome="filled"}`) == 1 }, hang, 100*time.Millisecond, up.log())
	for kills := range testkit.Rounds(2, 10) {
		r.hold(up)
		up.kill()
		killed, began := r.node.Slot(), time.Now()
		require.Eventually(t, func() bool { return r.node.Slot() > killed+market.HeldSlots+2 }, hang, 10*time.Millisecond)
		up = r.launch(dir)
		require.Eventually(t, func() bool {
			return up.metric("mintlake_swap_state_slot") > 0 && up.metric("mintlake_swap_state_behind") == 0
		}, hang, 5*time.Millisecond, up.log())
		t.Logf("kill %d: the state has caught up %s later", kills, time.Since(began).Round(time.Millisecond))
		r.compare(up)
		require.EqualValues(t, 1, r.value(up, `mintlake_swap_state_restores_total{outcome="restored"}`))
		require.Positive(t, r.value(up, `mintlake_swap_pair_reads_total{outcome="held"}`))
	}
	require.Zero(t, up.stop())
}

// restarts is a demo chain that goes on, and swap APIs over it.
type restarts struct {
	t       *testing.T
	node    *demo.Node
	brokers string
	// standing is held while no slot is made.
	standing sync.Mutex
	// judge asks an API that reads pools when a quote needs them.
	judge *swapper
	mints []string
}

func newRestarts(t *testing.T) *restarts {
	t.Helper()
	r := &restarts{t: t, brokers: strings.Join(kafkatest.Start(t), ",")}
	// As slow as the real chain: held state more than ten slots late is not quoted, and a busy
	// machine is always a second late.
	const slotTime = 400 * time.Millisecond
	r.node = startDemo(t, demo.Config{Seed: 18, TPS: 20, Tokens: 20, StartSlot: 400_000_000, SlotTime: slotTime})
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	go func() {
		for {
			select {
			case <-over:
				return
			case <-time.After(slotTime):
			}
			r.standing.Lock()
			_ = r.node.Step(1)
			r.standing.Unlock()
		}
	}()
	r.judge = r.asker(r.launch(t.TempDir(), "--swap-state", "rpc"))
	r.mints = r.judge.pooledMints(t)
	return r
}

// launch starts a swap API. It remembers nothing that it has read, as quotes are compared slot by
// slot.
func (r *restarts) launch(dir string, more ...string) *instance {
	r.t.Helper()
	up := beginCommand(r.t, "swap", dir, append([]string{"--kafka-brokers", r.brokers, "--rpc-upstream", r.node.RPCURL(),
		"--source", "geyser+http://" + r.node.GeyserAddr(), "--rate-limits-enabled=false", "--swap-state-ttl", "1ms", "--swap-pools-ttl", "1ms"}, more...)...)
	up.awaitUp()
	return up
}

func (r *restarts) asker(up *instance) *swapper {
	return &swapper{up: &instance{t: r.t, addresses: map[string]string{"rpc": r.node.RPCURL(), "swap": up.addresses["swap"]}}, user: pubkey.Key{1, 2, 3}.String()}
}

// round asks for a quote of each token.
func (r *restarts) round(up *instance) {
	r.t.Helper()
	for _, mint := range r.mints {
		r.quote(up, mint)
	}
}

// quote asks for a token; nil means that there is no route.
func (r *restarts) quote(up *instance, mint string) *swapQuote {
	r.t.Helper()
	q, err := r.asker(up).quote(solMint, mint, 10_000_000)
	require.NoError(r.t, err)
	return q
}

// value is that of a metric.
func (r *restarts) value(up *instance, name string) float64 {
	r.t.Helper()
	value, err := up.scrape(name, hang)
	require.NoError(r.t, err)
	return value
}

// What was done for quotes: pairs read, and pairs listed.
const (
	pairsRead   = `mintlake_swap_pair_reads_total{outcome="read"}`
	pairsListed = `mintlake_swap_state_readings_total{outcome="listed"}`
)

// hold asks until an API holds all pairs, and has written them.
func (r *restarts) hold(up *instance) {
	r.t.Helper()
	r.round(up)
	for _, mint := range r.mints {
		until(r.t, func() bool {
			before := r.value(up, pairsRead)
			r.quote(up, mint)
			return r.value(up, pairsRead) == before
		}, 500*time.Millisecond, "the pairs of "+mint+" are held")
	}
	const written = `mintlake_swap_state_checkpoints_total{outcome="written"}`
	before := r.value(up, written)
	until(r.t, func() bool {
		r.round(up) // pairs with new pools are whole when these are final
		return r.value(up, written) >= before+2
	}, 500*time.Millisecond, "checkpoints are written")
}

// compare holds an API's quotes to those that are read from the chain. Most are of held state at
// once, and few pairs are listed: one with a pool that was not final at the checkpoint is. A pool
// that is as young as the last slots is held when these are confirmed, and state that is older than
// five seconds is not quoted: such a token is asked for again, until nothing is read for it.
func (r *restarts) compare(up *instance) {
	r.t.Helper()
	listed, atOnce := r.value(up, pairsListed), 0
	for _, mint := range r.mints {
		tries := 0
		until(r.t, func() bool {
			tries++
			return r.compareOne(up, mint)
		}, 500*time.Millisecond, "a quote of "+mint+" without a read")
		if tries == 1 {
			atOnce++
		}
	}
	require.LessOrEqual(r.t, r.value(up, pairsListed)-listed, float64(len(r.mints)/5), "pairs are listed for quotes")
	require.Greater(r.t, atOnce, len(r.mints)/2, "most pairs are held at the first quote")
}

// compareOne lets the chain stand and compares a token's quote with the judge's. It returns whether
// nothing was read for it.
func (r *restarts) compareOne(up *instance, mint string) (held bool) {
	t := r.t
	t.Helper()
	r.standing.Lock()
	defer r.standing.Unlock()
	slot := r.node.Slot()
	require.Eventually(t, func() bool { return up.metric("mintlake_swap_state_slot") == float64(slot) }, hang, 10*time.Millisecond)
	before := r.value(up, pairsRead)
	got := r.quote(up, mint)
	held = r.value(up, pairsRead) == before
	want, err := r.judge.quote(solMint, mint, 10_000_000)
	require.NoError(t, err)
	if want == nil {
		require.Nil(t, got, mint)
		return held
	}
	require.NotNil(t, got, mint)
	require.Equal(t, want.Out, got.Out, "%s at slot %d: %s", mint, slot, fmt.Sprintf("%+v, not %+v", got.Route, want.Route))
	return held
}
