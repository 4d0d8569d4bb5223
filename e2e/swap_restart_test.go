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

// TestQuotesGoOnAfterAKill: a swap API is killed while it holds pools and the chain goes on. The
// next one goes on from the checkpoint: its first quotes are of the state of now, equal those that
// are read from the chain, and nothing is listed or read for them.
func TestQuotesGoOnAfterAKill(t *testing.T) {
	t.Parallel()
	node := startDemo(t, demo.Config{Seed: 18, TPS: 50, Tokens: 20, StartSlot: 400_000_000, SlotTime: 100 * time.Millisecond})
	var standing sync.Mutex // held: no slot is made
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	go func() {
		for {
			select {
			case <-over:
				return
			case <-time.After(100 * time.Millisecond):
			}
			standing.Lock()
			_ = node.Step(1)
			standing.Unlock()
		}
	}()
	dir, brokers := t.TempDir(), strings.Join(kafkatest.Start(t), ",")
	launchSwap := func(dir string, more ...string) *instance {
		up := beginCommand(t, "swap", dir, append([]string{"--kafka-brokers", brokers, "--rpc-upstream", node.RPCURL(),
			"--source", "geyser+http://" + node.GeyserAddr(), "--rate-limits-enabled=false"}, more...)...)
		up.awaitUp()
		return up
	}
	asker := func(up *instance) *swapper {
		return &swapper{up: &instance{t: t, addresses: map[string]string{"rpc": node.RPCURL(), "swap": up.addresses["swap"]}}, user: pubkey.Key{1, 2, 3}.String()}
	}
	judge := asker(launchSwap(t.TempDir(), "--swap-state", "rpc"))
	mints := judge.pooledMints(t)
	// round asks for a quote of each token, and returns the pairs that were read for them.
	round := func(up *instance) (reads float64) {
		for _, mint := range mints {
			_, err := asker(up).quote(solMint, mint, 10_000_000)
			require.NoError(t, err)
		}
		return up.metric(`mintlake_swap_pair_reads_total{outcome="read"}`)
	}

	up := launchSwap(dir, "--swap-fill")
	require.Eventually(t, func() bool { return up.metric(`mintlake_swap_state_readings_total{outcome="filled"}`) == 1 }, hang, 100*time.Millisecond, up.log())
	for kills := range testkit.Rounds(2, 10) {
		require.Eventually(t, func() bool { return round(up) == round(up) }, hang, 100*time.Millisecond, "all pairs are held")
		written := up.metric(`mintlake_swap_state_checkpoints_total{outcome="written"}`)
		require.Eventually(t, func() bool {
			round(up) // pairs with new pools are whole when these are final
			return up.metric(`mintlake_swap_state_checkpoints_total{outcome="written"}`) >= written+2
		}, hang, 500*time.Millisecond)
		up.kill()
		killed, began := node.Slot(), time.Now()
		require.Eventually(t, func() bool { return node.Slot() > killed+30 }, hang, 10*time.Millisecond)

		up = launchSwap(dir)
		require.Eventually(t, func() bool {
			return up.metric("mintlake_swap_state_slot") > 0 && up.metric("mintlake_swap_state_behind") == 0
		}, hang, 5*time.Millisecond, up.log())
		t.Logf("kill %d: the state has caught up %s later", kills, time.Since(began).Round(time.Millisecond))
		standing.Lock()
		slot := node.Slot()
		require.Eventually(t, func() bool { return up.metric("mintlake_swap_state_slot") == float64(slot) }, hang, 10*time.Millisecond)
		for _, mint := range mints {
			want, err := judge.quote(solMint, mint, 10_000_000)
			require.NoError(t, err)
			got, err := asker(up).quote(solMint, mint, 10_000_000)
			require.NoError(t, err)
			if want == nil {
				require.Nil(t, got, mint)
				continue
			}
			require.NotNil(t, got, mint)
			require.Equal(t, want.Out, got.Out, "%s at slot %d: %s", mint, slot, fmt.Sprintf("%+v, not %+v", got.Route, want.Route))
		}
		standing.Unlock()
		require.EqualValues(t, 1, up.metric(`mintlake_swap_state_restores_total{outcome="restored"}`))
		require.Positive(t, up.metric(`mintlake_swap_pair_reads_total{outcome="held"}`))
	}
	require.Zero(t, up.stop())
}
