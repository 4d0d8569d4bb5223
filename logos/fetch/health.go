package fetch

import (
	"cmp"
	"errors"
	"hash/maphash"
	"math"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	// healthHosts bounds the hosts whose health is remembered: the latest ones (LRU).
	healthHosts = 20_000
	// failuresUntilDown is how many failures in a row make a host count as down.
	failuresUntilDown = 5
	// firstDown and longestDown bound how long a host is down; the time doubles with each failure.
	firstDown   = time.Second
	longestDown = 5 * time.Minute
	// trialTime is how long a host's trial may take. Until then its other requests are refused.
	trialTime = 5 * time.Second
	// badURLs bounds the bad URLs that are remembered: the latest ones (LRU).
	badURLs = 50_000
	// othersFirst is how long after a host's time down a bad URL may not be the trial, so that
	// another URL of the host is tried first.
	othersFirst = 10 * time.Second
	// pauseWithoutRetryAfter is the pause after a 429 without Retry-After.
	pauseWithoutRetryAfter = 5 * time.Second
)

// health remembers which hosts must not be asked now. A host that answered 429, or 503 with
// Retry-After, is paused for as long as it asked for. A host that did not answer failuresUntilDown
// times in a row is down, each time for longer. Requests to a host that is down fail at once, so a
// dead host costs a thousand tokens no more time than five. When the time is over, one request is
// the trial that finds out whether the host is up again. If all requests that wait tried at once,
// each failure would double the time down, and a short outage would keep the host down for minutes.
//
// A failure may be the fault of one URL: it hangs while the host serves all others. So when a host
// answers, the URLs that failed there before count as bad, and the host's failures are forgotten. A
// bad URL no longer counts against its host until it is answered once. Otherwise the bad URLs at
// the end of a long queue would take a healthy host down.
type health struct {
	now   func() time.Time
	seed  maphash.Seed
	mu    sync.Mutex
	hosts *lru.Cache[string, *hostHealth]
	bad   *lru.Cache[uint64, struct{}] // hashes of URLs
}

type hostHealth struct {
	failures int // in a row
	// since is when the first of these failures was. Of a paused host it is since when the host has
	// answered only with requests for a pause.
	since  time.Time
	until  time.Time // the end of the pause, or of the time down
	paused bool      // paused, not down
	trial  bool      // one request is finding out whether the host is up again
	last   Class     // the class of the last failure
	urls   []uint64  // hashes of the URLs that failed since the host last answered
}

// maxFailedURLs bounds hostHealth.urls.
const maxFailedURLs = 64

func newHealth(now func() time.Time) *health {
	hosts, _ := lru.New[string, *hostHealth](healthHosts) // fails only for a size below 1
	bad, _ := lru.New[uint64, struct{}](badURLs)
	return &health{now: now, seed: maphash.MakeSeed(), hosts: hosts, bad: bad}
}

// refuse returns nil if the host may be asked for the URL now, or else the error of the fetch. A
// request that it lets through may be the host's trial.
func (h *health) refuse(host, url string) *Error {
	h.mu.Lock()
	defer h.mu.Unlock()
	state, ok := h.hosts.Get(host)
	if !ok {
		return nil
	}
	left := state.until.Sub(h.now())
	switch {
	case left <= 0 && state.failures >= failuresUntilDown:
		// A bad URL waits for a while, so that another URL of the host is the trial.
		if left > -othersFirst && h.bad.Contains(maphash.String(h.seed, url)) {
			return state.down(left+othersFirst, h.now())
		}
		state.paused, state.trial, state.until = false, true, h.now().Add(trialTime)
		return nil
	case left <= 0:
		return nil
	case state.paused:
		return &Error{Class: ClassHostPaused, RetryAfter: left, DownFor: h.now().Sub(state.since), Err: errors.New("the host asked for time")}
	default:
		return state.down(left, h.now())
	}
}

