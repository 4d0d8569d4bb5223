package keys

import (
	"math"
	"sync"
	"time"
)

// meter counts a key's use on this node: a token bucket for its requests, and the number of its
// open streams. All surfaces share the key's meter. A changed key keeps it.
type meter struct {
	mu      sync.Mutex
	tokens  float64
	at      time.Time // the time for which tokens holds
	limit   int       // requests per second, also the size of the bucket
	streams int       // open now
}

// take takes n requests out of the bucket, which holds one second's worth. A batch that is larger
// than the bucket could never pass, so it passes when the bucket is full. The bucket then has a
// debt (tokens below 0), which later requests wait for.
func (m *meter) take(n, limit int, now time.Time) (Budget, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.limit != limit { // the first request, or the limit was changed
		m.tokens, m.at, m.limit = float64(limit), now, limit
	}
	if passed := now.Sub(m.at).Seconds(); passed > 0 {
		m.tokens, m.at = min(float64(limit), m.tokens+passed*float64(limit)), now
	}
	needed := min(float64(n), float64(limit))
	if m.tokens < needed {
		return Budget{Limit: limit, Remaining: m.remaining(), Reset: m.until(needed)}, false
	}
	m.tokens -= float64(n)
	return Budget{Limit: limit, Remaining: m.remaining(), Reset: m.until(float64(limit))}, true
}

func (m *meter) remaining() int { return int(math.Max(0, math.Floor(m.tokens))) }

// until returns the time until there are this many tokens.
func (m *meter) until(tokens float64) time.Duration {
	return time.Duration(max(0, tokens-m.tokens) / float64(m.limit) * float64(time.Second))
}

// open counts a stream. It returns false if limit streams are open; 0 means no limit.
func (m *meter) open(limit int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if limit > 0 && m.streams >= limit {
		return false
	}
	m.streams++
	return true
}

func (m *meter) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.streams--
}
