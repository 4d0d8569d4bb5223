package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/demo"
	"github.com/mintlake/mintlake/schemas"
)

// TestStandby: two ingest processes follow one chain. The leader is told to stop, frozen and woken,
// and killed; then two write at once for a while, as both are told that nobody else does. Rows and
// root are those of one process that read the same blocks.
func TestStandby(t *testing.T) {
	t.Parallel()
	node := startDemo(t, demo.Config{Seed: 12, TPS: 200, Tokens: 60, SlotTime: 100 * time.Millisecond, StartSlot: 400_000_000, ForkRate: 0.05, SkipRate: 0.05})
	c := startCluster(t, node)
	projector, enrich := c.begin("projector"), c.begin("enrich")
	a, b := c.begin("ingest"), c.begin("ingest")
	for _, i := range []*instance{projector, enrich, a, b} {
		i.awaitUp()
	}
	leader := awaitLeader(t, a, b)
	enough := goOnEvery(t, node, 100*time.Millisecond)
	writing := func(i *instance, from uint64) func() bool {
		return func() bool { return i.leads() && i.metric("mintlake_ingest_slot") > float64(from) }
	}
	awaitWriting := func(i *instance) {
		t.Helper()
		require.Eventually(t, writing(i, node.Slot()), hang, 20*time.Millisecond, "the new leader writes")
	}
	awaitWriting(leader)

	standby := other(leader, a, b)
	standby.requireStandsBy()

	start := time.Now()
	require.Zero(t, leader.stop(), leader.log())
	require.Equal(t, standby, awaitLeader(t, standby))
	t.Logf("a leader that is told to stop is followed %s after the signal", time.Since(start).Round(10*time.Millisecond))
	awaitWriting(standby)
	t.Logf("and its follower has written a block made since after %s", time.Since(start).Round(10*time.Millisecond))
	leader, standby = standby, c.launch("ingest")

	standby.requireStandsBy()
	time.Sleep(time.Second) // the standby is a member by now
	leader.freeze()
	start = time.Now()
	require.Equal(t, standby, awaitLeader(t, standby))
	t.Logf("a leader that stands still is followed after %s", time.Since(start).Round(10*time.Millisecond))
	awaitWriting(standby)
	leader.thaw()
	require.Eventually(t, func() bool { return strings.Contains(leader.log(), "ingest leads no longer") && !leader.leads() }, hang, 20*time.Millisecond)
	require.Eventually(t, standby.leads, hang, 20*time.Millisecond, "whoever wakes takes nothing back")
	leader, standby = standby, leader

	time.Sleep(time.Second)
	leader.kill()
	start = time.Now()
	require.Equal(t, standby, awaitLeader(t, standby))
	t.Logf("a leader that is killed is followed after %s", time.Since(start).Round(10*time.Millisecond))
	awaitWriting(standby)

	both := []*instance{c.launch("ingest", "--ingest-standby=false"), c.launch("ingest", "--ingest-standby=false")}
	for _, i := range both {
		awaitWriting(i)
	}
	awaitWriting(standby)

	last := enough()
	c.awaitSlot(last)
	for _, i := range append(both, standby) {
		require.Zero(t, i.stop(), i.log())
	}
	c.engine.awaitProjected(hang)
	got := c.engine.written(t, last)
	events := 0
	for _, r := range c.engine.records() {
		if r.Topic == schemas.TopicTokenEvents {
			events++
		}
	}
	require.Greater(t, events, len(got["token_events"]), "something must have been written twice, or this proves nothing")
	requireEqualDumps(t, alone(t, node, c.first(), last), got)
}

// requireStandsBy waits until a process stands by: it is warm, and has written nothing.
func (i *instance) requireStandsBy() {
	i.t.Helper()
	require.Eventually(i.t, func() bool { return strings.Contains(i.log(), "ingest stands by") }, hang, 10*time.Millisecond)
	for _, topic := range schemas.Topics() {
		if topic.Name == schemas.TopicIdentity { // which whoever came first has told
			continue
		}
		produced, err := i.scrape(`mintlake_kafka_produced_records_total{topic="`+topic.Name+`"}`, hang)
		require.NoError(i.t, err)
		require.Zero(i.t, produced, topic.Name)
	}
}
