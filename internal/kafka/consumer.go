package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"golang.org/x/sync/errgroup"
)

// GroupConsumerConfig configures a GroupConsumer.
type GroupConsumerConfig struct {
	// Brokers are host:port addresses to begin with. Required.
	Brokers []string
	// Group is the consumer group. Required.
	Group string
	// Topics are the topics to read, at least one. FetchBatch waits until they exist.
	Topics []string
	// InstanceID makes this a static member: it keeps its partitions if it restarts within
	// SessionTimeout, and it never leaves the group by itself. It must be unique in the group.
	// Default empty: a dynamic member.
	InstanceID string
	// SessionTimeout is how long the coordinator waits for a silent member before others get its
	// partitions. Default 10 s; Apache Kafka refuses less than 6 s, the embedded broker less than 1
	// s.
	SessionTimeout time.Duration
	// heartbeatInterval is the time between two heartbeats. It is also about the time until a
	// rebalance or a restarted coordinator is noticed. Default 500 ms.
	heartbeatInterval time.Duration
}

// GroupConsumer reads topics as a member of a consumer group. A new group begins at the first
// offset. One goroutine may call FetchBatch, and one Commit; any may call Close.
type GroupConsumer struct {
	cfg     GroupConsumerConfig
	client  *client
	logger  *slog.Logger
	metrics *metrics
	log     *sampler
	member  *membership
	intake  intake
	kick    chan struct{} // asks for a heartbeat at once

	base    context.Context // ends when the consumer is closed or fails
	stop    context.CancelFunc
	started sync.Once
	running sync.WaitGroup

	mu      sync.Mutex
	gen     *generation   // nil while there is none
	last    int64         // id of the latest generation
	changed chan struct{} // closed and replaced when gen changes
	err     error         // why the consumer ended
}

// NewGroupConsumer checks the configuration and registers the metrics. It joins the group on the
// first FetchBatch.
func NewGroupConsumer(cfg GroupConsumerConfig, deps Deps) (*GroupConsumer, error) {
	if cfg.Group == "" || len(cfg.Topics) == 0 {
		return nil, errors.New("kafka: group and topics are required")
	}
	c, err := newClient(cfg.Brokers, clientID, deps.Security)
	if err != nil {
		return nil, err
	}
	cfg.SessionTimeout = cmp.Or(max(cfg.SessionTimeout, 0), 10*time.Second)
	cfg.heartbeatInterval = cmp.Or(max(cfg.heartbeatInterval, 0), 500*time.Millisecond)
	m, err := newMetrics(deps.Registerer)
	if err != nil {
		return nil, err
	}
	m.presetConsumer(cfg.Group, cfg.Topics)
	m.presetGroup(cfg.Group)
	base, stop := context.WithCancel(context.Background())
	g := &GroupConsumer{
		cfg: cfg, client: c, logger: deps.logger(), metrics: m, log: newSampler(deps.logger()),
		kick: make(chan struct{}, 1), base: base, stop: stop, changed: make(chan struct{}),
	}
	// A member rejoins in the background at its next heartbeat, whatever its caller does. So a
	// rebalance takes no longer than the session timeout.
	rebalance := cfg.SessionTimeout
	g.member = &membership{
		client:     c,
		joinClient: &kafkago.Client{Addr: c.Addr, Transport: c.Transport, Timeout: rebalance + cfg.SessionTimeout + requestTimeout},
		group:      cfg.Group, instance: cfg.InstanceID, topics: slices.Clone(cfg.Topics), session: cfg.SessionTimeout, rebalance: rebalance,
		strategy: rangeStrategy,
	}
	g.intake = intake{ch: make(chan delivery), current: g.isCurrent, ended: make(chan struct{}), why: g.why}
	return g, nil
}

// FetchBatch waits for at least one record. Then it takes more until wait has passed, it has limit
// records or 16 MiB of them, or ctx ends. Records of one partition are in order. Transient errors
// are retried. It returns ctx's error, ErrClosed, or a permanent error, such as one about
// authorization. After the last two the consumer cannot be used any more.
func (c *GroupConsumer) FetchBatch(ctx context.Context, limit int, wait time.Duration) ([]Record, error) {
	c.started.Do(func() { c.running.Go(c.run) })
	records, err := c.intake.collect(ctx, limit, wait)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", joined(c.cfg.Topics), err)
	}
	c.metrics.count(c.cfg.Group, records)
	return records, nil
}

// Commit stores, for each partition among records, the offset after its highest record: the group
// reads on there after a restart. Call it when the effect of all the records is durable. A
// partition that now belongs to another member, and an offset that is not ahead of the committed
// one, is left out without an error. Commit retries transient errors until ctx ends.
func (c *GroupConsumer) Commit(ctx context.Context, records []Record) error {
	offsets := make(map[TopicPartition]int64)
	for i := range records {
		tp := records[i].TopicPartition()
		offsets[tp] = max(offsets[tp], records[i].Offset+1)
	}
	if err := c.commit(ctx, offsets); err != nil {
		return fmt.Errorf("commit offsets of %s: %w", c.cfg.Group, err)
	}
	return nil
}

// Joined reports whether this member is in the group and was assigned its partitions, which may be
// none.
func (c *GroupConsumer) Joined() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gen != nil
}

