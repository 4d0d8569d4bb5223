package e2e

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/demo"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
)

// cluster is rooms as processes of their own over one Kafka and one ClickHouse: the embedded one of
// a process that values, besides, or the server that MINTLAKE_TEST_CLICKHOUSE names (make
// test-containers).
type cluster struct {
	t       testing.TB
	node    *demo.Node
	brokers string
	// settings are every room's.
	settings []string
	engine   *instance

	mu    sync.Mutex
	rooms map[string][]*instance
}

// members are a room's processes now.
func (c *cluster) members(room string) []*instance {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.rooms[room])
}

func (c *cluster) set(room string, members []*instance) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rooms[room] = slices.Clone(members)
}

// startCluster starts the backends. The demo chain is served by the test.
func startCluster(t testing.TB, node *demo.Node) *cluster {
	t.Helper()
	return startClusterOver(t, node, kafkatest.Start(t))
}

// startClusterOver starts ClickHouse. Every room gets the given settings.
func startClusterOver(t testing.TB, node *demo.Node, brokers []string, settings ...string) *cluster {
	t.Helper()
	c := &cluster{t: t, node: node, brokers: strings.Join(brokers, ","), settings: settings, rooms: map[string][]*instance{}}
	args := append([]string{"--source", "none", "--rooms", "volume", "--kafka-brokers", c.brokers}, settings...)
	server := os.Getenv("MINTLAKE_TEST_CLICKHOUSE")
	if server != "" {
		(&instance{t: t, addresses: map[string]string{"clickhouse": server}}).query("DROP DATABASE IF EXISTS mintlake SYNC")
		args = append(args, "--clickhouse-dsn", server)
	}
	c.engine = launch(t, t.TempDir(), args...)
	c.engine.addresses["kafka"] = c.brokers
	if server != "" {
		c.engine.addresses["clickhouse"] = server
	}
	return c
}

// begin starts a room and returns at once.
func (c *cluster) begin(room string, more ...string) *instance {
	c.t.Helper()
	args := []string{"--kafka-brokers", c.brokers, "--clickhouse-dsn", c.engine.addresses["clickhouse"], "--rpc-upstream", c.node.RPCURL()}
	if room == "api" {
		args = append(args, "--rate-limits-enabled=false") // the test is one client
	}
	if room == "ingest" {
		args = append(args, "--source", "geyser+http://"+c.node.GeyserAddr())
	}
	return beginCommand(c.t, room, c.t.TempDir(), append(append(args, c.settings...), more...)...)
}

// launch starts a room and waits until it serves.
func (c *cluster) launch(room string, more ...string) *instance {
	c.t.Helper()
	i := c.begin(room, more...)
	i.awaitUp()
	return i
}

// metric is the sum of a metric's values; 0 where there is none, or nobody answers.
func (i *instance) metric(name string) float64 {
	sum, _ := i.scrape(name, 2*time.Second)
	return sum
}

// scrape is metric that tells why there is no answer.
func (i *instance) scrape(name string, within time.Duration) (sum float64, err error) {
	client := http.Client{Timeout: within}
	response, err := client.Get(i.addresses["metrics"])
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	scanner := bufio.NewScanner(response.Body)
	for scanner.Scan() {
		line, ok := strings.CutPrefix(scanner.Text(), name)
		if !ok || line == "" || line[0] != ' ' && line[0] != '{' {
			continue
		}
		value, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
		if err == nil {
			sum += value
		}
	}
	return sum, scanner.Err()
}

func (i *instance) leads() bool { return i.metric("mintlake_ingest_leader") == 1 }

// awaitLeader waits until one of the members leads and returns it.
func awaitLeader(t testing.TB, members ...*instance) *instance {
	t.Helper()
	for deadline := time.Now().Add(hang); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		for _, i := range members {
			if i.leads() {
				return i
			}
		}
	}
	require.Fail(t, "nobody leads")
	return nil
}

// other is the one of two that is not this one.
func other(this, a, b *instance) *instance {
	if this == a {
		return b
	}
	return a
}

// freeze is SIGSTOP, thaw ends it.
func (i *instance) freeze() {
	i.t.Helper()
	require.NoError(i.t, i.cmd.Process.Signal(syscall.SIGSTOP))
	for {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", i.cmd.Process.Pid))
		if err != nil || strings.Contains(string(stat), ") T ") {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func (i *instance) thaw() {
	i.t.Helper()
	require.NoError(i.t, i.cmd.Process.Signal(syscall.SIGCONT))
}

// written is every row that does not depend on when and by which way the chain was read, and the
// root of the events.
func (i *instance) written(t testing.TB, last uint64) map[string][]string {
	t.Helper()
	tables := i.dumpSwaps()
	tables["root"] = []string{rootOf(t, i, last)}
	tables["token_events"] = i.query("SELECT * FROM mintlake.token_events ORDER BY position, mint, kind FORMAT TSV")
	tables["slots"] = i.query("SELECT slot, blockhash, token_events FROM mintlake.slots WHERE status = 'ingested' ORDER BY slot, blockhash FORMAT TSV")
	tables["tokens"] = i.query("SELECT mint, name, symbol, decimals, supply FROM mintlake.tokens ORDER BY mint FORMAT TSV")
	return tables
}

// alone is what one process reads of the same part of the chain.
func alone(t testing.TB, node *demo.Node, first, last uint64) map[string][]string {
	t.Helper()
	url := strings.TrimSuffix(node.RPCURL(), "/")
	up := launch(t, t.TempDir(), "--source", fmt.Sprintf("rpc+%s?from=%d&to=%d", url, first, last), "--rpc-upstream", node.RPCURL())
	up.awaitDone()
	rows := up.written(t, last)
	require.Zero(t, up.stop())
	return rows
}

// awaitSlot waits until the ledger in ClickHouse has reached the slot and nothing is before the
// projectors.
func (c *cluster) awaitSlot(slot uint64) {
	c.t.Helper()
	for deadline := time.Now().Add(hang); ; time.Sleep(200 * time.Millisecond) {
		if got := c.engine.query("SELECT max(slot) FROM mintlake.slots"); got[0] >= strconv.FormatUint(slot, 10) {
			break
		}
		require.True(c.t, time.Now().Before(deadline), "slot %d is not there", slot)
	}
	c.engine.awaitProjected(hang)
}

// first is the first slot that was read.
func (c *cluster) first() uint64 {
	c.t.Helper()
	slot, err := strconv.ParseUint(c.engine.query("SELECT min(slot) FROM mintlake.slots")[0], 10, 64)
	require.NoError(c.t, err)
	return slot
}
