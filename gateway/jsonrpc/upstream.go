package jsonrpc

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/mintlake/mintlake/internal/solana"
)

// upstream is one JSON-RPC server.
type upstream struct {
	url string
	// name is the URL without its secrets; it is the metric label and what the log shows.
	name string

	mu   sync.Mutex
	well bool
	// since is when well last changed.
	since time.Time
}

func (u *upstream) isWell() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.well
}

// set tells how an attempt that began at began found the upstream; changed says whether that is news. What began before the last change says nothing
// of the time after it: a slow answer of before must not make an upstream in trouble look well.
func (u *upstream) set(well bool, began time.Time) (changed bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	changed = u.well != well && !began.Before(u.since)
	if changed {
		u.well, u.since = well, time.Now()
	}
	return changed
}

// pool is the list of upstreams in the operator's order.
type pool struct{ upstreams []*upstream }

func newPool(urls []string) (*pool, error) {
	p := &pool{}
	for i, raw := range urls {
		u, err := url.Parse(raw)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return nil, fmt.Errorf("upstream %d (%s): want http(s)://host (--rpc-upstream)", i+1, solana.Redact(raw))
		}
		p.upstreams = append(p.upstreams, &upstream{url: raw, name: solana.Redact(raw), well: true, since: time.Now()})
	}
	return p, nil
}

// order returns the upstreams to try: the well ones as configured, then the others as configured, since a wrong opinion of
// health must not refuse what would have worked. Always the first that is well, and no turns: a client that reads a blockhash and
// then sends a transaction should meet the same server.
func (p *pool) order() []*upstream {
	list := make([]*upstream, 0, len(p.upstreams))
	var troubled []*upstream
	for _, u := range p.upstreams {
		if u.isWell() {
			list = append(list, u)
		} else {
			troubled = append(troubled, u)
		}
	}
	return append(list, troubled...)
}

func (p *pool) wellCount() int {
	n := 0
	for _, u := range p.upstreams {
		if u.isWell() {
			n++
		}
	}
	return n
}

// probe asks all upstreams once at the start and later those in trouble, so that no client's call is the one that finds out.
func (g *Gateway) probe(ctx context.Context) {
	ticker := time.NewTicker(g.cfg.probeInterval)
	defer ticker.Stop()
	for first := true; ; first = false {
		for _, u := range g.pool.upstreams {
			if first || !u.isWell() {
				g.probeOne(ctx, u)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// probeBody asks for getHealth. Any JSON-RPC answer but "unhealthy" will do: a server that lacks the method is there all the same.
const probeBody = `{"jsonrpc":"2.0","id":1,"method":"getHealth"}`

func (g *Gateway) probeOne(parent context.Context, u *upstream) {
	ctx, cancel := context.WithTimeout(parent, g.cfg.attemptTimeout)
	defer cancel()
	began := time.Now()
	answer, err := g.attempt(ctx, u, []byte(probeBody))
	if answer != nil {
		answer.close()
	}
	if parent.Err() == nil || err == nil { // one that does not answer in time is in trouble; a stop says nothing
		g.note(u, began, err)
	}
}

// note keeps the health that an attempt showed, and tells the log when it changed.
func (g *Gateway) note(u *upstream, began time.Time, err error) {
	if !u.set(err == nil, began) {
		return
	}
	if err != nil {
		g.log.Warn("rpc upstream in trouble", "upstream", u.name, "err", err)
		return
	}
	g.log.Info("rpc upstream is well again", "upstream", u.name)
}
