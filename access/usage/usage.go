// Package usage counts what API keys use, by minute and method, and writes it to gateway.usage.v1.
//
// In: calls and open streams of the surfaces. Out: records of totals. Guarantees: a request never
// waits for Kafka. A record has the total that one process counted for a key and a method in a
// minute, and each later record of that minute replaces it. So records may come twice, late or in
// another order, and a lost record is made good by the next one. While Kafka is away totals stay in
// memory, up to a limit; what does not fit is counted as lost. Records have the names of keys,
// never keys.
package usage

import (
	"cmp"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/kafka"
)

// BytesPerUnit is how many bytes of a stream are a unit.
const BytesPerUnit = 10_000

// Counts are what a call adds to a total.
type Counts struct {
	// Requests are those that were admitted; Refused those that the key's rules or limits refused.
	Requests, Refused uint64
	// Bytes of responses and notifications.
	Bytes uint64
	// Units are what the requests cost: see docs/keys.md.
	Units uint64
}

// flushEvery is how often totals are written, and the time limit of one write.
const flushEvery = 5 * time.Second

// Config of a meter. Zero values take the documented defaults.
type Config struct {
	// Node names the process's machine in records.
	Node string
	// Epoch distinguishes the processes of a node that ran one after another. Required; a random
	// number.
	Epoch uint64
	// maxTotals bounds the totals in memory, each some 200 bytes. Default 100,000.
	maxTotals int
}

// Deps are the collaborators.
type Deps struct {
	// Producer is required.
	Producer kafka.RecordProducer
	// Logger and Registerer may be nil.
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// subject is who uses what.
type subject struct{ product, key, method string }

type totalKey struct {
	subject
	minute int64 // Unix seconds of its start
}

// total is what a subject used in a minute.
type total struct {
	Counts
	// streamed is the part of Bytes that streams sent. Units does not include it: record adds its
	// units.
	streamed uint64
	// streams is the highest number of streams that were open at one time, addresses the highest
	// number of addresses in their filters.
	streams, addresses uint64
	// changed is true if the total was not written since it changed.
	changed bool
}

// open is what a subject has open now.
type open struct{ streams, addresses uint64 }

// Meter counts. A nil Meter counts nothing.
type Meter struct {
	cfg     Config
	deps    Deps
	metrics *metrics

	mu     sync.Mutex
	totals map[totalKey]*total
	open   map[subject]open
	all    map[*Stream]struct{} // the open streams
	// minute is the current minute. It never goes back, even if the clock does: a past total may
	// have been written and forgotten, and would begin again at 0 and replace what was written.
	minute   int64
	sequence uint64
}

// New makes a meter. Run must be called for it to write.
func New(cfg Config, deps Deps) (*Meter, error) {
	if deps.Producer == nil {
		return nil, errors.New("usage: a producer is required")
	}
	deps.Logger = cmp.Or(deps.Logger, slog.New(slog.DiscardHandler))
	cfg.maxTotals = cmp.Or(max(cfg.maxTotals, 0), 100_000)
	m := &Meter{cfg: cfg, deps: deps, totals: map[totalKey]*total{}, open: map[subject]open{}, all: map[*Stream]struct{}{}, minute: minuteOf(time.Now())}
	var err error
	m.metrics, err = newMetrics(deps.Registerer, m)
	return m, err
}

func minuteOf(t time.Time) int64 { return t.Unix() / 60 * 60 }

// Count adds what a call used. method must come from a finite set: the caller passes a name like
// "other" for a method that it does not know.
func (m *Meter) Count(product, key, method string, c Counts) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.minute = max(m.minute, minuteOf(time.Now()))
	m.add(subject{product, key, method}, c)
}

// add adds c to the subject's total of this minute, and returns the total. It returns nil if there
// are too many totals; then the counts are lost.
func (m *Meter) add(s subject, c Counts) *total {
	key := totalKey{s, m.minute}
	t := m.totals[key]
	if t == nil {
		if len(m.totals) >= m.cfg.maxTotals {
			m.metrics.lostRequests.Add(float64(c.Requests))
			m.metrics.lostBytes.Add(float64(c.Bytes))
			return nil
		}
		t = &total{}
		m.totals[key] = t
	}
	t.Requests += c.Requests
	t.Refused += c.Refused
	t.Bytes += c.Bytes
	t.Units += c.Units
	t.changed = true
	return t
}

// Stream is an open stream or WebSocket. A nil Stream counts nothing.
type Stream struct {
	meter *Meter
	subject
	// bytes that are not in a total yet.
	bytes     atomic.Uint64
	addresses uint64 // under meter.mu
	closed    bool   // under meter.mu
}

// Open counts a stream as open until it is closed.
func (m *Meter) Open(product, key, method string) *Stream {
	if m == nil {
		return nil
	}
	s := &Stream{meter: m, subject: subject{product, key, method}}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.minute = max(m.minute, minuteOf(time.Now()))
	m.all[s] = struct{}{}
	now := m.open[s.subject]
	now.streams++
	m.open[s.subject] = now
	m.peak(s.subject)
	return s
}

// Sent adds bytes that the stream sent.
func (s *Stream) Sent(n int) {
	if s != nil {
		s.bytes.Add(uint64(n))
	}
}

// SetAddresses sets how many addresses the stream's filters have now.
func (s *Stream) SetAddresses(addresses int) {
	if s == nil {
		return
	}
	m := s.meter
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.closed {
		return
	}
	now := m.open[s.subject]
	now.addresses += uint64(addresses) - s.addresses
	s.addresses = uint64(addresses)
	m.open[s.subject] = now
	m.peak(s.subject)
}

// Close ends the stream. It may be called more than once.
func (s *Stream) Close() {
	if s == nil {
		return
	}
	m := s.meter
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	m.minute = max(m.minute, minuteOf(time.Now()))
	m.collect(s)
	m.peak(s.subject) // the stream was open in this minute, which no flush may have seen
	delete(m.all, s)
	now := m.open[s.subject]
	now.streams, now.addresses = now.streams-1, now.addresses-s.addresses
	if m.open[s.subject] = now; now.streams == 0 {
		delete(m.open, s.subject)
	}
}

// collect moves a stream's bytes into the total of the minute.
func (m *Meter) collect(s *Stream) {
	n := s.bytes.Swap(0)
	if n == 0 {
		return
	}
	if t := m.add(s.subject, Counts{Bytes: n}); t != nil {
		t.streamed += n
	}
}

// peak raises the total's highest numbers of streams and addresses in this minute to what is open
// now.
func (m *Meter) peak(s subject) {
	t := m.add(s, Counts{})
	if t == nil {
		return
	}
	now := m.open[s]
	t.streams, t.addresses = max(t.streams, now.streams), max(t.addresses, now.addresses)
}

// collectAll brings the totals up to date. What streams sent since the last call counts for
// m.minute: the minute of that last call, unless Count, Open or Close has moved it on meanwhile.
// Run calls collectAll at the end of each minute, so that few bytes count for the wrong one.
func (m *Meter) collectAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for s := range m.all {
		m.collect(s)
	}
	for s := range m.open {
		m.peak(s)
	}
	m.minute = max(m.minute, minuteOf(time.Now()))
}
