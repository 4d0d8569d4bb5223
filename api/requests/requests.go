// Package requests asks enrichment for mints that users named and the registry does not know, or
// whose metadata document it does not have.
//
// In: mints, with the client that named them. Out: records on registry.enrichment-requests.v1.
// Guarantees: Ask never blocks and does no I/O, so a Kafka outage delays no response. A mint is
// requested once in DedupTTL, for its document once in a minute. It is not requested for
// NegativeTTL after it was found to be no mint, nor for DedupTTL after enrichment gave it up. A
// client causes at most PerClient requests in PerClientWindow, and as many for documents. Memory is
// bounded. A request that was dropped may be made again immediately.
package requests

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/access/limits"
	"github.com/mintlake/mintlake/internal/counters"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// remembered bounds the mints in each of three LRUs: requested, no mint, given up.
const remembered = 200_000

// Config of a Queue. Zero values mean the defaults.
type Config struct {
	// QueueSize bounds the requests that wait for Kafka; any more are dropped. Default 20,000.
	QueueSize int
	// DedupTTL is how long a mint that was asked for is not asked for again. Default 10 minutes.
	DedupTTL time.Duration
	// NegativeTTL is how long an address that holds no mint is not asked for again. Default 1 hour.
	NegativeTTL time.Duration
	// PerClient bounds the requests that one client causes in any span of PerClientWindow. Default
	// 2,000 in 10 minutes: as many mints as four full batches or twenty RPC calls have.
	PerClient       int
	PerClientWindow time.Duration
	// Networks bounds the requests that all clients of one IPv6 network cause.
	Networks limits.Networks
}

// Deps are the collaborators.
type Deps struct {
	Producer   kafka.RecordProducer
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	// Now is the wall clock. Default time.Now.
	Now func() time.Time
}

// Outcome is what became of a request.
type Outcome string

// Outcomes, which are also values of a metric label.
const (
	Queued    Outcome = "queued"
	Duplicate Outcome = "duplicate" // requested before, within DedupTTL
	NotAMint  Outcome = "not_a_mint"
	Failed    Outcome = "failed"  // enrichment has given the mint up
	Capped    Outcome = "capped"  // the client has caused PerClient requests
	Dropped   Outcome = "dropped" // the queue is full
)

const (
	batchRecords   = 500    // records of one write
	clientsTracked = 65_536 // clients and networks whose requests are counted
	flushGrace     = 2 * time.Second
)

// Queue holds requests until Kafka has them.
type Queue struct {
	cfg     Config
	deps    Deps
	waiting chan request
	asked   *prometheus.CounterVec
	failed  prometheus.Counter

	mu sync.Mutex
	// Until when a mint is not requested again, because it was requested, is no mint, or was given
	// up.
	recent, negative, failures *simplelru.LRU[pubkey.Key, time.Time]
	// clients are the clients and networks that cause requests, by kind of request and name.
	clients *simplelru.LRU[string, *allowance]

	waiters waiters
}

type request struct {
	mint   pubkey.Key
	reason eventspb.RequestReason
	at     time.Time
}

// bins is the number of bins in PerClientWindow. A request counts until its whole bin has left the
// window, so up to a bin longer. Then no span of one window, wherever it begins, has more requests
// than the bound. Windows that begin with a client's first request would let twice as many pass
// around their ends.
const bins = 10

// allowance counts the latest requests of a client in bins, which are numbered since 1970.
type allowance struct {
	bin    int64
	counts [bins + 1]int // of the bins up to bin; the count of bin n is at n modulo the length
}

// at moves the bins on to now. It returns how many requests count, and how long it takes until
// fewer do.
func (a *allowance) at(now time.Time, window time.Duration) (used int, wait time.Duration) {
	width := int64(max(window/bins, 1))
	current := now.UnixNano() / width
	for n := max(a.bin+1, current-bins); n <= current; n++ {
		a.counts[n%(bins+1)] = 0
	}
	a.bin = max(a.bin, current)
	for n := a.bin - bins; n <= a.bin; n++ {
		count := a.counts[n%(bins+1)]
		if used += count; count > 0 && wait == 0 {
			wait = time.Duration((n+bins+1)*width - now.UnixNano())
		}
	}
	return used, wait
}

