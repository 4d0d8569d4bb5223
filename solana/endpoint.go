package solana

import (
	"fmt"
	"net/url"
	"sync"
	"time"
)

// endpoint is one server with its health. After a failure it rests: the client asks other
// endpoints. The rest doubles with each failure in a row, up to maxRest. A resting endpoint is
// asked only if all endpoints rest.
type endpoint struct {
	url        string
	redacted   string
	failures   int // in a row
	restsUntil time.Time
}

type pool struct {
	mu        sync.Mutex
	endpoints []*endpoint
	next      int
	excluded  *Exclusions
}

const (
	firstRest = 500 * time.Millisecond
	maxRest   = 30 * time.Second
)

func newPool(urls []string) (*pool, error) {
	p := &pool{}
	for i, raw := range urls {
		u, err := url.Parse(raw)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return nil, fmt.Errorf("endpoint %d (%s): want http(s)://host", i, Redact(raw))
		}
		p.endpoints = append(p.endpoints, &endpoint{url: raw, redacted: Redact(raw)})
	}
	if len(p.endpoints) == 0 {
		return nil, fmt.Errorf("no endpoints: name at least one JSON-RPC server")
	}
	return p, nil
}

// pick returns the next endpoint in round-robin order that does not rest. If all rest, it returns
// the one whose rest ends first. It skips excluded endpoints, and those in tried unless all were
// tried. best is nil if all endpoints are excluded. last reports whether no other endpoint is left
// to try.
func (p *pool) pick(now time.Time, tried map[*endpoint]bool) (best *endpoint, last bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.endpoints)
	untried := make([]bool, n)
	left := 0
	for i, e := range p.endpoints {
		if untried[i] = !tried[e] && !p.excluded.Has(e.url); untried[i] {
			left++
		}
	}
	for i := range n {
		at := (p.next + i) % n
		e := p.endpoints[at]
		if p.excluded.Has(e.url) || left > 0 && !untried[at] {
			continue
		}
		if !now.Before(e.restsUntil) {
			best = e
			p.next = (at + 1) % n
			break
		}
		if best == nil || e.restsUntil.Before(best.restsUntil) {
			best = e
		}
	}
	return best, left <= 1
}

// report records the outcome of an attempt at e. trouble says that the endpoint failed. A failed
// endpoint rests for firstRest, doubled for each earlier failure in a row, or for atLeast if that
// is longer. maxRest bounds both.
func (p *pool) report(e *endpoint, now time.Time, trouble bool, atLeast time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !trouble {
		e.failures, e.restsUntil = 0, time.Time{}
		return
	}
	rest := min(firstRest<<min(e.failures, 10), maxRest)
	e.failures++
	e.restsUntil = now.Add(max(rest, min(atLeast, maxRest)))
}

// Host returns the host of an endpoint's URL, with its port if it names one: the upstream's name in
// facts, metrics and logs.
func Host(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Host
}

// Redact returns only the scheme and the host of an endpoint's URL: providers put API keys into the
// query, the user info and the path.
func Redact(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return "(unreadable url)"
	}
	out := u.Scheme + "://" + u.Host
	if (u.Path != "" && u.Path != "/") || u.RawQuery != "" {
		out += "/…"
	}
	return out
}