// Close leaves the group and returns when everything has ended.
func (c *GroupConsumer) Close() {
	c.end(ErrClosed)
	c.running.Wait()
	c.client.close()
}

// run joins the group again and again and fetches what it is assigned, until the consumer is closed
// or fails.
func (c *GroupConsumer) run() {
	defer c.leave()
	var b rejoinBackoff
	for c.base.Err() == nil {
		gen, err := c.member.join(c.base)
		if err != nil {
			if c.base.Err() != nil {
				return
			}
			c.groupFailed(err)
			if !Retryable(err) {
				c.end(fmt.Errorf("join group %s: %w", c.cfg.Group, err))
				return
			}
			b.waitAfter(c.base, err)
			continue
		}
		b.reset()
		c.metrics.rebalances.WithLabelValues(c.cfg.Group).Inc()
		c.serve(gen)
	}
}

// serve fetches the partitions of gen until the generation ends.
func (c *GroupConsumer) serve(gen *generation) {
	c.setGeneration(gen)
	defer c.setGeneration(nil)
	c.logger.Info("joined consumer group", "group", c.cfg.Group, "partitions", len(gen.start))
	ctx, cancel := context.WithCancel(c.base)
	defer cancel()
	fetchers, fetchCtx := errgroup.WithContext(ctx)
	f := &fetcher{client: c.client, metrics: c.metrics, log: c.log, consumer: c.cfg.Group, maxBytes: maxFetchBytes, out: c.intake.ch}
	for tp, offset := range gen.start {
		fetchers.Go(func() error { return f.run(fetchCtx, gen.id, tp, offset) })
	}
	// If a partition fails for good, the heartbeats end too, and so does this generation.
	context.AfterFunc(fetchCtx, cancel)
	if err := c.member.stay(ctx, gen, c.cfg.heartbeatInterval, c.kick, c.groupFailed); err != nil && c.base.Err() == nil {
		c.groupFailed(err)
		// A permanent error: for example, another process has this InstanceID. If this process
		// joined again, it would expel that other one.
		if !Retryable(err) {
			c.end(fmt.Errorf("stay in group %s: %w", c.cfg.Group, err))
		}
	}
	cancel()
	if err := fetchers.Wait(); err != nil && c.base.Err() == nil {
		c.end(err)
	}
}

func (c *GroupConsumer) groupFailed(err error) {
	c.metrics.groupErrors.WithLabelValues(c.cfg.Group, errorKind(err)).Inc()
	c.log.trouble(err, "kafka consumer group failed", "group", c.cfg.Group)
}

func (c *GroupConsumer) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := c.member.leave(ctx); err != nil {
		c.logger.Warn("kafka consumer group not left", "group", c.cfg.Group, "err", err)
	}
}

// commit is Commit by offsets. After a rebalance it waits for the next generation, and goes on with
// those partitions that this member still has.
func (c *GroupConsumer) commit(ctx context.Context, offsets map[TopicPartition]int64) error {
	var b backoff
	var last error
	for {
		gen, err := c.generation(ctx)
		if err != nil {
			return endedError(ctx, errors.Join(err, last))
		}
		skipped := func(reason string) { c.metrics.commitsSkipped.WithLabelValues(c.cfg.Group, reason).Inc() }
		if offsets = gen.owned(offsets, skipped); len(offsets) == 0 {
			return nil
		}
		start := time.Now()
		err = c.member.client.commit(ctx, c.cfg.Group, c.cfg.InstanceID, gen, offsets)
		c.metrics.commitSeconds.WithLabelValues(c.cfg.Group).Observe(since(start))
		if err == nil {
			c.metrics.commits.WithLabelValues(c.cfg.Group).Inc()
			return nil
		}
		if ctx.Err() != nil {
			return endedError(ctx, err)
		}
		last = err
		c.metrics.commitErrors.WithLabelValues(c.cfg.Group, errorKind(err)).Inc()
		c.log.trouble(err, "kafka commit failed", "group", c.cfg.Group)
		if !Retryable(err) {
			return err
		}
		if mustRejoin(err) {
			// Send a heartbeat at once: it finds out that the member must rejoin.
			select {
			case c.kick <- struct{}{}:
			default:
			}
		}
		b.wait(ctx)
	}
}

// generation returns the present generation. It waits if there is none.
func (c *GroupConsumer) generation(ctx context.Context) (*generation, error) {
	for {
		c.mu.Lock()
		gen, changed, err := c.gen, c.changed, c.err
		c.mu.Unlock()
		if err != nil {
			return nil, err
		}
		if gen != nil {
			return gen, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (c *GroupConsumer) setGeneration(gen *generation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if gen != nil {
		c.last++
		gen.id = c.last
	}
	c.gen = gen
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *GroupConsumer) isCurrent(id int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gen != nil && c.gen.id == id
}

// end stops the consumer. Only the first reason is kept.
func (c *GroupConsumer) end(why error) {
	c.mu.Lock()
	if c.err == nil {
		c.err = why
		close(c.intake.ended)
		close(c.changed)
		c.changed = make(chan struct{})
	}
	c.mu.Unlock()
	c.stop()
}

func (c *GroupConsumer) why() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}
