package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
	"golang.org/x/sync/singleflight"

	"github.com/mintlake/mintlake/internal/solana"
)

const (
	// breakerFailures in a row open the breaker of an upstream.
	breakerFailures = 2
	// breakerWindow, breakerBucket, breakerLeast and breakerShare: so does this share of failures,
	// of at least so many attempts in the window.
	breakerWindow = 10 * time.Second
	breakerBucket = time.Second
	breakerLeast  = 10
	breakerShare  = 0.5
)

// upstream is one JSON-RPC server.
type upstream struct {
	url string
	// name is the URL without its secrets; it is the metric label and what the log shows.
	name    string
	breaker *gobreaker.TwoStepCircuitBreaker[struct{}]
	slots   sightings
	window  window
	// single is set when the server serves no batches: then it is polled call by call.
	single atomic.Bool
	// asking shares one poll among those who want to know the slot now.
	asking singleflight.Group

	mu sync.Mutex
	// trouble is the last failure, for the log.
	trouble error
}

// broken says that the breaker is open, or waits for the poll that closes it.
func (u *upstream) broken() bool { return u.breaker.State() != gobreaker.StateClosed }

// allow asks the breaker for an attempt. The result tells it how the attempt ended; it does nothing
// for an attempt that is made although the breaker is open.
func (u *upstream) allow() (allowed bool, done func(error)) {
	report, err := u.breaker.Allow()
	if err != nil {
		return false, func(error) {}
	}
	return true, func(err error) {
		if err != nil {
			u.mu.Lock()
			u.trouble = err
			u.mu.Unlock()
		}
		report(err)
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
	// maxLag is how many slots an upstream may be below the median of all.
	maxLag uint64
}

// newPool checks the URLs. Each upstream begins with a closed breaker; probe is the time between
// two polls, which close one that has opened.
func newPool(urls []string, probe time.Duration, maxLag uint64, log *slog.Logger) (*pool, error) {
	p := &pool{maxLag: maxLag}
	for i, raw := range urls {
		parsed, err := url.Parse(raw)
		if err != nil || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Host == "" {
			return nil, fmt.Errorf("upstream %d (%s): want http(s)://host (--rpc-upstream)", i+1, solana.Redact(raw))
		}
		u := &upstream{url: raw, name: solana.Redact(raw)}
		u.breaker = newBreaker(u, probe, log)
		p.upstreams = append(p.upstreams, u)
	}
	return p, nil
}

// newBreaker is open for a bit less than probe, so that a poll after that time finds it ready. Only
// polls close it again, so that no client's call is the one that finds out.
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

// choose returns the upstreams to try for a call at commitment c that wants slot least or a later
// one: those in the choice as configured, first the ones known to have the slot. Then those behind,
// in trouble and ahead of all, since a wrong opinion must not refuse what would have worked. Always
// the first that will do, and no turns: a client that reads a blockhash and then sends a
// transaction should meet the same server.
func (p *pool) choose(c commitment, least uint64) []*upstream {
	if len(p.upstreams) < 2 {
		return p.upstreams
	}
	const late = 1 // after the rank of a condition: it has not been seen at the slot
	var ranks [2 * conditions][]*upstream
	for i, condition := range p.judge(time.Now()) {
		u := p.upstreams[i]
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

// wellCount is the number of upstreams in the choice.
func (p *pool) wellCount() int {
	n := 0
	for _, condition := range p.judge(time.Now()) {
		if condition == well {
			n++
		}
	}
	return n
}
