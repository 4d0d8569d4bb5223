package runner_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/ingest/runner"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// TestOnABroker runs against a real broker and reads back with MintLog what the runner wrote.
func TestOnABroker(t *testing.T) {
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Minute)
	defer stop()
	brokers, producer := startBroker(ctx, t)
	mints, err := runner.NewMintLog(runner.MintLogConfig{Brokers: brokers}, kafka.Deps{})
	require.NoError(t, err)
	require.Empty(t, read(ctx, t, mints), "an empty log is read at once")

	r, err := runner.New(runner.Config{Sources: sourcesOf(blocks("file",
		newBlock(100, 99, transactionOf(func(b *builder) { b.initialize(mintKey(1)) }, func(b *builder) { b.mintTo(mintKey(2)) })),
		newBlock(101, 100, transactionOf(func(b *builder) { b.balance(mintKey(3)) }, func(b *builder) { b.setAuthority(mintKey(4)) })),
	))}, runner.Deps{Producer: producer, Mints: mints})
	require.NoError(t, err)
	require.NoError(t, r.Run(ctx))
	require.Equal(t, map[pubkey.Key]uint64{mintKey(1): 100, mintKey(2): 100, mintKey(3): 101}, read(ctx, t, mints))

	tailer, err := kafka.NewTailer(kafka.TailerConfig{Brokers: brokers, Topics: []string{schemas.TopicSlots}}, kafka.Deps{})
	require.NoError(t, err)
	defer tailer.Close()
	var slots []uint64
	for done := false; !done; {
		records, err := tailer.FetchBatch(ctx, 100, 10*time.Millisecond)
		require.NoError(t, err)
		for _, record := range records {
			if header(record, schemas.HeaderType) == schemas.TypeSlot {
				var slot eventspb.SlotRecord
				require.NoError(t, proto.Unmarshal(record.Value, &slot))
				slots = append(slots, slot.GetSlot())
				continue
			}
			var status eventspb.SourceStatus
			require.NoError(t, proto.Unmarshal(record.Value, &status))
			done = status.GetDone()
		}
	}
	require.Equal(t, []uint64{100, 101}, slots)
}

func read(ctx context.Context, t *testing.T, mints *runner.MintLog) map[pubkey.Key]uint64 {
	t.Helper()
	all := make(map[pubkey.Key]uint64)
	require.NoError(t, mints.ReadMints(ctx, func(mint pubkey.Key, slot uint64, _ bool) { all[mint] = slot }))
	return all
}

// startBroker starts a broker with all topics, and a producer.
func startBroker(ctx context.Context, t testing.TB) ([]string, *kafka.Producer) {
	t.Helper()
	brokers := kafkatest.Start(t)
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: brokers}, kafka.Deps{})
	require.NoError(t, err)
	defer admin.Close()
	var specs []kafka.TopicSpec
	for _, topic := range schemas.Topics() {
		specs = append(specs, kafka.TopicSpec{Name: topic.Name, Partitions: topic.Partitions, ReplicationFactor: 1, Config: topic.Config()})
	}
	require.NoError(t, admin.EnsureTopics(ctx, specs))
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers}, kafka.Deps{})
	require.NoError(t, err)
	t.Cleanup(producer.Close)
	return brokers, producer
}
