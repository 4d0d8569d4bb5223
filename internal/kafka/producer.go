package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"sync"
	"sync/atomic"
	"time"

	kafkago "github.com/segmentio/kafka-go"
)

const (
	// DefaultMaxRecordBytes bounds a record: key, value, headers and overhead together, see
	// recordSize. It is max.message.bytes of Apache Kafka and of the embedded broker (1,048,588)
	// less room for the batch around the record. If a topic's max.message.bytes is higher, a larger
	// record fits.
	DefaultMaxRecordBytes = 1_000_000

	// recordOverhead is an upper bound of the bytes that a record takes besides its key, value and
	// headers.
	recordOverhead = 64
	// maxBatchRecords bounds one request by records, so that a batch of tiny ones is decoded in
	// bounded memory.
	maxBatchRecords = 20_000
	// headerOverhead is an upper bound of the bytes that a header takes besides its key and value:
	// two varints.
	headerOverhead = 10
)

// ProducerConfig configures a Producer.
type ProducerConfig struct {
	// Brokers are host:port addresses to begin with. Required.
	Brokers []string
	// maxRecordBytes bounds one record (key, value, headers and overhead; bytes) and the records of
	// one request, before compression. Default DefaultMaxRecordBytes.
	maxRecordBytes int
	// Topics are those whose metrics exist from the start. Other topics may be written too.
	Topics []string
	// Compression is none, gzip, snappy, lz4 or zstd. Default none.
	Compression string
}

// Producer writes records. Many goroutines may use it at once. While a partition's request is under
// way, the records of all callers are collected and go with the next one. So there is no timer to
// wait for, and one fsync serves many.
type Producer struct {
	cfg     ProducerConfig
	client  *client
	codec   kafkago.Compression
	metrics *metrics
	log     *sampler
	spread  atomic.Uint32 // spreads records without a key over the partitions in turn

	base context.Context // of the requests, which may outlive their callers; ends with Close
	stop context.CancelFunc

	mu         sync.Mutex
	closed     bool
	partitions map[string]int
	queues     map[TopicPartition]*produceQueue
	workers    sync.WaitGroup
}

// NewProducer checks the configuration and registers the metrics. It connects on the first Produce.
func NewProducer(cfg ProducerConfig, deps Deps) (*Producer, error) {
	c, err := newClient(cfg.Brokers, clientID, deps.Security)
	if err != nil {
		return nil, err
	}
	cfg.maxRecordBytes = cmp.Or(max(cfg.maxRecordBytes, 0), DefaultMaxRecordBytes)
	codec, err := codecOf(cfg.Compression)
	if err != nil {
		return nil, err
	}
	m, err := newMetrics(deps.Registerer)
	if err != nil {
		return nil, err
	}
	m.presetProducer(cfg.Topics)
	base, stop := context.WithCancel(context.Background())
	return &Producer{
		cfg: cfg, client: c, codec: codec, metrics: m, log: newSampler(deps.logger()), base: base, stop: stop,
		partitions: make(map[string]int), queues: make(map[TopicPartition]*produceQueue),
	}, nil
}

// DefaultCompression is what Mintlake compresses with. Of the codecs that keep up with a node, zstd
// makes the fewest bytes, see docs/sizing.md.
const DefaultCompression = "zstd"

// Compressions are the names that ProducerConfig.Compression takes.
func Compressions() []string { return []string{"none", "gzip", "snappy", "lz4", "zstd"} }

func codecOf(name string) (kafkago.Compression, error) {
	if name == "" || name == "none" {
		return 0, nil
	}
	for _, codec := range []kafkago.Compression{kafkago.Gzip, kafkago.Snappy, kafkago.Lz4, kafkago.Zstd} {
		if codec.String() == name {
			return codec, nil
		}
	}
	return 0, fmt.Errorf("kafka: compression %q: must be none, gzip, snappy, lz4 or zstd", name)
}

// Produce writes records and returns nil only when all in-sync replicas have all of them. Transient
// errors are retried until ctx ends; only records that are not acknowledged yet are sent again.
// Records of one key keep their order, also over retries. If it stayed unknown whether a request
// succeeded, records may be there twice.
//
// It returns ErrRecordTooLarge before anything is sent, ErrClosed, ctx's error, or the broker's
// permanent error. Then some of the records may have been written; after a permanent error, no
// later record of the same partition and call was. The caller must not change the records' bytes
// until Produce returns, and never if it returns an error.
func (p *Producer) Produce(ctx context.Context, records ...Record) error {
	if len(records) == 0 {
		return nil
	}
	for i := range records {
		if size := recordSize(&records[i]); size > p.cfg.maxRecordBytes {
			return fmt.Errorf("produce to %s: %w: %d bytes, limit %d", records[i].Topic, ErrRecordTooLarge, size, p.cfg.maxRecordBytes)
		}
	}
	c := &call{ctx: ctx, done: make(chan struct{})}
	chunks, err := p.split(c, records)
	if err != nil {
		return fmt.Errorf("produce: %w", err)
	}
	c.open.Store(int64(len(chunks)))
	if err := p.enqueue(chunks); err != nil {
		return fmt.Errorf("produce: %w", err)
	}
	select {
	case <-c.done:
	case <-ctx.Done():
		c.fail(endedError(ctx, c.lastTrouble()))
	}
	if err := c.failure(); err != nil {
		return fmt.Errorf("produce: %w", err)
	}
	return nil
}

