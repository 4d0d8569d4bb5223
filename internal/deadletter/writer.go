package deadletter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/kafka"
)

// Producer writes records; nil means that all are acknowledged.
type Producer interface {
	kafka.RecordProducer
	// Fits says whether a record is small enough.
	Fits(record *kafka.Record) bool
}

// Writer writes what a room makes of input from outside. A record that is too large for Kafka is
// written as a dead letter instead: the same input would come again after a restart and end the
// room again.
type Writer struct {
	producer Producer
	source   string
	logger   *slog.Logger
	tooLarge *prometheus.CounterVec
}

// Writers makes the writers of one process.
type Writers struct{ writer Writer }

// NewWriters registers the metrics. Logger and registerer may be nil.
func NewWriters(producer Producer, logger *slog.Logger, registerer prometheus.Registerer) (*Writers, error) {
	if producer == nil {
		return nil, errors.New("new dead letter writers: no producer")
	}
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	tooLarge := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "mintlake_kafka_oversized_records_total", Help: "Records that were too large for Kafka and were written as dead letters, by the room that made them.",
	}, []string{"source"})
	if registerer != nil {
		if err := registerer.Register(tooLarge); err != nil {
			return nil, fmt.Errorf("new dead letter writers: %w", err)
		}
	}
	return &Writers{writer: Writer{producer: producer, logger: logger, tooLarge: tooLarge}}, nil
}

// For is the writer of a room, whose name its dead letters carry.
func (w *Writers) For(source string) *Writer {
	writer := w.writer
	writer.source = source
	writer.tooLarge.WithLabelValues(source) // counts from 0, see package counters
	return &writer
}

// Produce writes records as kafka.Producer does.
func (w *Writer) Produce(ctx context.Context, records ...kafka.Record) error {
	var fitting []kafka.Record // a copy of records, made for the first that does not fit
	for i := range records {
		if w.producer.Fits(&records[i]) {
			continue
		}
		if fitting == nil {
			fitting = append(fitting, records...)
		}
		fitting[i] = w.oversized(records[i])
	}
	if fitting != nil {
		records = fitting
	}
	return w.producer.Produce(ctx, records...) // the caller sees no difference to its producer
}

func (w *Writer) oversized(record kafka.Record) kafka.Record {
	w.tooLarge.WithLabelValues(w.source).Inc()
	w.logger.Warn("record is too large for kafka: dead letter", "topic", record.Topic, "bytes", len(record.Key)+len(record.Value))
	record.Partition, record.Offset = -1, -1 // it was never written
	return Of(w.source, kafka.ErrRecordTooLarge.Error(), &record)
}
