package deadletter_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/deadletter"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
	"github.com/mintlake/mintlake/schemas"
)

// shifted tells of topics whose first records are gone.
type shifted struct {
	*kafka.Admin
	gone map[string]int64
}

func (s *shifted) StartOffsets(ctx context.Context, topics []string) (map[kafka.TopicPartition]int64, error) {
	offsets, err := s.Admin.StartOffsets(ctx, topics)
	for tp := range offsets {
		offsets[tp] += s.gone[tp.Topic]
	}
	return offsets, err
}

func TestReplayWritesTheOriginalAgain(t *testing.T) {
	brokers := kafkatest.Start(t)
	deps := kafka.Deps{Logger: kafkatest.Logger(t)}
	client, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: brokers}, deps)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	var specs []kafka.TopicSpec
	for _, topic := range []string{schemas.TopicDeadLetters, schemas.TopicTokenEvents} {
		specs = append(specs, kafka.TopicSpec{Name: topic, Partitions: 2, ReplicationFactor: 1, Config: schemas.Topic{Name: topic}.Config()})
	}
	require.NoError(t, client.EnsureTopics(t.Context(), specs))
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers}, deps)
	require.NoError(t, err)
	t.Cleanup(producer.Close)
	offsets := &shifted{client, map[string]int64{}}
	store := &deadletter.Store{Offsets: offsets, Producer: producer,
		OpenTail: func(topics []string, start map[kafka.TopicPartition]int64) (kafka.TailReader, error) {
			return kafka.NewTailer(kafka.TailerConfig{Brokers: brokers, Topics: topics, Start: start}, deps)
		}}
	letters, err := store.List(t.Context(), 10)
	require.NoError(t, err)
	require.Empty(t, letters)

	original := kafka.Record{Topic: schemas.TopicTokenEvents, Key: []byte("mint"), Value: []byte("no message"), Headers: []kafka.Header{{Key: "type", Value: []byte("x")}}}
	require.NoError(t, producer.Produce(t.Context(), kafka.Record{Topic: schemas.TopicTokenEvents, Key: []byte("mint"), Value: []byte("before")}, original))
	ends, err := client.EndOffsets(t.Context(), []string{schemas.TopicTokenEvents})
	require.NoError(t, err)
	for tp, end := range ends {
		if end == 2 {
			original.Partition, original.Offset = tp.Partition, 1
		}
	}
	other := original
	other.Value = []byte("something else")
	beyond := original
	beyond.Offset = 77
	require.NoError(t, producer.Produce(t.Context(), deadletter.Of("projector", "no reason", &original), deadletter.OfInput("projector", "no record", "file"),
		deadletter.Of("projector", "other bytes", &other), deadletter.Of("projector", "beyond", &beyond)))
	letters, err = store.List(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, letters, 4)
	require.Equal(t, "no reason", letters[0].GetReason())
	last, err := store.List(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, "beyond", last[0].GetReason())

	at := letters[0]
	replayed, err := store.Replay(t.Context(), at.Partition, at.Offset)
	require.NoError(t, err)
	require.Equal(t, schemas.TopicTokenEvents, replayed.GetTopic())
	tail, err := store.OpenTail([]string{schemas.TopicTokenEvents}, map[kafka.TopicPartition]int64{{Topic: schemas.TopicTokenEvents, Partition: original.Partition}: 2})
	require.NoError(t, err)
	defer tail.Close()
	again, err := tail.FetchBatch(t.Context(), 1, 0)
	require.NoError(t, err)
	require.Equal(t, original.Key, again[0].Key)
	require.Equal(t, original.Value, again[0].Value)
	require.Equal(t, original.Headers, again[0].Headers)

	for i, want := range map[int]error{1: deadletter.ErrNoRecord, 2: deadletter.ErrOther, 3: deadletter.ErrGone} {
		_, err = store.Replay(t.Context(), letters[i].Partition, letters[i].Offset)
		require.ErrorIs(t, err, want)
	}
	_, err = store.Replay(t.Context(), 7, 0)
	require.ErrorIs(t, err, deadletter.ErrNoLetter)
	offsets.gone[schemas.TopicTokenEvents] = 2
	_, err = store.Replay(t.Context(), at.Partition, at.Offset)
	require.ErrorIs(t, err, deadletter.ErrGone)
}

// repaired is a topic of one partition whose damaged records a repair replaced by one, which has
// the last offset of theirs.
type repaired struct {
	records []kafka.Record
	end     int64
}

func (r *repaired) StartOffsets(context.Context, []string) (map[kafka.TopicPartition]int64, error) {
	return map[kafka.TopicPartition]int64{{Topic: schemas.TopicDeadLetters}: 0}, nil
}

func (r *repaired) EndOffsets(context.Context, []string) (map[kafka.TopicPartition]int64, error) {
	return map[kafka.TopicPartition]int64{{Topic: schemas.TopicDeadLetters}: r.end}, nil
}

func (r *repaired) FetchBatch(ctx context.Context, _ int, _ time.Duration) ([]kafka.Record, error) {
	if len(r.records) == 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	records := r.records
	r.records = nil
	return records, nil
}

func (r *repaired) Close() {}

// TestAListOfARepairedTopicEnds: where offsets have no record.
func TestAListOfARepairedTopicEnds(t *testing.T) {
	letter := deadletter.Of("projector", "a reason", &kafka.Record{Topic: schemas.TopicTokenEvents})
	letter.Offset = 3
	topic := &repaired{end: 100, records: []kafka.Record{letter, {Topic: schemas.TopicDeadLetters, Offset: 99, Value: []byte("a marker")}}}
	store := &deadletter.Store{Offsets: topic, OpenTail: func([]string, map[kafka.TopicPartition]int64) (kafka.TailReader, error) { return topic, nil }}
	letters, err := store.List(t.Context(), 100)
	require.NoError(t, err)
	require.Len(t, letters, 2)
	require.Equal(t, "a reason", letters[0].GetReason())
}
