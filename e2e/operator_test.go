package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/demo"
	"github.com/mintlake/mintlake/testworld/ledger"
)

// historySlots are those of the chain before anybody listens, liveSlots the least that come after;
// forks and skipped slots are among them.
const historySlots, liveSlots, slotTime = 60, 180, 40 * time.Millisecond

// startChain serves a chain whose slots are made as the test goes on: it does not end before those
// are there who are to follow it.
func startChain(t testing.TB) *demo.Node {
	t.Helper()
	return startDemo(t, demo.Config{Seed: 11, TPS: 400, Tokens: 60, SlotTime: slotTime, StartSlot: 400_000_000, ForkRate: 0.05, SkipRate: 0.05})
}

// startDemo serves a chain of which historySlots are made.
func startDemo(t testing.TB, cfg demo.Config) *demo.Node {
	t.Helper()
	cfg.Manual, cfg.RealTime = true, true
	node, err := demo.New(cfg, demo.Deps{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- node.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	require.NoError(t, node.WaitReady(ctx))
	require.NoError(t, node.Step(historySlots))
	return node
}

// goOn makes slots, one every slotTime, until enough is called and liveSlots are made. The function
// returned waits for the end and tells the last slot that is confirmed.
func goOn(t testing.TB, node *demo.Node) (enough func() uint64) {
	t.Helper()
	return goOnEvery(t, node, slotTime)
}

// goOnEvery is goOn with slots that are so far apart.
func goOnEvery(t testing.TB, node *demo.Node, slotTime time.Duration) (enough func() uint64) {
	t.Helper()
	stop, ended := make(chan struct{}), make(chan error, 1)
	stopped := func() bool {
		select {
		case <-stop:
			return true
		default:
			return false
		}
	}
	go func() {
		for made := 0; made < liveSlots || !stopped(); made++ {
			if err := node.Step(1); err != nil {
				ended <- err
				return
			}
			time.Sleep(slotTime)
		}
		node.Ledger().Settle()
		ended <- nil
	}()
	enough = sync.OnceValue(func() uint64 {
		close(stop)
		require.NoError(t, <-ended)
		return node.Ledger().Slot(ledger.Confirmed)
	})
	t.Cleanup(func() { enough() })
	return enough
}

// TestThreeWaysToOneRegistry: what was ingested live, with a backfill beside it of what came
// before, what a recording of the stream replays and what a backfill alone reads have one root; and
// the audit finds nothing wrong with the live one.
func TestThreeWaysToOneRegistry(t *testing.T) {
	t.Parallel()
	node := startChain(t)
	geyser, upstream := "geyser+http://"+node.GeyserAddr(), []string{"--rpc-upstream", node.RPCURL()}

	recordings := filepath.Join(t.TempDir(), "recordings")
	recorder := exec.Command(binary, "record", "--source", geyser, "--out", recordings, "--from", "400000000", "--metrics-addr", "127.0.0.1:0")
	recorded := &progress{}
	recorder.Stderr = io.MultiWriter(os.Stderr, recorded)
	require.NoError(t, recorder.Start())
	t.Cleanup(func() { _ = recorder.Process.Kill() })
	liveDir := t.TempDir()
	live := launch(t, liveDir, append(append(kafkaFlags(t), "--source", geyser), upstream...)...)
	enough := goOn(t, node)
	// The backfill must reach what the live stream has: between the two nobody looks.
	until(t, func() bool { return live.status().Source.Slot > 0 }, 20*time.Millisecond)
	backfill(t, live, node, node.Slot())
	confirmed := enough()
	last := live.awaitStill(confirmed)
	require.Eventually(t, func() bool { return recorded.slot() >= confirmed }, hang, 100*time.Millisecond, "the recording has all that the live stream had")
	require.NoError(t, recorder.Process.Signal(os.Interrupt))
	require.NoError(t, recorder.Wait())

	audit := exec.Command(binary, append([]string{
		"audit", "--sample", "0", "--min-accuracy", "1", "--min-known", "0.9", "--wait", "0", "--clickhouse-dsn", live.addresses["clickhouse"],
	}, upstream...)...)
	out, err := audit.CombinedOutput()
	require.NoError(t, err, string(out))

	replayFlags, replayDir := kafkaFlags(t), t.TempDir()
	replay := launch(t, replayDir, append(append(replayFlags, "--source", "file:"+recordings), upstream...)...)
	replay.awaitDone()

	fillFlags, fillDir := kafkaFlags(t), t.TempDir()
	fill := launch(t, fillDir, append(append(fillFlags, "--source", "none"), upstream...)...)
	backfill(t, fill, node, last)
	fill.awaitProjected(hang)

	want := rootOf(t, live, last)
	require.Regexp(t, `tokens=[1-9]\d* root=`, want)
	require.Equal(t, want, rootOf(t, replay, last), "recording")
	require.Equal(t, want, rootOf(t, fill, last), "backfill")
	figures := live.dumpSwaps()
	require.NotEmpty(t, figures["daily_volumes"])
	requireEqualDumps(t, figures, replay.dumpSwaps())
	requireEqualDumps(t, figures, fill.dumpSwaps())
}

// backfill reads the chain's slots up to last into the instance's Kafka.
func backfill(t *testing.T, i *instance, node *demo.Node, last uint64) {
	t.Helper()
	out, err := exec.Command(binary, "backfill", "--from", "400000000", "--to", strconv.FormatUint(last, 10), "--commitment", "confirmed",
		"--kafka-brokers", i.addresses["kafka"], "--rpc-upstream", node.RPCURL()).CombinedOutput()
	require.NoError(t, err, string(out))
}

// progress reads how far a recording is from what `mintlake record` tells every few seconds.
type progress struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *progress) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(text)
}

var recordLine = regexp.MustCompile(`record: slot (\d+)`)

func (p *progress) slot() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	slot := uint64(0)
	for _, match := range recordLine.FindAllSubmatch(p.text.Bytes(), -1) {
		at, _ := strconv.ParseUint(string(match[1]), 10, 64)
		slot = max(slot, at)
	}
	return slot
}

// awaitStill waits until the source has reached least and its slot has not moved for two seconds,
// everything is visible and no gap is open, and returns that slot. A gap may be open for a moment
// where the backfill meets the live stream: its repair closes it.
func (i *instance) awaitStill(least uint64) uint64 {
	i.t.Helper()
	still, since, deadline := uint64(0), time.Now(), time.Now().Add(hang)
	for {
		s := i.status()
		if s.Source.Slot != still {
			still, since = s.Source.Slot, time.Now()
		}
		// The lag is never 0 for long: the source's own report is a record each second.
		visible := s.Pipeline.LagRecords != nil && *s.Pipeline.LagRecords == 0
		if still >= least && time.Since(since) > 2*time.Second && visible && len(s.Coverage.Gaps) == 0 {
			return still
		}
		require.True(i.t, time.Now().Before(deadline), "the source does not come to rest: %+v\n%s", s, i.log())
		time.Sleep(100 * time.Millisecond)
	}
}

var rootLine = regexp.MustCompile(`(?m)^slot=\d+ (tokens=\d+ root=\S+)`)

// rootOf is what `mintlake root` says of the events up to a slot.
func rootOf(t testing.TB, i *instance, slot uint64) string {
	t.Helper()
	out, err := exec.Command(binary, "root", "--events-only", "--at-slot", fmt.Sprint(slot), "--kafka-brokers", i.addresses["kafka"]).CombinedOutput()
	require.NoError(t, err, string(out))
	match := rootLine.FindSubmatch(out)
	require.NotNil(t, match, string(out))
	return string(match[1])
}
