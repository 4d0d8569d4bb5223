package e2e

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/demo"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
	"github.com/mintlake/mintlake/projector"
	"github.com/mintlake/mintlake/schemas"
)

// kafkaTools are Kafka's own scripts, from the jars that the tests' brokers run from.
func kafkaTools(t *testing.T) map[string]string {
	t.Helper()
	out, err := exec.Command(filepath.Join(testkit.Root(t), "tools", "kafka", "install.sh")).Output()
	require.NoError(t, err)
	jars := filepath.Join(strings.TrimSpace(string(out)), "*")
	return map[string]string{"kafka-topics.sh": `exec java -cp "` + jars + `" org.apache.kafka.tools.TopicCommand "$@"`}
}

// TestPageNamesEachTopicWithPartitions: docs/operations.md deletes each topic that has several
// partitions, and no other. A start refuses those that are left.
func TestPageNamesEachTopicWithPartitions(t *testing.T) {
	t.Parallel()
	pattern := regexp.MustCompile(`--delete --topic '([^']+)'`).FindStringSubmatch(commandsOf(t, "operations.md", "sh partitions move"))
	require.NotNil(t, pattern)
	deletes := regexp.MustCompile(`^(` + pattern[1] + `)$`)
	for _, topic := range schemas.Topics() {
		require.Equal(t, topic.Partitions > 1, deletes.MatchString(topic.Name), topic.Name)
	}
}

// TestDrillPartitions does what docs/operations.md says of another number of partitions, with its
// commands as written: from 4 to 8, over Apache Kafka. The root stays; afterwards rows are those of
// one process that read the same blocks, which went on while every room stood.
func TestDrillPartitions(t *testing.T) {
	if !kafkatest.Apache(t) {
		t.Skip("topics are deleted with Kafka's own tool: make drill-partitions runs this")
	}
	node := startDemo(t, demo.Config{Seed: 16, TPS: 200, Tokens: 60, SlotTime: backupSlot, StartSlot: 400_000_000, ForkRate: 0.05, SkipRate: 0.05})
	c := startCluster(t, node)
	rooms := map[string]*instance{}
	begin := func(more ...string) {
		for _, room := range []string{"projector", "enrich", "api", "ingest"} {
			rooms[room] = c.begin(room, more...)
		}
		for _, i := range rooms {
			i.awaitUp()
		}
	}
	begin()
	enough := goOnEvery(t, node, backupSlot)
	c.awaitSlots(60)

	folder := t.TempDir()
	operator := c.operator(folder, c.engine.addresses["clickhouse"])
	operator.programs = kafkaTools(t)
	operator.instead = append(operator.instead, "http://api:8080", rooms["api"].addresses["api"])
	require.Zero(t, rooms["ingest"].stop(), rooms["ingest"].log())
	before := rootLine.FindStringSubmatch(operator.run(t, commandsOf(t, "operations.md", "sh partitions drain")))
	require.Len(t, before, 2)
	stood := c.engine.slotOfTables()
	c.engine.awaitValued()
	for _, room := range []string{"api", "enrich", "projector"} {
		require.Zero(t, rooms[room].stop(), rooms[room].log())
	}
	moved := operator.run(t, commandsOf(t, "operations.md", "sh partitions move"))
	after := rootLine.FindStringSubmatch(moved)
	require.Equal(t, before, after, moved)

	begin("--kafka-partitions", "8")
	// Twice as many of each topic but the slot ledger.
	awaitShares(t, []*instance{rooms["projector"]}, schemas.GroupProjector, 2*partitionsOf(projector.Topics()...)-1)
	require.Eventually(t, func() bool { return c.engine.slotOfTables() > stood+20 }, hang, 100*time.Millisecond)
	last := enough()
	c.awaitSlot(last)
	for _, room := range []string{"ingest", "enrich"} {
		require.Zero(t, rooms[room].stop(), rooms[room].log())
	}
	c.engine.awaitProjected(hang)
	rooms["api"].awaitNoGaps(last)
	got, want := c.engine.written(t, last), alone(t, node, c.first(), last)
	// The new log has no events of before, only the facts that they stated: rootOf is over events.
	delete(want, "root")
	requireEqualDumps(t, want, got)
	requireTablesHaveTheLogsRoot(t, c.engine, filepath.Join(folder, "after"))
	used := map[int]bool{}
	for _, r := range c.engine.recordsOf(schemas.TopicTokenEvents, schemas.TopicEnrichments) {
		used[r.Partition] = true
	}
	require.Len(t, used, 8, "records lie on all new partitions")
	for _, room := range []string{"api", "projector"} {
		require.Zero(t, rooms[room].stop(), rooms[room].log())
	}
}

// awaitNoGaps waits until the coverage has reached a slot, without a gap.
func (i *instance) awaitNoGaps(slot uint64) {
	i.t.Helper()
	require.Eventually(i.t, func() bool {
		s := i.status()
		return s.Source.Slot >= slot && len(s.Coverage.Gaps) == 0
	}, hang, 100*time.Millisecond, "slots are missing")
}