// New checks the collaborators and registers the metrics.
func New(cfg Config, deps Deps) (*Queue, error) {
	if deps.Producer == nil {
		return nil, errors.New("enrichment requests: a producer is required")
	}
	cfg = cfg.withDefaults()
	deps.Logger = cmp.Or(deps.Logger, slog.New(slog.DiscardHandler))
	if deps.Now == nil {
		deps.Now = time.Now
	}
	q := &Queue{cfg: cfg, deps: deps, waiting: make(chan request, cfg.QueueSize), waiters: newWaiters(cfg.Networks)}
	var errs [4]error
	q.recent, errs[0] = simplelru.NewLRU[pubkey.Key, time.Time](remembered, nil)
	q.negative, errs[1] = simplelru.NewLRU[pubkey.Key, time.Time](remembered, nil)
	q.clients, errs[2] = simplelru.NewLRU[string, *allowance](clientsTracked, nil)
	q.failures, errs[3] = simplelru.NewLRU[pubkey.Key, time.Time](remembered, nil)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("enrichment requests: %w", err)
	}
	return q, q.register()
}

func (c Config) withDefaults() Config {
	c.QueueSize = cmp.Or(max(c.QueueSize, 0), 20_000)
	c.DedupTTL = cmp.Or(max(c.DedupTTL, 0), 10*time.Minute)
	c.NegativeTTL = cmp.Or(max(c.NegativeTTL, 0), time.Hour)
	c.PerClient = cmp.Or(max(c.PerClient, 0), 2_000)
	c.PerClientWindow = cmp.Or(max(c.PerClientWindow, 0), 10*time.Minute)
	return c
}

func (q *Queue) register() error {
	q.asked = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "mintlake_api_enrichment_requests_total", Help: "Unknown mints that users named, by what became of the request.",
	}, []string{"outcome"})
	for _, outcome := range []Outcome{Queued, Duplicate, NotAMint, Failed, Capped, Dropped} {
		q.asked.WithLabelValues(string(outcome))
	}
	q.failed = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "mintlake_api_enrichment_requests_failed_total", Help: "Queued requests that Kafka refused.",
	})
	waiting := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "mintlake_api_enrichment_requests_waiting", Help: "Requests that wait for Kafka.",
	}, func() float64 { return float64(len(q.waiting)) })
	return counters.Register(q.deps.Registerer, q.asked, q.failed, waiting)
}

// Answer is what became of a request, and when it is worth asking again.
type Answer struct {
	Outcome Outcome
	// RetryAfter is how long it takes until the outcome may be different: at least a second.
	RetryAfter time.Duration
}

// Ask queues a request for mint, unless one of the guarantees of this package forbids it.
func (q *Queue) Ask(client string, mint pubkey.Key, reason eventspb.RequestReason) Answer {
	answer := q.ask(client, mint, reason)
	answer.RetryAfter = max(answer.RetryAfter, time.Second)
	q.asked.WithLabelValues(string(answer.Outcome)).Inc()
	return answer
}

// documentTTL is how long a mint is not requested again for its document.
const documentTTL = time.Minute

// AskDocument queues a request for a mint whose metadata document the registry does not have. So
// enrichment tries again to read the document, without waiting until its next try is due.
func (q *Queue) AskDocument(client string, mint pubkey.Key, reason eventspb.RequestReason) {
	now := q.deps.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	// until is DedupTTL after the last request.
	if until, ok := q.recent.Get(mint); ok && now.Before(until.Add(documentTTL-q.cfg.DedupTTL)) {
		return
	}
	q.asked.WithLabelValues(string(q.enqueue(now, client, "documents ", mint, reason).Outcome)).Inc()
}

// ask is Ask without its metric and the least RetryAfter.
func (q *Queue) ask(client string, mint pubkey.Key, reason eventspb.RequestReason) Answer {
	now := q.deps.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	if answer, known := q.knownAt(now, mint); known {
		return answer
	}
	return q.enqueue(now, client, "", mint, reason)
}

// enqueue queues a request if the client, and the networks that it is in, may cause one more of the
// kind. kind is empty for mints. The caller holds the lock.
func (q *Queue) enqueue(now time.Time, client, kind string, mint pubkey.Key, reason eventspb.RequestReason) Answer {
	scopes, count := q.cfg.Networks.Scopes(client)
	var allowances []*allowance
	for _, scope := range scopes[:count] {
		a, ok := q.clients.Get(kind + scope.Key)
		if !ok {
			a = &allowance{}
			q.clients.Add(kind+scope.Key, a)
		}
		if used, wait := a.at(now, q.cfg.PerClientWindow); used >= q.cfg.PerClient*scope.Factor {
			return Answer{Capped, wait}
		}
		allowances = append(allowances, a)
	}
	select {
	case q.waiting <- request{mint, reason, now}:
		for _, a := range allowances {
			a.counts[a.bin%(bins+1)]++
		}
		q.recent.Add(mint, now.Add(q.cfg.DedupTTL))
		return Answer{Outcome: Queued}
	default:
		return Answer{Outcome: Dropped}
	}
}

