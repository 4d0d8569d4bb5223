package e2e

import (
	"context"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// factTopics are the topics that make the registry and the figures of trading.
var factTopics = []string{schemas.TopicTokenEvents, schemas.TopicEnrichments, schemas.TopicSwaps, schemas.TopicPools}

// records reads all that lies on the topics that make the registry.
func (i *instance) records() []kafka.Record { return i.recordsOf(factTopics...) }

// recordsOf reads all that lies on topics.
func (i *instance) recordsOf(topics ...string) []kafka.Record {
	i.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	tailer, err := kafka.NewTailer(kafka.TailerConfig{Brokers: i.brokers(), Topics: topics}, kafka.Deps{})
	require.NoError(i.t, err)
	defer tailer.Close()
	var all []kafka.Record
	for {
		within, stop := context.WithTimeout(ctx, time.Second)
		records, err := tailer.FetchBatch(within, 10_000, 10*time.Millisecond)
		stop()
		require.NoError(i.t, ctx.Err())
		if err == nil {
			all = append(all, records...)
		}
		if lag, known := tailer.Lag(); known && lag == 0 && err != nil {
			return all
		}
	}
}

// produce writes records as they are.
func (i *instance) produce(records ...kafka.Record) {
	i.t.Helper()
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: i.brokers()}, kafka.Deps{})
	require.NoError(i.t, err)
	defer producer.Close()
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	for len(records) > 0 {
		n := min(len(records), 5000)
		require.NoError(i.t, producer.Produce(ctx, records[:n]...))
		records = records[n:]
	}
}

// TestOneRootWhateverTheWay: the node that ingested, one that was given the same records in another
// order and some of them twice, and one that imported the first one's snapshot have the same root
// and the same rows. Changing one field of one token changes the root. (Kills and a rebuild keep it
// too: TestKillsChangeNothing, TestTheTablesComeBackFromTheLog.)
func TestOneRootWhateverTheWay(t *testing.T) {
	t.Parallel()
	first := launch(t, t.TempDir(), append(kafkaFlags(t), "--source", "file:"+demoBlocks(t))...)
	first.awaitDone()
	want, traded := first.registry(), first.dumpSwaps()
	require.NotEmpty(t, traded["daily_volumes"])
	require.NotEmpty(t, want["tokens"])
	require.Contains(t, want["root"][0], "root="+first.awaitRoot(), "what /status says is what the log says")

	t.Run("shuffled replay", func(t *testing.T) {
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 0))
		records := first.records()
		records = append(records, records[:random.IntN(len(records))]...)
		random.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
		for name, flags := range map[string][]string{
			"folded as they come": {"--source", "none", "--rooms", "projector,volume"},
			"folded late":         bulkFlags(nil),
		} {
			up := launch(t, t.TempDir(), append(kafkaFlags(t), flags...)...)
			up.produce(records...)
			requireEqualDumps(t, want, up.registry())
			if name == "folded as they come" {
				requireEqualDumps(t, traded, up.dumpSwaps())
			}
			require.False(t, t.Failed(), name)
			require.Zero(t, up.stop())
		}
	})

	t.Run("export and import", func(t *testing.T) {
		folder := filepath.Join(t.TempDir(), "snapshot")
		mustRun(t, exec.Command(binary, "export", "--to", folder, "--clickhouse-dsn", first.addresses["clickhouse"]))
		up := launch(t, t.TempDir(), append(kafkaFlags(t), "--source", "none", "--rooms", "projector")...)
		mustRun(t, up.command(t.TempDir(), "import", "--from", folder, "--insecure"))
		requireEqualDumps(t, want, up.registry())

		up.produce(decimalsChanged(t, up))
		require.NotEqual(t, want["root"], up.registry()["root"], "one field of one token is another")
	})
}

// decimalsChanged is the statement that one token has other decimals than it had.
func decimalsChanged(t *testing.T, up *instance) kafka.Record {
	t.Helper()
	mint := up.query("SELECT mint FROM mintlake.tokens ORDER BY mint LIMIT 1 FORMAT TSV")[0]
	key, err := base58.Decode(mint)
	require.NoError(t, err)
	fact := registry.ImportedFact(registry.Fact{Register: registry.RegisterDecimals, Position: schemas.EndOfSlot(1 << 40), Value: "77"})
	value, err := proto.Marshal(&eventspb.Enrichment{Mint: key, Fact: &eventspb.Enrichment_Facts{Facts: &eventspb.Facts{Facts: []*eventspb.Fact{fact}}}})
	require.NoError(t, err)
	return kafka.Record{Topic: schemas.TopicEnrichments, Key: []byte(mint), Value: value}
}
