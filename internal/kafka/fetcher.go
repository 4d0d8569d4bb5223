package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

const (
	// maxFetchBytes bounds one fetch of one partition. A consumer holds at most this much
	// per partition, before decompression.
	maxFetchBytes = 1 << 20
	// fetchWait is how long the broker holds a fetch that finds no records.
	fetchWait = 500 * time.Millisecond

	offsetUnknown = int64(-1)
)

// fetcher reads partitions and delivers their records in order. One fetcher is shared by all
// partitions of a consumer.
type fetcher struct {
	client   *client
	metrics  *metrics
	log      *sampler
	consumer string
	maxBytes int64
	out      chan<- delivery
	// onFetch may be nil. It is called in two cases: with the offset where reading begins, if run
	// had to look for that offset at the start or because the old offset was gone, and with the
	// high watermark after each fetch. In each case the other value is offsetUnknown.
	onFetch func(tp TopicPartition, begin, highWatermark int64)
}

// run reads tp from offset until ctx ends or a permanent error. If offset is offsetUnknown, it
// begins at the first offset that the partition has.
func (f *fetcher) run(ctx context.Context, generation int64, tp TopicPartition, offset int64) error {
	var b backoff
	lag := f.metrics.fetchLag.WithLabelValues(f.consumer, tp.Topic, strconv.Itoa(tp.Partition))
	// Another member may read the partition next, so the lag that this member reported must not
	// stay in the metrics.
	defer f.metrics.fetchLag.DeleteLabelValues(f.consumer, tp.Topic, strconv.Itoa(tp.Partition))
	unannounced := offset == offsetUnknown // onFetch must be told where reading begins
	for ctx.Err() == nil {
		if offset == offsetUnknown {
			first, err := f.firstOffset(ctx, tp)
			if err != nil {
				return err
			}
			offset = first
		}
		if unannounced {
			f.notify(tp, offset, offsetUnknown)
			unannounced = false
		}
		records, next, end, err := f.fetch(ctx, tp, offset)
		switch {
		case ctx.Err() != nil:
			return nil
		case isCode(err, kafkago.OffsetOutOfRange):
			f.metrics.offsetResets.WithLabelValues(f.consumer, tp.Topic).Inc()
			f.log.warn("kafka offset is gone, reading from the first one", "topic", tp.Topic, "partition", tp.Partition, "offset", offset)
			offset, unannounced = offsetUnknown, true
			// If the log loses its first offsets faster than they are read, this must not become a
			// busy loop.
			b.wait(ctx)
			continue
		case err != nil:
			f.failed(tp, err)
			if !Retryable(err) {
				return fmt.Errorf("fetch %s at offset %d: %w", tp, offset, err)
			}
			b.wait(ctx)
			continue
		}
		b.reset()
		offset = next
		lag.Set(float64(max(end-next, 0)))
		if len(records) == 0 {
			continue
		}
		select {
		case f.out <- delivery{generation: generation, records: records}:
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

func (f *fetcher) notify(tp TopicPartition, begin, highWatermark int64) {
	if f.onFetch != nil {
		f.onFetch(tp, begin, highWatermark)
	}
}

func (f *fetcher) failed(tp TopicPartition, err error) {
	f.metrics.fetchErrors.WithLabelValues(f.consumer, errorKind(err)).Inc()
	f.log.trouble(err, "kafka fetch failed", "topic", tp.Topic, "partition", tp.Partition)
}

// firstOffset returns the partition's first offset. It retries transient errors until ctx ends;
// then it returns 0 and no error, because run ends without one too.
func (f *fetcher) firstOffset(ctx context.Context, tp TopicPartition) (int64, error) {
	var first int64
	err := f.client.retry(ctx, func(err error) { f.failed(tp, err) }, func(ctx context.Context) error {
		offsets, err := f.client.listOffsets(ctx, []TopicPartition{tp}, kafkago.FirstOffset)
		first = offsets[tp]
		return err
	})
	if err != nil && ctx.Err() == nil {
		return 0, fmt.Errorf("find first offset of %s: %w", tp, err)
	}
	return first, nil
}

// fetch makes one request. It returns the records from offset on, the offset to read next, and the
// high watermark of the partition. The broker answers after fetchWait at the latest, perhaps
// without records.
func (f *fetcher) fetch(ctx context.Context, tp TopicPartition, offset int64) (records []Record, next, end int64, err error) {
	start := time.Now()
	resp, err := f.client.Fetch(ctx, &kafkago.FetchRequest{
		Topic: tp.Topic, Partition: tp.Partition, Offset: offset, MinBytes: 1, MaxBytes: f.maxBytes, MaxWait: fetchWait,
	})
	if err != nil {
		return nil, offset, 0, err
	}
	if resp.Error != nil {
		return nil, offset, 0, resp.Error
	}
	records, tooLarge, next, err := readRecords(resp.Records, tp, offset)
	if err != nil {
		return nil, offset, 0, err
	}
	f.tooLarge(tp, tooLarge)
	if len(records) > 0 {
		f.metrics.fetchSeconds.WithLabelValues(f.consumer).Observe(since(start))
	}
	f.notify(tp, offsetUnknown, resp.HighWatermark)
	return records, next, resp.HighWatermark, nil
}

// readRecords decodes a response and returns the records and the next offset. Brokers send whole
// batches, so the response may begin before offset: those records are skipped. Control records (of
// transactions, which Mintlake does not write) are left out too, but the offset moves past them.
// tooLarge are the last offsets of batches that were not read, see boundedCodec.
func readRecords(reader kafkago.RecordReader, tp TopicPartition, offset int64) (records []Record, tooLarge []int64, next int64, err error) {
	batches := []kafkago.RecordReader{reader}
	if stream, ok := reader.(*protocol.RecordStream); ok {
		batches = stream.Records
	}
	for _, batch := range batches {
		_, control := batch.(*protocol.ControlBatch)
		for {
			in, err := batch.ReadRecord()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, nil, offset, fmt.Errorf("decode records: %w", err)
			}
			record, err := fromWire(in, tp)
			if err != nil {
				return nil, nil, offset, err
			}
			if record.Offset < offset {
				continue
			}
			offset = record.Offset + 1
			switch {
			case control:
			case record.standsForBatch():
				tooLarge = append(tooLarge, record.Offset)
			default:
				records = append(records, record)
			}
		}
	}
	return records, tooLarge, offset, nil
}

// fromWire copies a record, because the client library reuses its memory. Key and value share one
// allocation.
func fromWire(in *kafkago.Record, tp TopicPartition) (Record, error) {
	out := Record{Topic: tp.Topic, Partition: tp.Partition, Offset: in.Offset, Time: in.Time}
	keyLen, valueLen := 0, 0
	if in.Key != nil {
		keyLen = in.Key.Len()
	}
	if in.Value != nil {
		valueLen = in.Value.Len()
	}
	buf := make([]byte, keyLen+valueLen)
	if in.Key != nil {
		out.Key = buf[:keyLen:keyLen]
		if err := readBytes(in.Key, out.Key); err != nil {
			return Record{}, err
		}
	}
	if in.Value != nil {
		out.Value = buf[keyLen:]
		if err := readBytes(in.Value, out.Value); err != nil {
			return Record{}, err
		}
	}
	if len(in.Headers) > 0 {
		out.Headers = make([]Header, len(in.Headers))
		for i, h := range in.Headers {
			out.Headers[i] = Header{Key: h.Key, Value: h.Value}
		}
	}
	return out, nil
}

func readBytes(from kafkago.Bytes, to []byte) error {
	_, err := io.ReadFull(from, to)
	if err = errors.Join(err, from.Close()); err != nil {
		return fmt.Errorf("decode record: %w", err)
	}
	return nil
}