// Known returns what is known about a mint, without a request for it; false if nothing is.
func (q *Queue) Known(mint pubkey.Key) (Answer, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	answer, known := q.knownAt(q.deps.Now(), mint)
	answer.RetryAfter = max(answer.RetryAfter, time.Second)
	return answer, known
}

// knownAt is Known, without the least RetryAfter. A mint that was requested some time ago is likely
// to take as long again: RetryAfter is that time, or what is left of DedupTTL if that is less. The
// caller holds the lock.
func (q *Queue) knownAt(now time.Time, mint pubkey.Key) (Answer, bool) {
	if until, ok := q.negative.Get(mint); ok && now.Before(until) {
		return Answer{NotAMint, until.Sub(now)}, true
	}
	if until, ok := q.failures.Get(mint); ok && now.Before(until) {
		return Answer{Failed, until.Sub(now)}, true
	}
	if until, ok := q.recent.Get(mint); ok && now.Before(until) {
		left := until.Sub(now)
		return Answer{Duplicate, min(q.cfg.DedupTTL-left, left)}, true
	}
	return Answer{}, false
}

// NotAMint records that the address holds no mint.
func (q *Queue) NotAMint(mint pubkey.Key) {
	q.mu.Lock()
	q.negative.Add(mint, q.deps.Now().Add(q.cfg.NegativeTTL))
	q.mu.Unlock()
	q.waiters.wake(mint)
}

// Failed records that enrichment has given the mint up.
func (q *Queue) Failed(mint pubkey.Key) {
	q.mu.Lock()
	q.failures.Add(mint, q.deps.Now().Add(q.cfg.DedupTTL))
	q.mu.Unlock()
	q.waiters.wake(mint)
}

// Run writes the requests until ctx ends. Then it writes the requests that still wait, for
// flushGrace at most.
func (q *Queue) Run(ctx context.Context) error {
	defer q.EndWaits()
	for {
		select {
		case <-ctx.Done():
			flush, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushGrace)
			defer cancel()
			for len(q.waiting) > 0 && flush.Err() == nil {
				q.write(flush, <-q.waiting)
			}
			return nil
		case first := <-q.waiting:
			q.write(ctx, first)
		}
	}
}

// write writes first and the requests that wait behind it, up to batchRecords. If Kafka refuses
// them, it removes them from recent, so that the mints may be requested again immediately.
func (q *Queue) write(ctx context.Context, first request) {
	requests := []request{first}
gather:
	for len(requests) < batchRecords {
		select {
		case next := <-q.waiting:
			requests = append(requests, next)
		default:
			break gather
		}
	}
	records := make([]kafka.Record, 0, len(requests))
	for _, r := range requests {
		if record, err := r.record(); err == nil { // a message of plain fields always encodes
			records = append(records, record)
		}
	}
	err := q.deps.Producer.Produce(ctx, records...)
	if err == nil {
		return
	}
	q.failed.Add(float64(len(requests)))
	q.deps.Logger.Warn("enrichment requests were not written", "topic", schemas.TopicEnrichmentRequests, "records", len(requests), "err", err)
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range requests {
		q.recent.Remove(r.mint)
	}
}

func (r request) record() (kafka.Record, error) {
	value, err := proto.Marshal(&eventspb.EnrichmentRequest{Mint: r.mint.Bytes(), Reason: r.reason})
	if err != nil {
		return kafka.Record{}, fmt.Errorf("encode enrichment request: %w", err)
	}
	return kafka.Record{
		Topic: schemas.TopicEnrichmentRequests, Key: []byte(r.mint.String()), Value: value,
		Headers: []kafka.Header{
			{Key: schemas.HeaderType, Value: []byte(headerType)},
			{Key: schemas.HeaderSchemaVersion, Value: []byte(schemas.SchemaVersion)},
			{Key: schemas.HeaderReceivedAt, Value: strconv.AppendInt(nil, r.at.UnixMilli(), 10)},
		},
	}, nil
}

// headerType is the type header of an EnrichmentRequest.
const headerType = "enrichment_request"
