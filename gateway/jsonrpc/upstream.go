package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/mintlake/mintlake/internal/sharedcall"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/solana/slottime"
)

const (
	// breakerFailures is how many failures in a row open an upstream's circuit breaker.
	breakerFailures = 2
	// The breaker also opens if at least breakerShare of the attempts within breakerWindow failed,
	// and these attempts are at least breakerLeast. The window moves in steps of breakerBucket.
	breakerWindow = 10 * time.Second
	breakerBucket = time.Second
	breakerLeast  = 10
	breakerShare  = 0.5
)

// upstream is one JSON-RPC server.
type upstream struct {
	url string
	// name is the URL without its secrets; it is the metric label and what the log shows.
	name string
	// header is sent with each request. It never changes.
	header  http.Header
	breaker *gobreaker.TwoStepCircuitBreaker[struct{}]
	slots   lastSlots
	window  window
	// single is set if the server does not support batches: then it is polled call by call.
	single atomic.Bool
	// asking lets callers that come at the same time share one poll.
	asking sharedcall.Group[struct{}]

	mu sync.Mutex
	// trouble is the last error that report was called with, for the log.
	trouble error
}

// broken returns whether the breaker is open or half-open: a half-open one is closed by the next
// attempt that succeeds.
func (u *upstream) broken() bool { return u.breaker.State() != gobreaker.StateClosed }

// allow asks the circuit breaker for an attempt. report tells the breaker how the attempt ended. If
// the breaker does not allow the attempt, the caller may make it all the same. Then report does
// nothing.
func (u *upstream) allow() (allowed bool, report func(error)) {
	tellBreaker, err := u.breaker.Allow()
	if err != nil {
		return false, func(error) {}
	}
	return true, func(err error) {
		if err != nil {
			u.mu.Lock()
			u.trouble = err
			u.mu.Unlock()
		}
		tellBreaker(err)
	}
}

func (u *upstream) lastTrouble() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.trouble
}

// pool is the list of upstreams in the operator's order.
type pool struct {
	upstreams []*upstream
	// lagSlots is Config.MaxLagSlots.
	lagSlots uint64
	// foreign is Deps.OtherChain.
	foreign func(url string) bool
	// time measures the slot time by the highest slots of the polls.
	time slottime.Meter
}

// defaultLag is how far an upstream may be behind if Config.MaxLagSlots is 0.
const defaultLag = 10 * time.Second

// maxLag returns how many slots an upstream may be below the median of all upstreams.
func (p *pool) maxLag() uint64 {
	if p.lagSlots > 0 {
		return p.lagSlots
	}
	return p.time.Slots(defaultLag)
}

// newPool checks the URLs and makes an upstream with a closed circuit breaker for each.
func newPool(cfg Config, foreign func(url string) bool, log *slog.Logger) (*pool, error) {
	if foreign == nil {
		foreign = func(string) bool { return false }
	}
	p := &pool{lagSlots: uint64(cfg.MaxLagSlots), foreign: foreign}
	for i, raw := range cfg.Upstreams {
		parsed, err := url.Parse(raw)
		if err != nil || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Host == "" {
			return nil, fmt.Errorf("upstream %d (%s): want http(s)://host (--rpc-upstream)", i+1, solana.Redact(raw))
		}
		u := &upstream{url: raw, name: solana.Redact(raw), header: headerFor(parsed)}
		u.breaker = newBreaker(u, cfg.probeInterval, log)
		p.upstreams = append(p.upstreams, u)
	}
	return p, nil
}

// headerFor returns the header of requests to an upstream. It holds the user and the password of
// the URL, if there are any.
func headerFor(upstream *url.URL) http.Header {
	r := http.Request{Header: http.Header{"Content-Type": {"application/json"}, "User-Agent": {"mintlake"}}}
	if upstream.User != nil {
		password, _ := upstream.User.Password()
		r.SetBasicAuth(upstream.User.Username(), password)
	}
	return r.Header
}

// newBreaker returns a circuit breaker that stays open for a bit less than probe, so that the next
// poll finds it half-open and may close it. A call seldom closes it, because choose puts an
// upstream with an open breaker behind the others.
func newBreaker(u *upstream, probe time.Duration, log *slog.Logger) *gobreaker.TwoStepCircuitBreaker[struct{}] {
	return gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name: u.name, MaxRequests: 1, Timeout: probe * 9 / 10, Interval: breakerWindow, BucketPeriod: breakerBucket,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			ended := c.TotalSuccesses + c.TotalFailures
			return c.ConsecutiveFailures >= breakerFailures || ended >= breakerLeast && float64(c.TotalFailures) >= breakerShare*float64(ended)
		},
		IsExcluded: func(err error) bool { return errors.Is(err, context.Canceled) },
		OnStateChange: func(_ string, from, to gobreaker.State) {
			switch {
			case to == gobreaker.StateOpen && from == gobreaker.StateClosed:
				log.Warn("rpc upstream in trouble", "upstream", u.name, "err", u.lastTrouble())
			case to == gobreaker.StateClosed:
				log.Info("rpc upstream is well again", "upstream", u.name)
			}
		},
	})
}

// choose returns the upstreams in the order in which a call at commitment c tries them. least is
// the lowest slot that the call accepts. First come the upstreams that are well. Then come those
// that are behind, in trouble or ahead, because a wrong judgement must not refuse a call that would
// work. Upstreams in one condition are in the configured order, but those that are known to be
// below least come after the others. Upstreams of another chain are left out. The order does not
// rotate: a client that reads a blockhash and then sends a transaction should reach the same
// server.
func (p *pool) choose(c commitment, least uint64) []*upstream {
	const late = 1 // added to the rank of an upstream whose slot is below least
	var ranks [2 * conditions][]*upstream
	for i, condition := range p.judge(time.Now()) {
		u := p.upstreams[i]
		if condition == otherChain {
			continue
		}
		rank := 2 * condition
		if slot, known := u.slots.known(c); known && slot < least {
			rank += late
		}
		ranks[rank] = append(ranks[rank], u)
	}
	list := make([]*upstream, 0, len(p.upstreams))
	for _, rank := range ranks {
		list = append(list, rank...)
	}
	return list
}

// wellCount counts the upstreams that are well.
func (p *pool) wellCount() int {
	n := 0
	for _, condition := range p.judge(time.Now()) {
		if condition == well {
			n++
		}
	}
	return n
}
