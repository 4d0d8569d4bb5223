package deadletter_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/deadletter"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

func open(t testing.TB, record kafka.Record) *eventspb.DeadLetter {
	t.Helper()
	letter := new(eventspb.DeadLetter)
	require.NoError(t, proto.Unmarshal(record.Value, letter))
	return letter
}

// TestALetterIsSmallWhateverItIsAbout: value, key, reason and headers of any size and content.
func TestALetterIsSmallWhateverItIsAbout(t *testing.T) {
	huge := bytes.Repeat([]byte{0xff, 'a'}, 600_000)
	record := &kafka.Record{
		Topic: schemas.TopicTokenEvents, Partition: 3, Offset: 42, Key: huge, Value: huge,
		Headers: []kafka.Header{{Key: string(huge), Value: huge}},
	}
	letter := deadletter.Of("room", string(huge), record)
	require.Less(t, len(letter.Value), 70_000)
	got := open(t, letter)
	hash := sha256.Sum256(huge)
	require.Equal(t, hash[:], got.GetValueSha256())
	require.EqualValues(t, len(huge), got.GetValueBytes())
	require.EqualValues(t, len(huge), got.GetKeyBytes())
	require.Equal(t, huge[:deadletter.MaxValue], got.GetValue())
	require.Equal(t, huge[:deadletter.MaxKey], got.GetKey())
	require.Equal(t, schemas.TopicTokenEvents, got.GetTopic())
	require.EqualValues(t, 3, got.GetPartition())
	require.EqualValues(t, 42, got.GetOffset())
	require.True(t, utf8.ValidString(got.GetReason()))

	input := deadletter.OfInput("room", string(huge), string(huge))
	require.Less(t, len(input.Value), 3_000)
	require.NotEmpty(t, open(t, input).GetKey())

	small := deadletter.Of("room", "why", &kafka.Record{Topic: "t", Key: []byte("key"), Value: []byte("value")})
	require.Equal(t, "value", string(open(t, small).GetValue()))
	require.Equal(t, "room", string(small.Key))
}

// TestARecordThatIsTooLargeDoesNotEndItsRoom: the others of its call are written, and it is as a
// dead letter.
func TestARecordThatIsTooLargeDoesNotEndItsRoom(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	brokers := kafkatest.Start(t)
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: brokers}, kafka.Deps{})
	require.NoError(t, err)
	defer admin.Close()
	config := map[string]string{"retention.ms": "-1", "retention.bytes": "-1"}
	require.NoError(t, admin.EnsureTopics(ctx, []kafka.TopicSpec{
		{Name: "t", Partitions: 1, ReplicationFactor: 1, Config: config}, {Name: schemas.TopicDeadLetters, Partitions: 1, ReplicationFactor: 1, Config: config},
	}))
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers}, kafka.Deps{})
	require.NoError(t, err)
	defer producer.Close()
	writers, err := deadletter.NewWriters(producer, nil, nil)
	require.NoError(t, err)
	records := []kafka.Record{
		{Topic: "t", Value: []byte("one")}, {Topic: "t", Key: []byte("k"), Value: make([]byte, 1_040_000)},
		{Topic: "t", Key: []byte(strings.Repeat("k", 2_000_000))}, {Topic: "t", Value: []byte("two")},
	}
	require.ErrorIs(t, producer.Produce(ctx, records...), kafka.ErrRecordTooLarge)
	require.NoError(t, writers.For("room").Produce(ctx, records...))
	require.Len(t, records[1].Value, 1_040_000, "the caller's records stay as they are")

	ends, err := admin.EndOffsets(ctx, []string{"t", schemas.TopicDeadLetters})
	require.NoError(t, err)
	require.EqualValues(t, 2, ends[kafka.TopicPartition{Topic: "t"}])
	require.EqualValues(t, 2, ends[kafka.TopicPartition{Topic: schemas.TopicDeadLetters}])
}
