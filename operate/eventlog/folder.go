package eventlog

import (
	"context"

	kafkabroker "github.com/mintlake/mintlake/embedded/kafka"
	"github.com/mintlake/mintlake/embedded/kafka/segments"
	"github.com/mintlake/mintlake/internal/kafka"
)

// Folder reads the topics of an embedded broker from its files, while the broker does not run.
// It writes nothing.
type Folder struct{ *kafkabroker.Log }

// Read implements Log.
func (l *Folder) Read(ctx context.Context, topics []string, visit func(*kafka.Record)) error {
	return l.Log.Read(ctx, topics, func(in *segments.Record) {
		record := kafka.Record{Topic: in.Topic, Partition: int(in.Partition), Offset: in.Offset, Key: in.Key, Value: in.Value, Time: in.Time}
		for _, h := range in.Headers {
			record.Headers = append(record.Headers, kafka.Header{Key: h.Key, Value: h.Value})
		}
		visit(&record)
	})
}

// Records implements Log.
func (l *Folder) Records(_ context.Context, topics []string) (int64, error) {
	return l.Log.Records(topics), nil
}
