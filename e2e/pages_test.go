package e2e

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
)

// blocksOf are a page's blocks of commands, in their order.
func blocksOf(t testing.TB, page string) (blocks []testkit.Block) {
	t.Helper()
	for _, block := range testkit.Blocks(t, page) {
		if strings.HasPrefix(block.Mark, "sh") {
			blocks = append(blocks, block)
		}
	}
	require.NotEmpty(t, blocks, page)
	return blocks
}

// shell runs blocks of commands as written, but for addresses and folders.
type shell struct {
	// folder is where they run.
	folder string
	// instead has pairs: what is written, what takes its place.
	instead []string
	env     []string
	// programs are scripts that the commands may call, by their names.
	programs map[string]string
}

// command is one that runs commands with mintlake and the programs in the PATH.
func (s *shell) command(t testing.TB, ctx context.Context, commands string) *exec.Cmd {
	t.Helper()
	bin := t.TempDir()
	require.NoError(t, os.Symlink(binary, filepath.Join(bin, "mintlake")))
	for name, script := range s.programs {
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700))
	}
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", strings.NewReplacer(s.instead...).Replace(commands))
	cmd.Dir = s.folder
	cmd.Env = append(append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH")), s.env...)
	return cmd
}

// run returns what the commands print; one that fails ends the test.
func (s *shell) run(t testing.TB, commands string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	out, err := s.command(t, ctx, commands).CombinedOutput()
	if err != nil { // the end of it: an answer may be one long line
		t.Fatalf("%s\n%v: %s", commands, err, out[max(0, len(out)-4000):])
	}
	return string(out)
}

// defaultPorts are what pages call the addresses of one machine.
var defaultPorts = map[string]string{"api": "8080", "swap": "8081", "rpc": "8899", "clickhouse": "8123", "metrics": "9600"}

// insteadOfDefaults are pairs of the default addresses and those of an instance.
func (i *instance) insteadOfDefaults() (pairs []string) {
	i.t.Helper()
	for surface, port := range defaultPorts {
		u, err := url.Parse(i.addresses[surface])
		require.NoError(i.t, err)
		pairs = append(pairs, "127.0.0.1:"+port, u.Host)
	}
	return pairs
}

// duOfPages is what a page's du runs: of a running node's files some go while it reads the folder.
const duOfPages = `errors=$(mktemp)
trap 'rm "$errors"' EXIT
LC_ALL=C DU "$@" 2>"$errors" || ! grep -v 'No such file or directory' "$errors"`

// runCommands runs the blocks of docs/runbooks.md with this mark in the folder that holds
// .mintlake.
func runCommands(t *testing.T, i *instance, folder, mark string) {
	t.Helper()
	du, err := exec.LookPath("du")
	require.NoError(t, err)
	s := shell{folder: folder, instead: i.insteadOfDefaults(), env: []string{"MINTLAKE_KAFKA_ADDR=" + i.addresses["kafka"], "MINTLAKE_LOG_LEVEL=error"},
		programs: map[string]string{"du": strings.ReplaceAll(duOfPages, "DU", du)}}
	if mark != "sh" { // free ports: others may use the defaults
		s.env = append(s.env, "MINTLAKE_KAFKA_ADDR=127.0.0.1:0", "MINTLAKE_CLICKHOUSE_ADDR=127.0.0.1:0")
	}
	done := map[string]bool{}
	for _, block := range blocksOf(t, "runbooks.md") {
		if block.Mark != mark || done[block.Text] {
			continue
		}
		done[block.Text] = true
		require.NotEmpty(t, s.run(t, block.Text), block.Text)
	}
	require.NotEmpty(t, done, mark)
}