func (s *hostHealth) down(left time.Duration, now time.Time) *Error {
	return &Error{Class: ClassHostDown, RetryAfter: left, DownFor: now.Sub(s.since), Err: errors.New("the host failed last with " + string(s.last))}
}

// report records the outcome of a request for url; failed is nil if it succeeded.
func (h *health) report(host, url string, failed *Error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	state, known := h.hosts.Get(host)
	pause := pauseOf(failed)
	broken := failed != nil && unanswered(failed.Class)
	hash := maphash.String(h.seed, url)
	switch {
	case !broken:
		h.answered(state, hash)
	case h.bad.Contains(hash):
		return // a bad URL does not count against its host
	}
	switch {
	case pause == 0 && !broken:
		// This request may have begun before the host asked for a pause: its answer does not end
		// the pause.
		if known && (!state.paused || !state.until.After(h.now())) {
			h.hosts.Remove(host)
		} else if known {
			state.since = h.now() // the host has answered with more than requests for a pause
		}
		return
	case !known:
		state = &hostHealth{}
		h.hosts.Add(host, state)
	}
	if pause > 0 {
		if !state.paused { // the host answered, so it is not down any more
			state.until, state.since = time.Time{}, h.now()
		}
		state.failures, state.trial = 0, false
		state.paused, state.until = true, later(state.until, h.now().Add(pause))
		return
	}
	state.fail(h.now(), failed.Class, hash)
}

// answered records that the host answered for url: the URLs that failed before are bad, and url is
// not. state is nil if nothing is known of the host.
func (h *health) answered(state *hostHealth, url uint64) {
	if state != nil {
		for _, failed := range state.urls {
			h.bad.Add(failed, struct{}{})
		}
		state.urls = nil
	}
	h.bad.Remove(url)
}

// fail records that the host did not answer.
func (s *hostHealth) fail(now time.Time, class Class, url uint64) {
	if len(s.urls) < maxFailedURLs && !slices.Contains(s.urls, url) {
		s.urls = append(s.urls, url)
	}
	if s.failures >= failuresUntilDown && !s.trial && s.until.After(now) {
		return // this request began before the host was down: it is the same outage
	}
	if s.failures == 0 {
		s.since = now
	}
	s.last, s.trial = class, false
	if s.failures++; s.failures >= failuresUntilDown {
		// After each time down only the trial is counted, so the time doubles with each failed
		// trial. The shift stays small; longestDown is reached long before.
		wait := min(firstDown<<min(s.failures-failuresUntilDown, 12), longestDown)
		s.paused, s.until = false, now.Add(wait)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// pauseOf is how long the response asks us to wait; 0 if it does not.
func pauseOf(failed *Error) time.Duration {
	switch {
	case failed == nil || failed.Class != ClassHTTPStatus:
		return 0
	case failed.Status == http.StatusTooManyRequests && failed.RetryAfter == 0:
		return pauseWithoutRetryAfter
	case failed.Status == http.StatusTooManyRequests, failed.Status == http.StatusServiceUnavailable:
		return failed.RetryAfter
	}
	return 0
}

// unanswered reports whether a failure means that the host did not answer.
func unanswered(class Class) bool {
	return class == ClassConnection || class == ClassTimeout || class == ClassDNS || class == ClassTLS
}

// sorted orders the URLs by their hosts: those without failures first, then by the number of
// failures, last the hosts that may not be asked now.
func (h *health) sorted(urls []*url.URL) []*url.URL {
	if len(urls) < 2 {
		return urls
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now()
	rank := func(u *url.URL) int {
		state, ok := h.hosts.Peek(hostPort(u))
		switch {
		case !ok:
			return 0
		case state.until.After(now):
			return math.MaxInt
		}
		return state.failures
	}
	urls = slices.Clone(urls)
	slices.SortStableFunc(urls, func(a, b *url.URL) int { return cmp.Compare(rank(a), rank(b)) })
	return urls
}
