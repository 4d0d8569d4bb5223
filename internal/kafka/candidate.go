package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"
)

// ErrNotLeader is returned by Term.Await once another process may lead.
var ErrNotLeader = errors.New("kafka: this process leads no longer")

// CandidateConfig configures a Candidate.
type CandidateConfig struct {
	// Brokers are host:port addresses to begin with. Required.
	Brokers []string
	// ClientID is shown in the brokers' logs and in the list of the group's members. Default
	// "mintlake".
	ClientID string
	// Group is the consumer group of all candidates. Required.
	Group string
	// Topic is what the group elects with: the member that is assigned its first partition leads.
	// It must exist. Nothing is read from it, and no offset is committed. Required.
	Topic string
	// SessionTimeout is how long a leader may be silent before another one is elected. Default 6 s,
	// the least that Apache Kafka allows by default.
	SessionTimeout time.Duration
	// heartbeatInterval is the time between two heartbeats. It is also about the time until another
	// candidate leads after a leader has closed. Default 500 ms.
	heartbeatInterval time.Duration
}

// Candidate is one of several processes of which one leads. The candidates are the members of a
// consumer group, and the member that is assigned the first partition of the topic leads. While a
// leader lives it stays the leader, whoever joins.
//
// A leader has a lease. At most one candidate has a valid lease at a time, as far as their clocks
// run equally fast. That is no lock: a process may be suspended between the check of its lease and
// what it does then. So the leader's work must do no harm if two processes do it.
type Candidate struct {
	cfg    CandidateConfig
	client *client
	logger *slog.Logger
	log    *sampler
	member *membership

	base    context.Context // ends when the candidate is closed or fails
	stop    context.CancelFunc
	started sync.Once
	running sync.WaitGroup

	mu      sync.Mutex
	term    *Term         // nil while this process does not lead
	lease   time.Time     // until when the term's lease is valid
	changed chan struct{} // closed and replaced when term, lease or err changes
	err     error         // why the candidate ended
}

// Term is the time from an election of this process until another process may lead.
type Term struct {
	candidate *Candidate
	done      chan struct{}
}

// NewCandidate checks the configuration. The candidate joins the group with the first call of Lead.
func NewCandidate(cfg CandidateConfig, deps Deps) (*Candidate, error) {
	if cfg.Group == "" || cfg.Topic == "" {
		return nil, errors.New("kafka: group and topic are required")
	}
	c, err := newClient(cfg.Brokers, cmp.Or(cfg.ClientID, clientID), deps.Security)
	if err != nil {
		return nil, err
	}
	cfg.SessionTimeout = cmp.Or(max(cfg.SessionTimeout, 0), 6*time.Second)
	cfg.heartbeatInterval = cmp.Or(max(cfg.heartbeatInterval, 0), 500*time.Millisecond)
	base, stop := context.WithCancel(context.Background())
	candidate := &Candidate{
		cfg: cfg, client: c, logger: deps.logger(), log: newSampler(deps.logger()), base: base, stop: stop, changed: make(chan struct{}),
	}
	candidate.member = &membership{
		client:     c,
		joinClient: &kafkago.Client{Addr: c.Addr, Transport: c.Transport, Timeout: 2*cfg.SessionTimeout + requestTimeout},
		group:      cfg.Group, topics: []string{cfg.Topic}, session: cfg.SessionTimeout, rebalance: cfg.SessionTimeout,
		strategy: stayStrategy(cfg.Topic), answered: candidate.renew,
	}
	return candidate, nil
}

// leads is the user data that the present leader sends when it joins again. The member that assigns
// the partition reads it there.
const leads = "leads"

// stayStrategy assigns the topic's first partition to the present leader. If there is none, the
// member with the lowest ID gets it.
func stayStrategy(topic string) strategy {
	return strategy{"mintlake-leader", func(members []kafkago.JoinGroupResponseMember, _ map[string]int) map[string]map[string][]int {
		if len(members) == 0 {
			return nil
		}
		rank := func(m kafkago.JoinGroupResponseMember) int {
			if string(m.Metadata.UserData) == leads {
				return 0
			}
			return 1
		}
		leader := slices.MinFunc(members, func(a, b kafkago.JoinGroupResponseMember) int {
			if d := rank(a) - rank(b); d != 0 {
				return d
			}
			return strings.Compare(a.ID, b.ID)
		})
		return map[string]map[string][]int{leader.ID: {topic: {0}}}
	}}
}

