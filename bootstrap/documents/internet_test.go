package documents_test

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/bootstrap/documents"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/logos/fetch"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// site is a host that serves documents, and what it saw.
type site struct {
	name string
	docs int
	// bears is how many requests a second it answers. If there are servers, it answers as many at
	// once, and others wait in its queue; otherwise it refuses what is too fast.
	bears   float64
	latency time.Duration
	servers chan struct{}
	// silent is true if it says no Retry-After.
	silent bool

	mu              sync.Mutex
	tokens          float64
	at, first, last time.Time
	asked, refused  int
	answered        int
	minute          []int // requests of each minute
}

// burst is how many requests it lets through at once after a silence.
func (s *site) burst() float64 { return max(s.bears/2, 2) }

// ask counts a request; ok is false if it is refused.
func (s *site) ask(now time.Time) (ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first.IsZero() {
		s.first, s.at, s.tokens = now, now, s.burst()
	}
	s.asked++
	for len(s.minute) <= int(now.Sub(s.first).Minutes()) {
		s.minute = append(s.minute, 0)
	}
	s.minute[len(s.minute)-1]++
	if s.servers != nil {
		return true
	}
	s.tokens = min(s.tokens+now.Sub(s.at).Seconds()*s.bears, s.burst())
	s.at = now
	if s.tokens < 1 {
		s.refused++
		return false
	}
	s.tokens--
	return true
}

func (s *site) answer(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = now
	s.answered++
}

