package jsonrpc

import (
	"slices"
	"sync"
	"time"
)

const (
	// windowSamples and windowAge bound how far a window looks back.
	windowSamples = 512
	windowAge     = time.Minute
	// quantileAge is how long a quantile is used before it is computed again.
	quantileAge = 250 * time.Millisecond
)

// sample is one attempt: when it ended, how long it took, whether it failed.
type sample struct {
	at     time.Time
	took   time.Duration
	failed bool
}

// window is a ring buffer of the latest attempts. It gives an error ratio, and quantiles of the
// time until an answer begins.
type window struct {
	mu   sync.Mutex
	ring []sample
	next int // index of the oldest sample once the ring is full
	// p95 and enough are the last result of quantile95. computed is when it was computed.
	p95      time.Duration
	enough   bool
	computed time.Time
}

func (w *window) add(now time.Time, took time.Duration, failed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := sample{now, took, failed}
	if len(w.ring) < windowSamples {
		w.ring = append(w.ring, s)
		return
	}
	w.ring[w.next] = s
	w.next = (w.next + 1) % windowSamples
}

// summary sums up the attempts of the last windowAge. took has the times of the attempts that did
// not fail.
type summary struct {
	attempts, failed int
	took             []time.Duration // sorted
}

// errorRatio returns the part of the attempts that failed; 0 without attempts.
func (s *summary) errorRatio() float64 {
	if s.attempts == 0 {
		return 0
	}
	return float64(s.failed) / float64(s.attempts)
}

// quantile returns the time within which a part q of the answers began; 0 without answers.
func (s *summary) quantile(q float64) time.Duration {
	if len(s.took) == 0 {
		return 0
	}
	return s.took[min(int(q*float64(len(s.took))), len(s.took)-1)]
}

func (w *window) summarize(now time.Time) summary {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.summarizeLocked(now)
}

func (w *window) summarizeLocked(now time.Time) summary {
	var s summary
	for _, one := range w.ring {
		switch {
		case now.Sub(one.at) > windowAge:
			continue
		case one.failed:
			s.failed++
		default:
			s.took = append(s.took, one.took)
		}
		s.attempts++
	}
	slices.Sort(s.took)
	return s
}

// quantile95 returns the time within which 95 % of the answers began; false if there were fewer
// than least answers. The result is computed at most once each quantileAge, so all callers must
// pass the same least.
func (w *window) quantile95(now time.Time, least int) (time.Duration, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.computed.IsZero() || now.Sub(w.computed) >= quantileAge {
		s := w.summarizeLocked(now)
		w.p95, w.enough, w.computed = s.quantile(0.95), len(s.took) >= least, now
	}
	return w.p95, w.enough
}
