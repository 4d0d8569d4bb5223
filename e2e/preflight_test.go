package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/demo"
	"github.com/mintlake/mintlake/operate/preflight"
	"github.com/mintlake/mintlake/operate/sizing"
)

// liveDemo serves a chain that goes on by itself.
func liveDemo(t testing.TB, chain string) *demo.Node {
	t.Helper()
	cfg, err := demo.ParseSource(chain)
	require.NoError(t, err)
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
	return node
}

// askBefore runs mintlake preflight against a node and an upstream. It returns the report and the
// exit code.
func askBefore(t testing.TB, node *demo.Node, upstream string, args ...string) (report preflight.Report, code int) {
	t.Helper()
	all := []string{"preflight", "--json", "--source", "geyser+http://" + node.GeyserAddr(), "--rpc-upstream", upstream, "--data-dir", t.TempDir()}
	cmd := exec.Command(binary, append(all, args...)...)
	cmd.Env = append(os.Environ(), testSettings...)
	var failed *exec.ExitError
	out, err := cmd.Output()
	if errors.As(err, &failed) {
		code = failed.ExitCode()
	} else {
		require.NoError(t, err)
	}
	require.NoError(t, json.Unmarshal(out, &report), "%s", out)
	return report, code
}

// states returns what was found, by check.
func states(report preflight.Report) map[string]preflight.State {
	all := map[string]preflight.State{}
	for _, c := range report.Checks {
		all[c.Name] = c.State
	}
	return all
}

// TestPreflightTellsWhatIsMissing asks a demo node, and three that offer less.
func TestPreflightTellsWhatIsMissing(t *testing.T) {
	// No demo chain has the blocks of a day.
	whole := map[string]preflight.State{"source.reach": preflight.OK, "source.blocks": preflight.OK, "source.versions": preflight.OK, "source.accounts": preflight.OK,
		"source.from_slot": preflight.OK, "upstream.reach": preflight.OK, "upstream.chain": preflight.OK, "upstream.blocks": preflight.OK, "upstream.versions": preflight.OK,
		"upstream.history": preflight.Less, "upstream.accounts": preflight.OK, "upstream.program_accounts": preflight.OK, "upstream.program_accounts_v2": preflight.OK,
		"websocket": preflight.Unknown, "upstream.rate": preflight.OK}
	for name, node := range map[string]struct {
		chain, args string
		code        int
		less        map[string]preflight.State // besides
		gone        []string
	}{
		"whole":           {"demo:?past=0&tps=100&seed=5", "--for 3s", 1, nil, nil},
		"account filters": {"demo:?past=0&tps=100&seed=5&account_filters=false", "--for 3s", 2, map[string]preflight.State{"source.blocks": preflight.Fails}, []string{"source.accounts", "source.from_slot", "source.versions"}},
		"pages":           {"demo:?past=0&tps=100&seed=5&pages=false", "--for 0s", 1, map[string]preflight.State{"upstream.program_accounts_v2": preflight.Less}, nil},
		"rate":            {"demo:?past=0&tps=100&seed=5&rpc_rate=4", "--for 0s", 1, map[string]preflight.State{"upstream.rate": preflight.Less}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			demoNode := liveDemo(t, node.chain)
			until(t, func() bool { return demoNode.Slot() > 400_000_040 }, 100*time.Millisecond, "slots are made")
			report, code := askBefore(t, demoNode, demoNode.RPCURL(), strings.Fields(node.args)...)
			want := map[string]preflight.State{}
			for check, state := range whole {
				if !slices.Contains(node.gone, check) {
					want[check] = state
				}
			}
			for check, state := range node.less {
				want[check] = state
			}
			require.Equal(t, want, states(report), "%+v", report.Checks)
			require.Equal(t, node.code, code)
			if name == "whole" {
				requireDemoDay(t, report)
			}
		})
	}
}

// requireDemoDay compares a forecast with what the demo chain is known to make: 5 slots a second,
// and some 80 transactions of tokens among its 100.
func requireDemoDay(t *testing.T, report preflight.Report) {
	t.Helper()
	f := report.Forecast
	require.NotNil(t, f, "%+v", report.Checks)
	require.InEpsilon(t, 432_000, f.Units[sizing.Slot], 0.15)
	require.InEpsilon(t, 80*86_400, f.Units[sizing.Transaction], 0.35)
	require.Positive(t, f.Units[sizing.Leg])
	require.Len(t, f.Disk, 4)
	require.Greater(t, f.Disk[1].Kafka, 3*f.Disk[0].Kafka)
}