// serve takes as long as an answer takes.
func (s *site) serve(ctx context.Context) error {
	if s.servers != nil {
		select {
		case s.servers <- struct{}{}:
			defer func() { <-s.servers }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	select {
	case <-time.After(s.latency):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// retryAfter is how many seconds a refusal asks for.
func (s *site) retryAfter() time.Duration {
	if s.silent {
		return 0
	}
	return time.Duration(max(1, math.Ceil(1/s.bears))) * time.Second
}

// worked is the share of what the host bears that it was asked for until its queue was empty,
// without the time in which its pace was found out.
func (s *site) worked(start time.Time, found time.Duration) float64 {
	needed := float64(s.docs) / s.bears
	return needed / max(s.last.Sub(start).Seconds()-found.Seconds(), needed)
}

// most is the highest share of what the host bears in a minute, bursts aside, that it was asked
// for.
func (s *site) most() float64 {
	most := 0.0
	for i := 1; i < len(s.minute); i++ { // not the first, in which its pace is found out
		most = max(most, (float64(s.minute[i])-s.burst())/(60*s.bears))
	}
	return most
}

// internet has the sites of a world of n documents: the largest has 40 % of them, the next ten
// another 40 %, and others the rest.
type internet struct {
	sites map[string]*site
	order []*site
}

// newInternet makes sites; others is how many small ones. The largest bears largest requests a
// second, the next ten large to fastest, the small ones slowest to fastest.
func newInternet(n, others int, largest, large, slowest, fastest float64) *internet {
	net := &internet{sites: map[string]*site{}}
	add := func(name string, docs int, bears float64, latency time.Duration) *site {
		s := &site{name: name, docs: docs, bears: bears, latency: latency}
		net.sites[name] = s
		net.order = append(net.order, s)
		return s
	}
	between := func(least float64, i, of int) float64 { // geometric
		return least * math.Pow(fastest/least, float64(i)/float64(of-1))
	}
	add("largest.test", n*4/10, largest, 60*time.Millisecond)
	for i := range 10 {
		s := add(fmt.Sprintf("large%d.test", i), n*4/100, between(large, i, 10), time.Duration(20+30*i)*time.Millisecond)
		switch i % 4 {
		case 1:
			s.silent = true
		case 3: // it becomes slow instead of refusing
			servers := max(int(s.bears/5), 1)
			s.servers = make(chan struct{}, servers)
			s.latency = time.Duration(float64(servers) / s.bears * float64(time.Second))
		}
	}
	for i := range others {
		add(fmt.Sprintf("small%d.test", i), n*2/10/others, between(slowest, i, others), time.Duration(20+i)*time.Millisecond)
	}
	return net
}

// Document is a fetcher's, without a network.
func (n *internet) Document(ctx context.Context, uri string) (*fetch.Response, error) {
	s := n.sites[n.Host(uri)]
	if !s.ask(time.Now()) {
		return nil, &fetch.Error{Class: fetch.ClassHTTPStatus, Status: http.StatusTooManyRequests, RetryAfter: s.retryAfter()}
	}
	if err := s.serve(ctx); err != nil {
		return nil, &fetch.Error{Class: fetch.ClassTimeout, Err: err}
	}
	s.answer(time.Now())
	return &fetch.Response{Body: []byte(`{"name":"Lake","image":"https://img.test/x.png"}`)}, nil
}

func (n *internet) Host(uri string) string {
	host, _, _ := strings.Cut(strings.TrimPrefix(uri, "http://"), "/")
	return host
}

func (n *internet) Groups(uri string) []string { return []string{"domain " + n.Host(uri)} }

// Count is the source's.
func (n *internet) Count(context.Context) (counts []documents.Count, err error) {
	for _, s := range n.order {
		s.mu.Lock()
		counts = append(counts, documents.Count{Host: s.name, Tokens: int64(s.docs - s.answered)})
		s.mu.Unlock()
	}
	return counts, nil
}

// Wanted lists documents of class 2: those of site i have the mints i<<32 + 1, 2 …
func (n *internet) Wanted(_ context.Context, _ []string, places []documents.Place, limit, total int) (list []documents.Wanted, err error) {
	for _, place := range places {
		if place.After.Class < 2 {
			continue
		}
		site, next := 0, 1
		for i, s := range n.order {
			if s.name == place.Host {
				site = i
			}
		}
		if place.After.Mint != "" {
			mint := pubkey.MustParse(place.After.Mint)
			next = int(mint[28])<<24 + int(mint[29])<<16 + int(mint[30])<<8 + int(mint[31]) + 1
		}
		for end := next + limit; next <= n.order[site].docs && next < end && len(list) < total; next++ {
			mint := pubkey.Key{1, 23: byte(site >> 16), 24: byte(site >> 8), 25: byte(site), 28: byte(next >> 24), 29: byte(next >> 16), 30: byte(next >> 8), 31: byte(next)}
			list = append(list, documents.Wanted{Host: place.Host, Class: 2, Mint: mint, URI: fmt.Sprintf("http://%s/%d", place.Host, next), Slot: 7})
		}
	}
	return list, nil
}

// log is a broker with one partition of each topic; what was read is forgotten.
type log struct {
	mu       sync.Mutex
	requests []kafka.Record
	answers  []kafka.Record
	letters  int
	told     []*eventspb.DocumentWalk
	next     int64 // offset of the next request
	done     int64 // committed
	more     chan struct{}
}

func newLog() *log { return &log{more: make(chan struct{}, 1)} }

func (l *log) Produce(ctx context.Context, records ...kafka.Record) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, record := range records {
		switch record.Topic {
		case schemas.TopicEnrichmentRequests:
			record.Offset = l.next
			l.next++
			l.requests = append(l.requests, record)
		case schemas.TopicEnrichments:
			l.answers = append(l.answers, record)
		case schemas.TopicIdentity:
			walk := new(eventspb.DocumentWalk)
			if err := proto.Unmarshal(record.Value, walk); err != nil {
				return err
			}
			l.told = append(l.told, walk)
		default:
			l.letters++
		}
	}
	select {
	case l.more <- struct{}{}:
	default:
	}
	return nil
}

// FetchBatch reads requests.
func (l *log) FetchBatch(ctx context.Context, limit int, _ time.Duration) ([]kafka.Record, error) {
	for {
		l.mu.Lock()
		n := min(limit, len(l.requests))
		list := l.requests[:n:n]
		l.requests = l.requests[n:]
		l.mu.Unlock()
		if n > 0 {
			return list, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-l.more:
		}
	}
}

func (l *log) Commit(_ context.Context, records []kafka.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, record := range records {
		l.done = max(l.done, record.Offset+1)
	}
	return nil
}

func (l *log) waiting(context.Context) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.next - l.done, nil
}

// answersTail reads the answers.
type answersTail struct{ l *log }

func (r answersTail) Close() {}

func (r answersTail) FetchBatch(ctx context.Context, _ int, wait time.Duration) ([]kafka.Record, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(wait):
	}
	r.l.mu.Lock()
	defer r.l.mu.Unlock()
	list := r.l.answers
	r.l.answers = nil
	return list, nil
}
