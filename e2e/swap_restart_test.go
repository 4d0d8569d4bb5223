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
)

// TestKillsDoNotStopQuotes: a swap API is killed while it holds pools and the chain goes on. The
// next one goes on from the checkpoint: its first quotes are of the state of now, equal those that
// are read from the chain, and nothing is listed or read for them.
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
		require.Eventually(t, func() bool { return r.node.Slot() > killed+30 }, hang, 10*time.Millisecond)
		up = r.launch(dir)
		require.Eventually(t, func() bool {
			return up.metric("mintlake_swap_state_slot") > 0 && up.metric("mintlake_swap_state_behind") == 0
		}, hang, 5*time.Millisecond, up.log())
		t.Logf("kill %d: the state has caught up %s later", kills, time.Since(began).Round(time.Millisecond))
		r.compare(up)
		require.EqualValues(t, 1, up.metric(`mintlake_swap_state_restores_total{outcome="restored"}`))
		require.Positive(t, up.metric(`mintlake_swap_pair_reads_total{outcome="held"}`))
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
	r.node = startDemo(t, demo.Config{Seed: 18, TPS: 50, Tokens: 20, StartSlot: 400_000_000, SlotTime: 100 * time.Millisecond})
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	go func() {
		for {
			select {
			case <-over:
				return
			case <-time.After(100 * time.Millisecond):
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

// launch starts a swap API.
func (r *restarts) launch(dir string, more ...string) *instance {
	r.t.Helper()
	up := beginCommand(r.t, "swap", dir, append([]string{"--kafka-brokers", r.brokers, "--rpc-upstream", r.node.RPCURL(),
		"--source", "geyser+http://" + r.node.GeyserAddr(), "--rate-limits-enabled=false"}, more...)...)
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
		_, err := r.asker(up).quote(solMint, mint, 10_000_000)
		require.NoError(r.t, err)
	}
}

// value is that of a metric.
func (r *restarts) value(up *instance, name string) float64 {
	r.t.Helper()
	value, err := up.scrape(name, hang)
	require.NoError(r.t, err)
	return value
}

// read counts what was read or listed for quotes.
func (r *restarts) read(up *instance) map[string]float64 {
	r.t.Helper()
	counted := map[string]float64{}
	for _, name := range []string{
		`mintlake_swap_pair_reads_total{outcome="read"}`, `mintlake_swap_state_readings_total{outcome="read"}`, `mintlake_swap_state_readings_total{outcome="listed"}`,
	} {
		counted[name] = r.value(up, name)
	}
	return counted
}

// until calls done until it is true.
func (r *restarts) until(done func() bool, pause time.Duration, what string) {
	r.t.Helper()
	for deadline := time.Now().Add(hang); !done(); time.Sleep(pause) {
		require.True(r.t, time.Now().Before(deadline), what)
	}
}

// hold asks until an API holds all pairs, and has written them.
func (r *restarts) hold(up *instance) {
	r.t.Helper()
	r.until(func() bool {
		before := r.value(up, `mintlake_swap_pair_reads_total{outcome="read"}`)
		r.round(up)
		return r.value(up, `mintlake_swap_pair_reads_total{outcome="read"}`) == before
	}, 100*time.Millisecond, "all pairs are held")
	const written = `mintlake_swap_state_checkpoints_total{outcome="written"}`
	before := r.value(up, written)
	r.until(func() bool {
		r.round(up) // pairs with new pools are whole when these are final
		return r.value(up, written) >= before+2
	}, 500*time.Millisecond, "checkpoints are written")
}

// compare lets the chain stand, and holds the quotes of an API to those that are read from it.
func (r *restarts) compare(up *instance) {
	t := r.t
	t.Helper()
	r.standing.Lock()
	defer r.standing.Unlock()
	slot := r.node.Slot()
	require.Eventually(t, func() bool { return up.metric("mintlake_swap_state_slot") == float64(slot) }, hang, 10*time.Millisecond)
	listed := r.value(up, `mintlake_swap_state_readings_total{outcome="listed"}`)
	r.round(up) // pools of the last slots may be read once
	before := r.read(up)
	require.Equal(t, listed, before[`mintlake_swap_state_readings_total{outcome="listed"}`])
	for _, mint := range r.mints {
		want, err := r.judge.quote(solMint, mint, 10_000_000)
		require.NoError(t, err)
		got, err := r.asker(up).quote(solMint, mint, 10_000_000)
		require.NoError(t, err)
		if want == nil {
			require.Nil(t, got, mint)
			continue
		}
		require.NotNil(t, got, mint)
		require.Equal(t, want.Out, got.Out, "%s at slot %d: %s", mint, slot, fmt.Sprintf("%+v, not %+v", got.Route, want.Route))
	}
	require.Equal(t, before, r.read(up), "nothing is listed or read for quotes")
}
