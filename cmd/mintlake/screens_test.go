package main

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/client/rest"
	"github.com/mintlake/mintlake/internal/meter"
	"github.com/mintlake/mintlake/internal/testkit"
)

// The screens of docs/cli.md that need no node are what the binary prints.
func TestScreensOfTheCommandLinePage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs", "cli.md"))
	require.NoError(t, err)
	page := string(text)
	require.Contains(t, page, "```\n$ mintlake up --source 'demo:?tps=100&tokens=500'\n"+welcome(addresses{
		{"api", "http://127.0.0.1:8080"}, {"rpc", "http://127.0.0.1:8899"}, {"rpc_ws", "ws://127.0.0.1:8900"}, {"stream", "http://127.0.0.1:10000"},
		{"swap", "http://127.0.0.1:8081"}, {"kafka", "127.0.0.1:9092"}, {"clickhouse", "http://127.0.0.1:8123"},
	}, "mintlake", ".mintlake", true)+"```")
	require.Contains(t, page, "\n"+statusLine(statusAt(400_000_000, 5_000, 512), statusAt(400_000_123, 5_104, 524), time.Second)+"\n")
	require.Contains(t, page, "\n"+countedLine("project mintlake-projector", "records", 1_250_000, 5_000_000, 25*time.Second)+"\n"+
		countedLine("copy the log", meter.Bytes, 1_240_000_000, 4_960_000_000, 5*time.Second)+"\n"+
		countedLine("fill the tables", "records", 20_000, 50_000, 4*time.Second)+"\n")
	for _, c := range []struct {
		typed string
		args  []string
	}{
		{"mintlake up --data-dri /data", []string{"up", "--data-dri", "/data"}},
		{"mintlake up --source gyser+https://provider:443", []string{"up", "--source", "gyser+https://provider:443"}},
		{"mintlake tokens serch bonk", []string{"tokens", "serch", "bonk"}},
	} {
		_, err := runCommand(t, c.args...)
		require.Error(t, err)
		require.Contains(t, page, "$ "+c.typed+"\nmintlake: "+err.Error()+"\n")
	}
}

// The line of the file is in the message, and both say what the page shows.
func TestScreenOfAWrongFile(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs", "cli.md"))
	require.NoError(t, err)
	_, shown, found := strings.Cut(string(page), "$ cat mintlake.yaml\n")
	require.True(t, found)
	file, shown, found := strings.Cut(shown, "$ mintlake up --config mintlake.yaml\n")
	require.True(t, found)
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("mintlake.yaml", []byte(file), 0o600))
	_, err = runCommand(t, "up", "--config", "mintlake.yaml")
	require.Error(t, err)
	want, _, _ := strings.Cut(shown, "```")
	require.Equal(t, want, "mintlake: "+err.Error()+"\n")
}

// The screen has the ports of the defaults; whoever runs the test may have others in their place.
func TestScreenOfATakenPort(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs", "cli.md"))
	require.NoError(t, err)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	args := []string{"up", "--data-dir", filepath.Join(t.TempDir(), "data"), "--source", "none", "--api-addr", taken.Addr().String()}
	for _, other := range []string{"swap", "rpc", "stream", "metrics", "kafka", "clickhouse"} {
		args = append(args, "--"+other+"-addr", "127.0.0.1:0")
	}
	_, err = runCommand(t, args...)
	require.Error(t, err)
	offered := regexp.MustCompile(`127\.0\.0\.1:\d+$`).FindString(err.Error())
	said := strings.NewReplacer(taken.Addr().String(), "127.0.0.1:8080", offered, "127.0.0.1:8081").Replace(err.Error())
	require.Contains(t, string(page), "$ mintlake up\nmintlake: "+said+"\n```")
}

func statusAt(slot, transactions, tokens int) *rest.Status {
	s := &rest.Status{}
	s.Source.Slot, s.Source.Transactions, s.Registry.Tokens = slot, transactions, tokens
	lag, fresh := 12, 21
	s.Pipeline.LagRecords, s.Freshness.P50Ms = &lag, &fresh
	return s
}

func TestTheLiveLineTellsWhatIsMissing(t *testing.T) {
	first := statusAt(5, 100, 1)
	first.Pipeline.LagRecords, first.Freshness.P50Ms = nil, nil
	first.Coverage.GapCount, first.Source.Done = 2, true
	require.Equal(t, "slot 5 · 1 tokens · lag unknown · 2 gaps · source done", statusLine(nil, first, 0))
}

func TestWhatComesNextNamesAnotherNodeOnlyWhereItMust(t *testing.T) {
	require.Contains(t, welcome(addresses{{"api", "http://127.0.0.1:9999"}}, "mintlake", "d", false), "mintlake tokens search --url http://127.0.0.1:9999")
	require.Contains(t, welcome(addresses{{"api", "http://127.0.0.1:8080"}}, "bin/mintlake", "d", false), "bin/mintlake tokens search\n")
	require.NotContains(t, welcome(addresses{{"kafka", "k:9092"}}, "mintlake", "d", false), "What next")
}
