package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// TailerConfig configures a Tailer.
type TailerConfig struct {
	// Brokers are host:port addresses to begin with. Required.
	Brokers []string
	// Name is the tailer's label in metrics. Default "tailer".
	Name string
	// Topics are the topics to read, at least one. All their partitions are read. FetchBatch waits
	// until the topics exist.
	Topics []string
	// Start is the offset where each partition is read from. A partition that is missing here, or
	// has a negative offset, is read from its first offset.
	Start map[TopicPartition]int64
}

// Tailer reads all partitions of its topics without a group: every tailer sees every record, and
// the caller keeps the offsets. Only one goroutine may call FetchBatch; any may call the other
// methods.
type Tailer struct {
	cfg     TailerConfig
	client  *client
	metrics *metrics
	log     *sampler
	intake  intake

	base    context.Context // ends when the tailer is closed or fails
	stop    context.CancelFunc
	started sync.Once
	running sync.WaitGroup

	mu        sync.Mutex
	err       error
	positions map[TopicPartition]int64
	ends      map[TopicPartition]int64 // high watermarks, as of the latest fetch
}

// NewTailer checks the configuration and registers the metrics. It connects on the first
// FetchBatch.
func NewTailer(cfg TailerConfig, deps Deps) (*Tailer, error) {
	if len(cfg.Topics) == 0 {
		return nil, errors.New("kafka: topics are required")
	}
	c, err := newClient(cfg.Brokers, clientID, deps.Security)
	if err != nil {
		return nil, err
	}
	cfg.Name = cmp.Or(cfg.Name, "tailer")
	m, err := newMetrics(deps.Registerer)
	if err != nil {
		return nil, err
	}
	m.presetConsumer(cfg.Name, cfg.Topics)
	base, stop := context.WithCancel(context.Background())
	t := &Tailer{
		cfg: cfg, client: c, metrics: m, log: newSampler(deps.logger()), base: base, stop: stop,
		positions: make(map[TopicPartition]int64), ends: make(map[TopicPartition]int64),
	}
	t.cfg.Topics, t.cfg.Start = slices.Clone(cfg.Topics), maps.Clone(cfg.Start)
	t.intake = intake{ch: make(chan delivery), current: func(int64) bool { return true }, ended: make(chan struct{}), why: t.why}
	return t, nil
}

// FetchBatch waits for at least one record. Then it takes more until wait has passed or it has
// limit records. Records of one partition are in order. Transient errors are retried. If an offset
// is gone (it expired, or the topic was created anew), that is counted and logged, and the
// partition is read from its first offset. FetchBatch returns ctx's error, ErrClosed, or a
// permanent error; after the last two the tailer cannot be used any more.
func (t *Tailer) FetchBatch(ctx context.Context, limit int, wait time.Duration) ([]Record, error) {
	t.started.Do(func() { t.running.Go(t.run) })
	records, err := t.intake.collect(ctx, limit, wait)
	if err != nil {
		return nil, fmt.Errorf("tail %s: %w", joined(t.cfg.Topics), err)
	}
	t.advance(records)
	t.metrics.count(t.cfg.Name, records)
	return records, nil
}

// Positions returns for each partition the offset after the last record that FetchBatch returned,
// or where reading began. If the caller processes each batch before it asks for the next, then it
// has processed everything below the positions when it asks. The map is empty until the partitions
// are known. A partition that begins at its first offset has the position -1 until that offset is
// known.
func (t *Tailer) Positions() map[TopicPartition]int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.positions)
}

// Lag returns how many records are between the positions and the ends of the partitions. The ends
// are those of the latest fetches: at most half a second old while the broker answers and the
// caller keeps calling FetchBatch. known is false until every partition was fetched once.
func (t *Tailer) Lag() (records int64, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for tp, position := range t.positions {
		end, ok := t.ends[tp]
		if !ok {
			return 0, false
		}
		records += max(end-position, 0)
	}
	return records, len(t.positions) > 0
}

// Close stops the tailer and returns when its goroutines have ended.
func (t *Tailer) Close() {
	t.end(ErrClosed)
	t.running.Wait()
	t.client.close()
}

// run reads all partitions until the tailer is closed or a partition fails for good.
func (t *Tailer) run() {
	tps, err := t.partitions()
	if err != nil {
		t.end(err)
		return
	}
	t.mu.Lock()
	for _, tp := range tps {
		t.positions[tp] = t.begin(tp)
	}
	t.mu.Unlock()
	fetchers, ctx := errgroup.WithContext(t.base)
	f := &fetcher{
		client: t.client, metrics: t.metrics, log: t.log, consumer: t.cfg.Name, maxBytes: maxFetchBytes,
		out: t.intake.ch, onFetch: t.onFetch,
	}
	for _, tp := range tps {
		fetchers.Go(func() error { return f.run(ctx, 0, tp, t.begin(tp)) })
	}
	if err := fetchers.Wait(); err != nil {
		t.end(err)
	}
}

func (t *Tailer) begin(tp TopicPartition) int64 {
	if offset, ok := t.cfg.Start[tp]; ok && offset >= 0 {
		return offset
	}
	return offsetUnknown
}

func (t *Tailer) partitions() ([]TopicPartition, error) {
	var tps []TopicPartition
	failed := func(err error) {
		t.metrics.fetchErrors.WithLabelValues(t.cfg.Name, errorKind(err)).Inc()
		t.log.trouble(err, "kafka metadata failed", "topic", joined(t.cfg.Topics))
	}
	err := t.client.retry(t.base, failed, func(ctx context.Context) error {
		var err error
		tps, err = t.client.topicPartitions(ctx, t.cfg.Topics)
		return err
	})
	return tps, err
}

// onFetch is called by the fetchers: see fetcher.onFetch.
func (t *Tailer) onFetch(tp TopicPartition, begin, highWatermark int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if begin != offsetUnknown {
		t.positions[tp] = begin
	}
	if highWatermark != offsetUnknown {
		t.ends[tp] = highWatermark
	}
}

func (t *Tailer) advance(records []Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range records {
		t.positions[records[i].TopicPartition()] = records[i].Offset + 1
	}
}

func (t *Tailer) end(why error) {
	t.mu.Lock()
	if t.err == nil {
		t.err = why
		close(t.intake.ended)
	}
	t.mu.Unlock()
	t.stop()
}

func (t *Tailer) why() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}
