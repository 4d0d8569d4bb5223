package e2e

import (
	"context"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/projector"
	"github.com/mintlake/mintlake/projector/swaps"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/testworld/bulk"
)

// bulkMints is the chain of the tests below: small, so the projector is told to take a small log
// for a long one.
const bulkMints = 6000

// bulkFlags start the projector alone, which puts folds off early and for a short time, so that
// kills hit every phase.
func bulkFlags(more []string) []string {
	return append([]string{"--source", "none", "--rooms", "projector", "--projector-bulk-lag", "300", "--projector-fold-every", "1s", "--log-level", "debug"}, more...)
}

// simulatedNode serves a chain of mints; every answer takes a moment while slow is set.
func simulatedNode(t testing.TB, mints int) (url string, slow *atomic.Bool) {
	slow = &atomic.Bool{}
	node := &bulk.Server{Chain: bulk.NewChain(mints, 123)}
	node.Before = func(int64, string, http.ResponseWriter) bool {
		if slow.Load() {
			time.Sleep(2 * time.Millisecond)
		}
		return false
	}
	server := httptest.NewServer(node)
	t.Cleanup(server.Close)
	return server.URL, slow
}

// registry is what a bootstrap must have filled: every row of tokens, and the root of the log.
func (i *instance) registry() map[string][]string {
	i.t.Helper()
	i.awaitProjected(hang)
	return map[string][]string{
		"root": {i.rootOfLog()},
		// What swaps say of a token comes by other topics and is no part of the registry's facts:
		// dumpSwaps has it.
		"tokens": i.query("SELECT * EXCEPT (daily_volume_usd, last_seen_at) FROM mintlake.tokens ORDER BY mint FORMAT TSV"),
		"facts":  i.query("SELECT mint, facts, row_version FROM mintlake.tokens_raw FINAL ORDER BY mint FORMAT TSV"),
	}
}

// awaitProjected waits until the projector has nothing before it.
func (i *instance) awaitProjected(limit time.Duration) {
	i.t.Helper()
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: i.brokers()}, kafka.Deps{})
	require.NoError(i.t, err)
	defer admin.Close()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for {
		lag, err := admin.Lag(ctx, schemas.GroupProjector, projector.Topics())
		require.NoError(i.t, err, "%d records behind\n%s", lag, i.log())
		swapped, err := admin.Lag(ctx, schemas.GroupSwaps, swaps.Topics())
		require.NoError(i.t, err, "%d swap records behind\n%s", swapped, i.log())
		if lag+swapped == 0 {
			return
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			i.t.Fatalf("still %d records behind:\n%s", lag, i.log())
		}
	}
}

// rootOfLog is what `mintlake root` says.
func (i *instance) rootOfLog() string {
	i.t.Helper()
	out, err := exec.Command(binary, "root", "--kafka-brokers", i.addresses["kafka"]).CombinedOutput()
	require.NoError(i.t, err, string(out))
	match := rootLine.FindSubmatch(out)
	require.NotNil(i.t, match, string(out))
	return string(match[1])
}

// command is a run of the binary beside an instance, against its broker.
func (i *instance) command(stateDir string, args ...string) *exec.Cmd {
	return exec.Command(binary, append(args, "--data-dir", stateDir, "--kafka-brokers", i.addresses["kafka"], "--log-level", "error")...)
}

func mustRun(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

// killed runs the command again and again and kills it so many times, at any moment of its work;
// one that got to its end is begun anew.
func killed(t *testing.T, kills int, atMost time.Duration, command func(again bool) *exec.Cmd) {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	again, ends := false, 0
	for kills > 0 {
		cmd, began := command(again), time.Now()
		require.NoError(t, cmd.Start())
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case err := <-ended:
			require.NoError(t, err)
			again, ends = true, ends+1
			atMost = min(atMost, time.Since(began)) // a faster machine is to be killed sooner
		case <-time.After(time.Duration(random.Int64N(int64(atMost)))):
			_ = cmd.Process.Signal(syscall.SIGKILL)
			<-ended
			again = false
			kills--
		}
	}
	t.Logf("got to its end %d times meanwhile", ends)
}

// filled is a folder whose log a bootstrap has filled, and whose tables nobody has.
func filled(t *testing.T, url string, flags []string) string {
	t.Helper()
	dir := t.TempDir()
	up := launch(t, dir, append(flags, "--source", "none", "--rooms", "swap")...)
	mustRun(t, up.command(t.TempDir(), "bootstrap", "rpc", "--rpc-upstream", url))
	require.Zero(t, up.stop())
	return dir
}

// TestKillsOfABulkLoadChangeNothing kills, one after another: bootstrap, up while it loads, and
// import. Each time the registry is the undisturbed one's, row for row.
func TestKillsOfABulkLoadChangeNothing(t *testing.T) {
	t.Parallel()
	url, slow := simulatedNode(t, bulkMints)
	flags := kafkaFlags(t)
	whole := launch(t, filled(t, url, flags), bulkFlags(flags)...)
	want := whole.registry()
	require.Len(t, want["facts"], bulkMints)
	require.Eventually(t, func() bool { return strings.Contains(whole.log(), "mints that were put off are folded") }, hang, 50*time.Millisecond,
		"it was loaded in bulk")

	t.Run("bootstrap", func(t *testing.T) {
		slow.Store(true)
		up, state := launch(t, t.TempDir(), bulkFlags(kafkaFlags(t))...), t.TempDir()
		run := func(again bool) *exec.Cmd {
			cmd := up.command(state, "bootstrap", "rpc", "--rpc-upstream", url)
			if again {
				cmd.Args = append(cmd.Args, "--restart")
			}
			return cmd
		}
		killed(t, testkit.Rounds(8, 40), 1500*time.Millisecond, run)
		slow.Store(false)
		mustRun(t, run(false))
		requireEqualDumps(t, want, up.registry())
	})

	t.Run("up", func(t *testing.T) {
		flags := kafkaFlags(t)
		dir := filled(t, url, flags)
		random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
		for range testkit.Rounds(4, 12) {
			up := begin(t, dir, bulkFlags(flags)...)
			up.awaitUp()
			time.Sleep(time.Duration(random.Int64N(int64(1500 * time.Millisecond))))
			up.kill()
		}
		requireEqualDumps(t, want, launch(t, dir, bulkFlags(flags)...).registry())
	})

	snapshotDir := filepath.Join(t.TempDir(), "snapshot")
	mustRun(t, exec.Command(binary, "export", "--to", snapshotDir, "--clickhouse-dsn", whole.addresses["clickhouse"]))
	t.Run("import", func(t *testing.T) {
		up, state := launch(t, t.TempDir(), bulkFlags(kafkaFlags(t))...), t.TempDir()
		run := func(again bool) *exec.Cmd {
			cmd := up.command(state, "import", "--from", snapshotDir, "--insecure")
			if again {
				cmd.Args = append(cmd.Args, "--restart")
			}
			return cmd
		}
		killed(t, testkit.Rounds(4, 16), time.Second, run)
		mustRun(t, run(false))
		requireEqualDumps(t, want, up.registry())
	})
}
