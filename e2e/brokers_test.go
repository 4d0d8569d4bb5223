package e2e

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/demo"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
	"github.com/mintlake/mintlake/schemas"
)

// TestRoomsOverThreeBrokers kills the broker that leads a partition of the token events while rooms
// write and read, and starts it again, twice. Rows and root are those of one process that read the
// same blocks: nothing is lost and nothing is there double.
func TestRoomsOverThreeBrokers(t *testing.T) {
	if !kafkatest.Apache(t) {
		t.Skip("the embedded broker has no clusters: make test-kafka and make test-containers run this")
	}
	node := startDemo(t, demo.Config{Seed: 14, TPS: 80, Tokens: 60, SlotTime: scaleSlot, StartSlot: 400_000_000, ForkRate: 0.05, SkipRate: 0.05})
	brokers := kafkatest.StartBrokers(t, 3)
	var addrs []string
	for _, b := range brokers {
		addrs = append(addrs, b.Brokers()...)
	}
	c := startClusterOver(t, node, addrs, "--kafka-replicas=3")
	rooms := []*instance{c.begin("projector"), c.begin("projector"), c.begin("enrich"), c.begin("ingest")}
	for _, i := range rooms {
		i.awaitUp()
	}
	ingest := rooms[3]
	awaitLeader(t, ingest)
	enough := goOnEvery(t, node, scaleSlot)
	written := func() {
		t.Helper()
		from := float64(node.Slot())
		require.Eventually(t, func() bool { return ingest.metric("mintlake_ingest_slot") > from }, hang, 20*time.Millisecond, "ingest goes on")
	}
	for round := range 2 {
		written()
		leader := kafkatest.Leader(t, addrs, schemas.TopicTokenEvents, round)
		victim := brokers[slices.Index(addrs, leader)]
		start := time.Now()
		victim.Kill()
		require.Eventually(t, func() bool {
			next := kafkatest.Leader(t, addrs, schemas.TopicTokenEvents, round)
			return next != "" && next != leader
		}, hang, 50*time.Millisecond, "another broker leads")
		written()
		t.Logf("the leader of partition %d was killed; a block made since is written %s later", round, time.Since(start).Round(10*time.Millisecond))
		victim.Start()
	}
	written()
	last := enough()
	c.awaitSlot(last)
	// what they still wrote is the projectors' to finish
	for _, i := range []*instance{ingest, rooms[2]} {
		require.Zero(t, i.stop(), i.log())
	}
	c.engine.awaitProjected(hang)
	got := c.engine.written(t, last)
	require.NotEmpty(t, got["tokens"])
	requireEqualDumps(t, alone(t, node, c.first(), last), got)
}
