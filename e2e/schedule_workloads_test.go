package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/demo"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/testworld/ledger"
)

// workloadNames are what a schedule's node may be doing.
var workloadNames = []string{"blocks", "live", "rpc", "backfill"}

// workload is what a node does while faults come, and what it must hold afterwards.
type workload struct {
	flags []string
	// begin starts it; finish waits until there will be no more of it, and returns its last slot.
	begin  func(r *scheduleRun)
	finish func(r *scheduleRun) (last uint64)
	// read reports whether the node has read everything up to last, without gaps that the workload
	// does not have itself.
	read func(s *status, last uint64) bool
	// rows are what is compared, want those of a node that was left in peace.
	rows func(up *instance, last uint64) map[string][]string
	want func(r *scheduleRun, last uint64) map[string][]string
	// geyser and rpc are the ways to the chain; nil without a chain.
	geyser, rpc *gate
	// kafka is the broker that a backfill beside the node writes to.
	kafka string
	// grows means that the chain goes on during the workload: only then can lies be mended.
	grows bool
}

func newWorkload(t *testing.T, name string) *workload {
	t.Helper()
	if name == "blocks" {
		return recordedBlocks(t)
	}
	return onChain(t, name)
}

// recordedBlocks reads recorded blocks of the main network and of the demo chain.
func recordedBlocks(t *testing.T) *workload {
	t.Helper()
	flags := append(sharedSources(t), "--source", "file:"+demoBlocks(t))
	return &workload{
		flags:  flags,
		begin:  func(*scheduleRun) {},
		finish: func(*scheduleRun) uint64 { return 0 },
		read:   func(s *status, _ uint64) bool { return s.Source.Done },
		rows:   func(up *instance, _ uint64) map[string][]string { return up.dump() },
		want:   func(*scheduleRun, uint64) map[string][]string { return undisturbedBlocks(t, flags) },
	}
}

var (
	undisturbedOnce sync.Once
	undisturbedRows map[string][]string
)

// undisturbedBlocks are the rows of recordedBlocks, made once.
func undisturbedBlocks(t *testing.T, flags []string) map[string][]string {
	t.Helper()
	undisturbedOnce.Do(func() {
		up := launch(t, t.TempDir(), flags...)
		up.awaitDone()
		undisturbedRows = up.dump()
		require.Zero(t, up.stop())
	})
	require.NotEmpty(t, undisturbedRows["token_events"])
	return undisturbedRows
}

// scheduleSlot is the time between two slots of a schedule's chain: liveSlots of them last as long
// as most faults.
const scheduleSlot = 70 * time.Millisecond

// onChain follows a demo chain: by its stream (live), by JSON-RPC from its first slot (rpc), or in
// a backfill after it has ended (backfill).
func onChain(t *testing.T, name string) *workload {
	t.Helper()
	node := startDemo(t, demo.Config{Seed: 23, TPS: 60, Tokens: 40, SlotTime: scheduleSlot, StartSlot: firstSlot, ForkRate: 0.05, SkipRate: 0.05})
	w := &workload{geyser: newGate(t, "http://"+node.GeyserAddr()), rpc: newGate(t, node.RPCURL())}
	w.grows = name != "backfill"
	w.geyser.lift()
	w.rpc.lift()
	var enough func() uint64
	w.begin = func(*scheduleRun) { enough = goOnEvery(t, node, scheduleSlot) }
	w.finish = func(r *scheduleRun) uint64 {
		last := enough()
		if r.liar == nil {
			return last
		}
		// What a liar said at the chain's last slot is mended by a read at a later one.
		r.liar.Stop()
		for range 20 {
			require.NoError(t, node.Step(1))
			time.Sleep(time.Second)
		}
		node.Ledger().Settle()
		return node.Ledger().Slot(ledger.Confirmed)
	}
	w.read = func(s *status, last uint64) bool { return s.Source.Slot >= last && len(s.Coverage.Gaps) == 0 }
	w.rows = func(up *instance, last uint64) map[string][]string {
		up.awaitProjected(hang)
		return up.written(t, last)
	}
	w.want = func(r *scheduleRun, last uint64) map[string][]string { return alone(t, node, r.up.first(), last) }
	upstream := []string{"--rpc-upstream", "http://" + w.rpc.addr, "--enrich-offchain=true", "--enrich-allow-private", node.RPCAddr()}
	switch name {
	case "live":
		w.flags = append(upstream, "--source", "geyser+http://"+w.geyser.addr)
		begin := w.begin
		w.begin = func(r *scheduleRun) {
			begin(r)
			// A stream has no past: the comparison begins at the first slot that the node has
			// written down, and what it wrote of an earlier one before it was killed is too much.
			until(t, func() bool { return r.up.query("SELECT count() > 0 FROM mintlake.slots")[0] == "1" }, 100*time.Millisecond)
		}
	case "rpc":
		w.flags = append(upstream, "--source", "rpc+http://"+w.rpc.addr+"?from="+strconv.Itoa(firstSlot))
	case "backfill":
		w.kafka = testkit.FreeAddr(t)
		w.flags = append(upstream, "--source", "none", "--kafka-addr", w.kafka)
		filled := make(chan string, 1)
		w.begin = func(*scheduleRun) {
			enough = goOnEvery(t, node, time.Millisecond)
			last := enough()
			go func() { filled <- fill(t.Context(), w.kafka, "http://"+w.rpc.addr, last) }()
		}
		w.finish = func(r *scheduleRun) uint64 {
			for {
				select {
				case failed := <-filled:
					require.Empty(t, failed)
					return enough()
				case <-time.After(time.Second):
					r.revive()
				}
			}
		}
		w.read = func(s *status, _ uint64) bool { return len(s.Coverage.Gaps) == 0 }
	}
	return w
}

// firstSlot is the first slot of the chain.
const firstSlot = 400_000_000

// fill runs backfill until it succeeds, as a person would: started again, it goes on where it
// ended. It returns what the last one said if none did.
func fill(ctx context.Context, kafka, upstream string, last uint64) (failed string) {
	for deadline := time.Now().Add(hang); time.Now().Before(deadline) && ctx.Err() == nil; time.Sleep(time.Second) {
		out, err := exec.CommandContext(ctx, binary, "backfill", "--from", strconv.Itoa(firstSlot), "--to", strconv.FormatUint(last, 10),
			"--commitment", "confirmed", "--kafka-brokers", kafka, "--rpc-upstream", upstream).CombinedOutput()
		if err == nil {
			return ""
		}
		failed = fmt.Sprintf("%v: %s", err, out)
	}
	return failed
}
