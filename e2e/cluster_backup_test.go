package e2e

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/demo"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
	"github.com/mintlake/mintlake/projector"
	"github.com/mintlake/mintlake/projector/swaps"
	"github.com/mintlake/mintlake/schemas"
)

// backupSlot is the time of a slot of clusters that are backed up or moved.
const backupSlot = 100 * time.Millisecond

// operator is a shell for the pages' commands against a cluster. Backups and other files lie in the
// test's folder.
func (c *cluster) operator(folder, clickhouse string) *shell {
	c.t.Helper()
	server, err := url.Parse(clickhouse)
	require.NoError(c.t, err)
	require.NoError(c.t, os.MkdirAll(filepath.Join(folder, "backup"), 0o750))
	return &shell{folder: folder, env: []string{"MINTLAKE_LOG_LEVEL=error"}, instead: []string{
		"kafka:9092", c.brokers, "http://clickhouse:8123", "http://" + server.Host, "/backup/", folder + "/backup/",
	}}
}

// commandsOf is the page's only block with a mark.
func commandsOf(t testing.TB, page, mark string) string {
	t.Helper()
	var found []string
	for _, block := range blocksOf(t, page) {
		if block.Mark == mark {
			found = append(found, block.Text)
		}
	}
	require.Len(t, found, 1, "%s: %s", page, mark)
	return found[0]
}

// slotOfTables is the highest slot that is in ClickHouse.
func (i *instance) slotOfTables() uint64 {
	i.t.Helper()
	slot, err := strconv.ParseUint(i.query("SELECT max(slot) FROM mintlake.slots")[0], 10, 64)
	require.NoError(i.t, err)
	return slot
}

// awaitSlots waits until ClickHouse has so many slots more than now.
func (c *cluster) awaitSlots(more uint64) {
	c.t.Helper()
	goal := c.engine.slotOfTables() + more
	until(c.t, func() bool { return c.engine.slotOfTables() >= goal }, 100*time.Millisecond, "ClickHouse gets no slots")
}

// tableTopics are the topics of the groups that fill the tables. That of the usage of keys is left
// out: these clusters have no keys.
var tableTopics = map[string][]string{schemas.GroupProjector: projector.Topics(), schemas.GroupSwaps: swaps.Topics()}

var toRead = regexp.MustCompile(`(?m)^(mintlake-[a-z]+): (\d+) records to read$`)

// TestBackupOfAClusterWithTheEmbeddedClickHouse does what docs/operations.md says of a cluster,
// with its commands as written: rooms over Apache Kafka are backed up under load, their ClickHouse
// is lost, and the backup is restored into another one while ingest goes on. Rows and root are
// those of one process that read the same blocks. The ClickHouse of the cluster is the embedded
// engine behind its own port.
func TestBackupOfAClusterWithTheEmbeddedClickHouse(t *testing.T) {
	if !kafkatest.Apache(t) {
		t.Skip("a cluster has Apache Kafka: make test-kafka runs this; TestBackupUnderLoad is that of one machine")
	}
	node := startDemo(t, demo.Config{Seed: 15, TPS: 200, Tokens: 60, SlotTime: backupSlot, StartSlot: 400_000_000, ForkRate: 0.05, SkipRate: 0.05})
	c := startCluster(t, node)
	projector, enrich, ingest := c.begin("projector"), c.begin("enrich"), c.begin("ingest")
	for _, i := range []*instance{projector, enrich, ingest} {
		i.awaitUp()
	}
	enough := goOnEvery(t, node, backupSlot)
	until(t, func() bool { return c.engine.number("(SELECT count() FROM mintlake.swaps WHERE usd_value > 0)") > 200 }, 200*time.Millisecond)

	read := map[string]int64{} // at most, by group
	for group, topics := range tableTopics {
		ends := recordsIn(t, c.brokers, topics...) // before the lag, which may have grown since
		read[group] = ends - c.lagOf(group, topics)
		require.Positive(t, read[group], group)
	}
	folder := t.TempDir()
	before := c.engine.slotOfTables()
	c.operator(folder, c.engine.addresses["clickhouse"]).run(t, commandsOf(t, "operations.md", "sh cluster backup"))
	require.Greater(t, node.Slot(), before, "it was under load")
	c.awaitSlots(20) // which are not in the backup

	require.Zero(t, projector.stop(), projector.log())
	c.engine.kill()
	first := c.engine
	// An engine without tables: the swap API wants none.
	c.engine = launch(t, t.TempDir(), "--source", "none", "--rooms", "swap", "--kafka-brokers", c.brokers, "--rpc-upstream", node.RPCURL())
	require.NotEqual(t, first.addresses["clickhouse"], c.engine.addresses["clickhouse"])
	c.engine.addresses["kafka"] = c.brokers
	out := c.operator(folder, c.engine.addresses["clickhouse"]).run(t, commandsOf(t, "operations.md", "sh cluster restore"))
	restored := c.engine.slotOfTables()
	require.GreaterOrEqual(t, restored, before, "all that was there when the backup began is in it")
	lags := toRead.FindAllStringSubmatch(out, -1)
	require.Len(t, lags, 3, out)
	for _, lag := range lags[:2] {
		group := lag[1]
		records, err := strconv.ParseInt(lag[2], 10, 64)
		require.NoError(t, err)
		require.Positive(t, records, "what came after the backup is to be read: %s", out)
		require.Contains(t, tableTopics, group)
		require.LessOrEqual(t, records, recordsIn(t, c.brokers, tableTopics[group]...)-read[group], "what is in the backup is not: %s", out)
	}

	projector = c.launch("projector")
	volume := c.launch("volume")
	last := enough()
	c.awaitSlot(last)
	for _, i := range []*instance{ingest, enrich} {
		require.Zero(t, i.stop(), i.log())
	}
	c.engine.awaitProjected(hang)
	got := c.engine.written(t, last)
	require.NotEmpty(t, got["daily_volumes"])
	require.Greater(t, last, restored+20)
	requireEqualDumps(t, alone(t, node, c.first(), last), got)
	requireTablesHaveTheLogsRoot(t, c.engine, folder)
	require.Zero(t, volume.stop(), volume.log())
	require.Zero(t, projector.stop(), projector.log())
}

// requireTablesHaveTheLogsRoot compares the root of the facts that ClickHouse has with that of all
// that is in the log.
func requireTablesHaveTheLogsRoot(t *testing.T, i *instance, folder string) {
	t.Helper()
	out, code := command(t, "export", "--to", filepath.Join(folder, "snapshot"), "--clickhouse-dsn", i.addresses["clickhouse"], "--kafka-brokers", i.addresses["kafka"])
	require.Zero(t, code, out)
	require.Contains(t, out, fmt.Sprint(i.rootOfLog()), "ClickHouse has the facts of the log, and no others")
}
