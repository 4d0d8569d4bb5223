package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
)

// TestTheCommandsOfOperations runs the blocks of docs/operations.md as written, but for addresses
// and folders, in the order of the page. What is behind "sh" says what a block needs: a running
// node of /var/lib/mintlake (nothing), a stopped one (stopped), or that its last command serves
// (up). Those of a cluster have tests of their own.
func TestTheCommandsOfOperations(t *testing.T) {
	t.Parallel()
	if kafkatest.Apache(t) {
		t.Skip("they are for the embedded engines")
	}
	o := newOperator(t)
	seen := map[string]int{}
	for _, block := range blocksOf(t, "operations.md") {
		mark, _, _ := strings.Cut(block.Mark, " ")
		kind := strings.TrimSpace(strings.TrimPrefix(block.Mark, mark))
		seen[kind]++
		o.prepare(block.Text)
		switch kind {
		case "":
			o.beside(block.Text)
		case "stopped":
			o.stop()
			require.NotEmpty(t, o.shell.run(t, block.Text), block.Text)
		case "up":
			o.stop()
			o.serve(block.Text)
		default:
			require.Regexp(t, "^(cluster|partitions) ", kind, "a mark that no test knows")
		}
	}
	o.stop()
	require.GreaterOrEqual(t, seen[""], 2)
	require.GreaterOrEqual(t, seen["stopped"], 4)
	require.GreaterOrEqual(t, seen["up"], 4)
}

// operator does what the page says on one machine.
type operator struct {
	t      *testing.T
	root   string
	shell  shell
	node   *instance
	tokens int
	// tables are the data folder's rows, since the node was up last.
	tables map[string][]string
}

// newOperator has a machine with a data folder, and a backup of it from before an upgrade.
func newOperator(t *testing.T) *operator {
	o := &operator{t: t, root: t.TempDir()}
	o.shell = shell{folder: o.root, env: append([]string{"MINTLAKE_LOG_LEVEL=error"}, testSettings...)}
	for _, surface := range surfaces {
		o.shell.env = append(o.shell.env, "MINTLAKE_"+strings.ToUpper(surface)+"_ADDR=127.0.0.1:0")
	}
	for _, folder := range []string{"/var/lib/", "/backup/", "/tmp/"} {
		require.NoError(t, os.MkdirAll(o.root+folder, 0o750))
		o.shell.instead = append(o.shell.instead, folder, o.root+folder)
	}
	first := launch(t, o.data(), "--source", "file:"+fewBlocks(t))
	o.tokens = first.awaitDone().Registry.Tokens
	require.Positive(t, o.tokens)
	require.Zero(t, first.stop())
	out, code := command(t, "backup", "--data-dir", o.data(), "--to", filepath.Join(o.root, "backup", "before"), "--log-only")
	require.Zero(t, code, out)
	return o
}

// fewBlocks are enough for every kind of row: each block of the page makes the tables once more.
func fewBlocks(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	files, err := filepath.Glob(filepath.Join(demoBlocks(t), "*"))
	require.NoError(t, err)
	require.Greater(t, len(files), 60)
	for _, file := range files[:60] {
		require.NoError(t, os.Symlink(file, filepath.Join(folder, filepath.Base(file))))
	}
	return folder
}

func (o *operator) data() string { return filepath.Join(o.root, "var", "lib", "mintlake") }

// prepare makes the machine be as the page supposes before a block.
func (o *operator) prepare(commands string) {
	if strings.Contains(commands, "mintlake restore") && strings.Contains(commands, "--data-dir /var/lib/mintlake\n") {
		o.stop()
		require.NoError(o.t, os.Rename(o.data(), o.data()+"-"+time.Now().Format("150405.000")))
	}
}

// beside runs a block while the node is up.
func (o *operator) beside(commands string) {
	o.t.Helper()
	if o.node == nil {
		o.serve("mintlake up --data-dir /var/lib/mintlake")
	}
	beside := o.shell
	beside.instead = append(o.node.insteadOfDefaults(), beside.instead...)
	beside.env = append(append([]string{}, beside.env...), "MINTLAKE_CLICKHOUSE_ADDR="+strings.TrimPrefix(o.node.addresses["clickhouse"], "http://"))
	require.NotEmpty(o.t, beside.run(o.t, commands), commands)
}

// serve runs a block whose last command serves. The tokens of the data folder are there.
func (o *operator) serve(commands string) {
	o.t.Helper()
	o.node = watch(o.t, "up", o.shell.command(o.t, o.t.Context(), commands))
	o.node.awaitUp()
	if !strings.Contains(commands, "/var/lib/mintlake") {
		return
	}
	require.Equal(o.t, o.tokens, o.node.awaitDone().Registry.Tokens, commands)
	tables := o.node.tablesOfFacts()
	if o.tables != nil {
		requireEqualDumps(o.t, o.tables, tables)
	}
	o.tables = tables
	code, body := o.node.get("/tokens/" + mintUSDC)
	require.Equal(o.t, http.StatusOK, code, string(body))
}

// tablesOfFacts are the rows that every way of the page brings back.
func (i *instance) tablesOfFacts() map[string][]string {
	i.t.Helper()
	i.awaitValued()
	tables := map[string][]string{}
	for _, table := range []string{"tokens", "token_events", "swaps", "slots"} {
		tables[table] = i.query("SELECT * FROM mintlake." + table + " ORDER BY ALL FORMAT TSV")
		require.NotEmpty(i.t, tables[table], table)
	}
	return tables
}

// stop is Ctrl-C.
func (o *operator) stop() {
	o.t.Helper()
	if o.node != nil {
		require.Zero(o.t, o.node.ctrlC(), o.node.log())
		o.node = nil
	}
}
