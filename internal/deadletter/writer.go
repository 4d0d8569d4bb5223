package deadletter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
	"github.com/mintlake/mintlake/internal/kafka"
)

// Producer writes records. A nil error means that all are acknowledged.
type Producer interface {
	kafka.RecordProducer
	// Fits says whether a record is small enough for Kafka.
	Fits(record *kafka.Record) bool
}

// Writer writes the records that a room makes of input from outside. It writes a dead letter
// instead of a record that is too large for Kafka. An error would end the room, and the same input
// would end it again after each restart.
type Writer struct {
	producer Producer
	source   string
	logger   *slog.Logger
	tooLarge *prometheus.CounterVec
}

// Writers makes the Writer of each room of a process.
type Writers struct{ writer Writer } // writer is copied for each room

// NewWriters returns Writers that write through producer, and registers their metrics. logger and
// registerer may be nil.
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
	if err := counters.Register(registerer, tooLarge); err != nil {
		return nil, fmt.Errorf("new dead letter writers: %w", err)
	}
	return &Writers{writer: Writer{producer: producer, logger: logger, tooLarge: tooLarge}}, nil
}

// For returns the writer of a room. source is the room's name, which its dead letters carry.
func (w *Writers) For(source string) *Writer {
	writer := w.writer
	writer.source = source
	writer.tooLarge.WithLabelValues(source) // the series exists from now on, see package counters
	return &writer
}

// Produce writes the records, and dead letters instead of those that are too large.
func (w *Writer) Produce(ctx context.Context, records ...kafka.Record) error {
	var fitting []kafka.Record // a copy of records with the replacements; nil if all fit
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
	return w.producer.Produce(ctx, records...) // not wrapped: it is the caller's producer
}

// oversized counts and logs the record, and returns its dead letter.
func (w *Writer) oversized(record kafka.Record) kafka.Record {
	w.tooLarge.WithLabelValues(w.source).Inc()
	w.logger.Warn("record is too large for kafka: dead letter", "topic", record.Topic, "bytes", len(record.Key)+len(record.Value))
	record.Partition, record.Offset = -1, -1 // it was never written
	return Of(w.source, kafka.ErrRecordTooLarge.Error(), &record)
}