// Lead waits until this process leads. Meanwhile it retries transient errors. It returns ctx's
// error, ErrClosed, or a permanent error; after the last two the candidate cannot be used any more.
func (c *Candidate) Lead(ctx context.Context) (*Term, error) {
	c.started.Do(func() { c.running.Go(c.run) })
	for {
		c.mu.Lock()
		term, changed, err := c.term, c.changed, c.err
		c.mu.Unlock()
		switch {
		case err != nil:
			return nil, fmt.Errorf("lead %s: %w", c.cfg.Group, err)
		case term != nil:
			return term, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("lead %s: %w", c.cfg.Group, context.Cause(ctx))
		}
	}
}

// Close ends the term and leaves the group, so that another candidate leads at once. Call it when
// the leader's work has ended.
func (c *Candidate) Close() {
	c.end(ErrClosed)
	c.running.Wait()
	c.client.close()
}

// Done is closed when the term is over: another process leads, or may.
func (t *Term) Done() <-chan struct{} { return t.done }

// Await returns nil while the lease is valid. If the coordinator has not answered for
// SessionTimeout, the lease is not valid, for example after this process was suspended or while the
// broker is away. Then Await waits until the lease is renewed. It returns ErrNotLeader when the
// term is over, and ctx's error when ctx ends.
func (t *Term) Await(ctx context.Context) error {
	c := t.candidate
	for {
		c.mu.Lock()
		over, valid, changed := c.term != t, time.Now().Before(c.lease), c.changed
		c.mu.Unlock()
		switch {
		case over:
			return ErrNotLeader
		case valid:
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// run joins the group again and again and sends heartbeats, until the candidate is closed or fails.
func (c *Candidate) run() {
	defer c.leave()
	var b rejoinBackoff
	for c.base.Err() == nil {
		c.member.userData = nil
		if c.isLeader() {
			c.member.userData = []byte(leads)
			// The join waits for the other members, and nobody else is elected meanwhile, so the
			// lease is extended over that time. A lease that has expired stays expired.
			if now := time.Now(); c.validAt(now) {
				c.extend(now.Add(c.member.rebalance + c.member.session))
			}
		}
		gen, err := c.member.join(c.base)
		if err == nil {
			b.reset()
			_, elected := gen.start[TopicPartition{Topic: c.cfg.Topic, Partition: 0}]
			c.enter(elected)
			err = c.member.stay(c.base, gen, c.cfg.heartbeatInterval, nil, c.failed)
		}
		switch {
		case c.base.Err() != nil:
			return
		case err == nil: // a rebalance
		case !Retryable(err):
			c.end(err)
			return
		default:
			c.failed(err)
			if isCode(err, kafkago.UnknownMemberId) || isCode(err, kafkago.IllegalGeneration) {
				c.enter(false) // the coordinator went on without this member
			}
			b.waitAfter(c.base, err)
		}
	}
}

func (c *Candidate) failed(err error) {
	c.log.trouble(err, "kafka leader election failed", "group", c.cfg.Group)
}

func (c *Candidate) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := c.member.leave(ctx); err != nil {
		c.logger.Warn("kafka consumer group not left", "group", c.cfg.Group, "err", err)
	}
}

func (c *Candidate) validAt(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return now.Before(c.lease)
}

func (c *Candidate) isLeader() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.term != nil
}

// enter begins a term if this process was elected and does not lead yet. If this process was not
// elected, or leads no longer, enter ends its term. A term that goes on is unchanged. The lease is
// renewed in any case; without a term it means nothing.
func (c *Candidate) enter(elected bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case elected && c.term == nil:
		c.term = &Term{candidate: c, done: make(chan struct{})}
	case !elected && c.term != nil:
		close(c.term.done)
		c.term = nil
	}
	c.lease = time.Now().Add(c.cfg.SessionTimeout)
	c.notify()
}

// renew extends the lease after the coordinator has answered a heartbeat. The lease counts from
// when the heartbeat was sent: the coordinator may have answered at once, and its answer may have
// come late.
func (c *Candidate) renew(sent time.Time) { c.extend(sent.Add(c.cfg.SessionTimeout)) }

// extend makes the lease valid until this time. It never shortens the lease.
func (c *Candidate) extend(until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if until.After(c.lease) {
		c.lease = until
		c.notify()
	}
}

// end stops the candidate. Only the first reason is kept.
func (c *Candidate) end(why error) {
	c.mu.Lock()
	if c.err == nil {
		c.err = why
	}
	c.mu.Unlock()
	c.enter(false)
	c.stop()
}

// notify wakes Lead and Await. c.mu is held.
func (c *Candidate) notify() {
	close(c.changed)
	c.changed = make(chan struct{})
}
