package e2e

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/e2e/oracle"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// TestKillsLeaveTheMarket: what an API node answers of every token that trades, of its launchpad,
// and in the shape of /tokens/v2, is what package oracle computes from the blocks by itself. That
// holds after recorded mainnet blocks, and after blocks of the demo chain on top of them, though
// the processes of the rooms projector and volume are killed while they work.
func TestKillsLeaveTheMarket(t *testing.T) {
	t.Parallel()
	brokers := strings.Join(kafkatest.Start(t), ",")
	engine := launch(t, t.TempDir(), "--source", "none", "--rooms", "api", "--kafka-brokers", brokers)
	engine.addresses["kafka"] = brokers
	begin := func(room string, args ...string) *instance {
		return beginCommand(t, room, t.TempDir(), append([]string{"--kafka-brokers", brokers, "--clickhouse-dsn", engine.addresses["clickhouse"]}, args...)...)
	}
	random := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	rooms := map[string]*instance{"projector": begin("projector"), "volume": begin("volume")}
	known, inFlight := oracle.New(), 0
	for _, step := range []struct {
		folder string
		kills  []string
	}{
		{testkit.Shared(t, "data/blocks"), []string{"volume"}},
		{demoBlocks(t), strings.Fields(strings.Repeat(" volume projector volume", testkit.Rounds(1, 8)))},
	} {
		for _, room := range rooms {
			room.awaitUp()
		}
		var last uint64
		for _, transaction := range oracle.Read(t, step.folder) {
			for _, message := range transaction {
				known.Add(message)
				last = max(last, message.(interface{ GetPosition() *eventspb.Position }).GetPosition().GetSlot())
			}
		}
		ingest := begin("ingest", "--source", "file:"+step.folder)
		for _, room := range step.kills {
			rooms[room].awaitUp()
			time.Sleep(time.Duration(random.Int64N(int64(2 * time.Second))))
			if !engine.status().Source.Done || engine.unvalued() > 0 {
				inFlight++
			}
			require.False(t, exited(rooms[room]), "it must be killed, not end by itself:\n%s", rooms[room].log())
			rooms[room].kill()
			rooms[room] = begin(room)
		}
		ingest.awaitUp()
		until(t, func() bool { return engine.status().Source.Slot >= last }, 100*time.Millisecond)
		engine.awaitProjected(hang)
		engine.awaitValued()
		require.Positive(t, known.Require(t, freshNode(begin("api", "--rate-limits-enabled=false")), step.folder)["price_usd"])
		require.Zero(t, ingest.stop(), ingest.log())
	}
	require.Positive(t, inFlight, "no kill hit a room at work")
}

// unvalued is how many minutes have legs that no valuation has seen.
func (i *instance) unvalued() float64 {
	return i.number("(SELECT count() FROM (SELECT minute, partition FROM mintlake.swap_minutes_raw GROUP BY minute, partition HAVING max(touched) > max(valued)))")
}

// freshNode waits until an API node that begins has read the figures of the market. It reads the
// latest first, and looks for later ones each ten seconds only.
func freshNode(node *instance) oracle.Node {
	node.awaitUp()
	until(node.t, func() bool {
		code, body := node.get("/tokens?limit=1&fields=as_of")
		return code == http.StatusOK && strings.Contains(string(body), `"as_of":1`)
	}, 20*time.Millisecond)
	return func(path string) []byte {
		code, body := node.get(path)
		require.Equal(node.t, http.StatusOK, code, "%s: %s", path, body)
		return body
	}
}
