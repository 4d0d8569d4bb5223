package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	kafkabroker "github.com/mintlake/mintlake/embedded/kafka"
	"github.com/mintlake/mintlake/embedded/kafka/segments"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/damage"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

func runRepair(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := repairCommand()
	cmd.SilenceUsage, cmd.SilenceErrors = true, true // as the root command has it
	cmd.Flags().String("config", "", "")
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(append([]string{"--log-level", "error"}, args...))
	err := cmd.ExecuteContext(context.WithoutCancel(t.Context()))
	return out.String(), err
}

// batches are how many batches of records a topic of the tests has, each with two records.
const batches = 4

// writeBatches writes batches to each topic, all with one key, and a slot's line behind each.
func writeBatches(t *testing.T, broker string, topics ...string) {
	t.Helper()
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: []string{broker}}, kafka.Deps{Registerer: prometheus.NewRegistry()})
	require.NoError(t, err)
	defer producer.Close()
	for n := range batches {
		for _, topic := range topics {
			record := kafka.Record{Topic: topic, Key: []byte("key"), Value: fmt.Appendf(nil, "%s %d", topic, n)}
			require.NoError(t, producer.Produce(t.Context(), record, record))
		}
		slot := &eventspb.SlotRecord{Slot: uint64(100 + n), Status: eventspb.SlotStatus_SLOT_STATUS_INGESTED}
		require.NoError(t, producer.Produce(t.Context(), kafka.Record{Topic: schemas.TopicSlots, Key: fmt.Appendf(nil, "%d", 100+n), Value: marshal(t, slot)}))
	}
}

// segmentWith is the segment of the topic that has the records; they are all in one partition.
func segmentWith(t *testing.T, dataDir, topic string) (file string, size int64, partition string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dataDir, "kafka", "broker", "partitions", topic+"-*", "*.dat"))
	require.NoError(t, err)
	for _, name := range names {
		info, err := os.Stat(name)
		require.NoError(t, err)
		if info.Size() > size {
			file, size = name, info.Size()
		}
	}
	require.NotEmpty(t, file, topic)
	relative, err := filepath.Rel(dataDir, file)
	require.NoError(t, err)
	folder := filepath.Base(filepath.Dir(file))
	return relative, size, folder[len(topic)+1:]
}

// recordsOf are the values of the topics' records by topic and offset.
func recordsOf(t *testing.T, dataDir string, topics ...string) map[string]string {
	t.Helper()
	log, err := kafkabroker.OpenLog(filepath.Join(dataDir, "kafka"), nil, nil)
	require.NoError(t, err)
	defer log.Close()
	found := map[string]string{}
	require.NoError(t, log.Read(t.Context(), topics, func(r *segments.Record) {
		found[fmt.Sprintf("%s %d", r.Topic, r.Offset)] = string(r.Value)
	}))
	return found
}

// TestRepairNamesWhatDoesNotComeBack: of keys and of facts that were read nothing is cut silently.
// Each lost range is named, with what to do, and every other record stays where it was. What came
// from blocks becomes a gap that is named too.
func TestRepairNamesWhatDoesNotComeBack(t *testing.T) {
	dir := t.TempDir()
	kept := []string{schemas.TopicGatewayKeys, schemas.TopicEnrichments}
	writeLog(t, dir, nil, func(broker string) { writeBatches(t, broker, append(kept, schemas.TopicTokenEvents)...) })
	before := recordsOf(t, dir, kept...)
	require.Len(t, before, len(kept)*batches*2)
	var ranges []string
	for _, topic := range append(kept, schemas.TopicTokenEvents) {
		file, size, partition := segmentWith(t, dir, topic)
		// Batches have one length: this is the values of the second.
		require.NoError(t, damage.Act{Kind: damage.Zero, File: file, Position: size/2 - 10, Bytes: 8}.Do(dir))
		ranges = append(ranges, fmt.Sprintf("(%s partition %s, offsets 2 to 3)", topic, partition))
	}

	out, err := runRepair(t, "--check", "--data-dir", dir)
	require.ErrorContains(t, err, "the log is damaged in 3 places")
	for _, lost := range ranges {
		require.Contains(t, out, lost)
	}

	out, err = runRepair(t, "--data-dir", dir)
	require.NoError(t, err)
	for _, lost := range ranges {
		require.Regexp(t, `(?m)^damage: partitions/.*`+regexp.QuoteMeta(lost), out)
	}
	require.Contains(t, out, "lost on gateway.keys.v1: events of API keys. Nothing brings them back: look at each key that was made, changed or revoked in this time\n")
	require.Contains(t, out, "lost on registry.enrichments.v1: facts that were read from accounts and documents. They do not come back by themselves")
	require.Contains(t, out, "mintlake export --to DIR --key FILE, then mintlake import --from DIR --trust KEY")
	require.NotContains(t, out, "lost on chain.token-events.v1", "the source brings these back")
	require.Contains(t, out, "4 slots between 100 and 103 are gaps of the coverage now")

	after := recordsOf(t, dir, kept...)
	for at, value := range before {
		if at[len(at)-2:] != " 2" && at[len(at)-2:] != " 3" {
			require.Equal(t, value, after[at], at)
		}
	}
	for _, topic := range kept {
		require.NotContains(t, after, topic+" 2")
		require.NotContains(t, after, topic+" 3")
	}
	out, err = runRepair(t, "--check", "--data-dir", dir)
	require.NoError(t, err)
	for _, topic := range kept {
		require.Regexp(t, "(?m)^lost earlier: "+regexp.QuoteMeta(topic)+` partition \d+, offsets 2 to 3$`, out, "what is lost stays named")
	}
}

// TestRepairNamesAFileThatIsGone: a deleted segment of keys is named with its range, also the next
// time that somebody looks.
func TestRepairNamesAFileThatIsGone(t *testing.T) {
	dir := t.TempDir()
	writeLog(t, dir, nil, func(broker string) { writeBatches(t, broker, schemas.TopicGatewayKeys) })
	file, _, _ := segmentWith(t, dir, schemas.TopicGatewayKeys)
	require.NoError(t, damage.Act{Kind: damage.Delete, File: file}.Do(dir))

	out, err := runRepair(t, "--data-dir", dir)
	require.NoError(t, err)
	require.Regexp(t, `(?m)^damage: .*\(gateway\.keys\.v1 partition \d+, offsets 0 to 7\)$`, out)
	require.Contains(t, out, "lost on gateway.keys.v1: events of API keys. Nothing brings them back")
	out, err = runRepair(t, "--check", "--data-dir", dir)
	require.NoError(t, err)
	require.Regexp(t, `(?m)^lost earlier: gateway\.keys\.v1 partition \d+, offsets 0 to 7$`, out)
}