// Fits reports whether a record is small enough for Produce.
func (p *Producer) Fits(record *Record) bool { return recordSize(record) <= p.cfg.maxRecordBytes }

// Close ends the requests under way. Calls of Produce that wait return ErrClosed. Close returns
// when all workers have ended.
func (p *Producer) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.stop()
	p.workers.Wait()
	p.client.close()
}

// split cuts the call into chunks, in the order of the records. A chunk has records of one
// partition, and fits into one request.
func (p *Producer) split(c *call, records []Record) ([]*chunk, error) {
	var chunks []*chunk
	last := make(map[TopicPartition]*chunk)
	for i := range records {
		r := &records[i]
		count, err := p.partitionCount(c, r.Topic)
		if err != nil {
			return nil, err
		}
		tp := TopicPartition{Topic: r.Topic, Partition: p.choose(r.Key, count)}
		size := recordSize(r)
		ch := last[tp]
		if ch == nil || ch.bytes+size > p.cfg.maxRecordBytes || len(ch.records) >= maxBatchRecords {
			ch = &chunk{call: c, tp: tp}
			last[tp] = ch
			chunks = append(chunks, ch)
		}
		ch.records = append(ch.records, r)
		ch.bytes += size
	}
	return chunks, nil
}

// choose returns the partition of a key. A record without a key gets the next partition in turn.
func (p *Producer) choose(key []byte, count int) int {
	if len(key) == 0 {
		return int(p.spread.Add(1) % uint32(count))
	}
	return PartitionOf(key, count)
}

// PartitionOf returns the partition of a non-empty key in a topic of count partitions: FNV-1a, 32
// bits, taken as signed, modulo count, made positive. It is the hash partitioner of kafka-go and
// sarama, bit for bit, so that other tools find a key where we put it.
func PartitionOf(key []byte, count int) int {
	h := fnv.New32a()
	_, _ = h.Write(key)
	partition := int32(h.Sum32()) % int32(count)
	if partition < 0 {
		partition = -partition
	}
	return int(partition)
}

// partitionCount returns the number of a topic's partitions. It asks the broker once per topic, and
// retries until c's context or the producer ends.
func (p *Producer) partitionCount(c *call, topic string) (int, error) {
	p.mu.Lock()
	count, ok := p.partitions[topic]
	p.mu.Unlock()
	if ok {
		return count, nil
	}
	if topic == "" {
		return 0, errors.New("record without a topic")
	}
	ctx, cancel := context.WithCancelCause(c.ctx)
	defer cancel(nil)
	stop := context.AfterFunc(p.base, func() { cancel(ErrClosed) })
	defer stop()
	failed := func(err error) {
		p.metrics.produceErrors.WithLabelValues(topic, errorKind(err)).Inc()
		p.log.trouble(err, "kafka metadata failed", "topic", topic)
	}
	err := p.client.retry(ctx, failed, func(ctx context.Context) error {
		counts, err := p.client.partitions(ctx, topic)
		count = counts[topic]
		return err
	})
	if err != nil {
		return 0, err
	}
	p.mu.Lock()
	p.partitions[topic] = count
	p.mu.Unlock()
	return count, nil
}

// enqueue adds the chunks to the queues of their partitions, and starts a worker for each queue
// that has none.
func (p *Producer) enqueue(chunks []*chunk) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrClosed
	}
	for _, ch := range chunks {
		q := p.queues[ch.tp]
		if q == nil {
			q = &produceQueue{tp: ch.tp}
			p.queues[ch.tp] = q
		}
		q.waiting = append(q.waiting, ch)
		if !q.running {
			q.running = true
			p.workers.Go(func() { p.work(q) })
		}
	}
	return nil
}

// recordSize is the size of a record that counts for maxRecordBytes: an upper bound of its encoded
// bytes.
func recordSize(r *Record) int {
	size := len(r.Key) + len(r.Value) + recordOverhead
	for i := range r.Headers {
		size += len(r.Headers[i].Key) + len(r.Headers[i].Value) + headerOverhead
	}
	return size
}

// toWire converts a record for the client library. An empty value stays empty; a nil value stays
// null (a tombstone).
func toWire(r *Record) kafkago.Record {
	out := kafkago.Record{Time: r.Time}
	if len(r.Key) > 0 {
		out.Key = kafkago.NewBytes(r.Key)
	}
	if r.Value != nil {
		out.Value = kafkago.NewBytes(r.Value)
	}
	if len(r.Headers) > 0 {
		out.Headers = make([]kafkago.Header, len(r.Headers))
		for i, h := range r.Headers {
			out.Headers[i] = kafkago.Header{Key: h.Key, Value: h.Value}
		}
	}
	return out
}

// since returns the seconds since start.
func since(start time.Time) float64 { return time.Since(start).Seconds() }
