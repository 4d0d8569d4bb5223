package status

import "time"

const (
	// pastEvery is the time between two looks that are kept.
	pastEvery = 10 * time.Second
	// pastLooks is how many looks are kept: those of an hour.
	pastLooks = 360
)

// Look is the status at one moment. A figure that was not known is nil.
type Look struct {
	AtMS       int64  `json:"at_ms"`
	P50        *int64 `json:"p50_ms"`
	P99        *int64 `json:"p99_ms"`
	LagRecords *int64 `json:"lag_records"`
}

// Past is the body of GET /status/past: a look each ten seconds of the last hour, the oldest first.
// It begins when the node started, if that was later.
type Past struct {
	EveryMS int64  `json:"every_ms"`
	Looks   []Look `json:"looks"`
}

// past is a ring buffer of looks.
type past struct {
	ring [pastLooks]Look
	seen uint64    // looks since the start
	last time.Time // of the last look
}

// see keeps a look if the last one is at least pastEvery old. lag is nil if the lag is not known
// now.
func (p *past) see(now time.Time, document *Document, lag *int64) {
	if now.Sub(p.last) < pastEvery {
		return
	}
	p.last = now
	p.ring[p.seen%pastLooks] = Look{
		AtMS: now.UnixMilli(), P50: document.Freshness.P50, P99: document.Freshness.P99, LagRecords: lag,
	}
	p.seen++
}

// looks returns the looks in their order; never nil.
func (p *past) looks() []Look {
	looks := make([]Look, 0, min(p.seen, pastLooks))
	for i := p.seen - uint64(cap(looks)); i < p.seen; i++ {
		looks = append(looks, p.ring[i%pastLooks])
	}
	return looks
}

// Past returns the looks that were kept.
func (c *Collector) Past() Past {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Past{EveryMS: pastEvery.Milliseconds(), Looks: c.past.looks()}
}
