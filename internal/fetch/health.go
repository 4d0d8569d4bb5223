package fetch

import (
	"errors"
	"hash/maphash"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	// healthHosts bounds the hosts whose health is remembered, the ones asked last.
	healthHosts = 20_000
	// failuresUntilDown is how many failures in a row take a host for down.
	failuresUntilDown = 5
	firstDown         = time.Second
	longestDown       = 5 * time.Minute
	// trialTime is how long all but one request to a host that was down are put off, so that the
	// one can find out how it is now.
	trialTime = 5 * time.Second
	// badURLs bounds the URLs that are remembered for failing where their host does not, the ones
	// that failed last.
	badURLs = 50_000
	// othersFirst is how long a URL that is known to be bad leaves the trial of its host to others.
	othersFirst = 10 * time.Second
	// pauseWithoutRetryAfter follows a 429 that says nothing.
	pauseWithoutRetryAfter = 5 * time.Second
)

// health remembers which hosts want to be left alone. A host that answered 429, or 503 with
// Retry-After, is paused for as long as it asked. A host that failed to answer at all several times
// in a row is down, for longer each time; what it would be asked fails at once, so that a dead host
// costs a thousand tokens no more than it costs five. After each wait one request tries whether it
// is up again: if all that waited tried at once, their failures would count as so many outages, and
// a moment's would last for minutes.
//
// What fails may be the URL and not its host: one that hangs, say, where all others are served. A
// host that answers others clears itself of the failures before. Their URLs are bad then: until
// they are answered they testify against their host no more, else the last that are left of a long
// queue, all of them bad, would have it down.
type health struct {
	now   func() time.Time
	seed  maphash.Seed
	mu    sync.Mutex
	hosts *lru.Cache[string, *hostHealth]
	bad   *lru.Cache[uint64, struct{}] // hashes of URLs
}

type hostHealth struct {
	failures int
	since    time.Time // the first of them
	until    time.Time
	paused   bool
	trial    bool // one request is finding out whether the host is up again
	last     Class
	urls     []uint64 // hashes of those that failed, each at least once, the first maxFailedURLs
}

const maxFailedURLs = 64

func newHealth(now func() time.Time) *health {
	hosts, _ := lru.New[string, *hostHealth](healthHosts) // fails only for a size below 1
	bad, _ := lru.New[uint64, struct{}](badURLs)
	return &health{now: now, seed: maphash.MakeSeed(), hosts: hosts, bad: bad}
}

// refuse is nil when the host may be asked for the URL.
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
		if left > -othersFirst && h.bad.Contains(maphash.String(h.seed, url)) {
			return state.down(left+othersFirst, h.now())
		}
		state.paused, state.trial, state.until = false, true, h.now().Add(trialTime)
		return nil
	case left <= 0:
		return nil
	case state.paused:
		return &Error{Class: ClassHostPaused, RetryAfter: left, Err: errors.New("the host asked for time")}
	default:
		return state.down(left, h.now())
	}
}

func (s *hostHealth) down(left time.Duration, now time.Time) *Error {
	return &Error{Class: ClassHostDown, RetryAfter: left, DownFor: now.Sub(s.since), Err: errors.New("the host failed last with " + string(s.last))}
}

// report learns from an answer to the URL or a failure; nil is success.
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
		return // its host has been seen to be up when it failed
	}
	switch {
	case pause == 0 && !broken:
		// An answer that was on its way when the host asked for time does not take that back.
		if known && (!state.paused || !state.until.After(h.now())) {
			h.hosts.Remove(host)
		}
		return
	case !known:
		state = &hostHealth{}
		h.hosts.Add(host, state)
	}
	if pause > 0 {
		if !state.paused { // it is up, so whatever wait there was is over
			state.until = time.Time{}
		}
		state.failures, state.trial = 0, false
		state.paused, state.until = true, later(state.until, h.now().Add(pause))
		return
	}
	state.fail(h.now(), failed.Class, hash)
}

// answered clears a host, nil if nothing is known of it, of the failures before: what failed were
// other URLs.
func (h *health) answered(state *hostHealth, url uint64) {
	if state != nil {
		for _, failed := range state.urls {
			h.bad.Add(failed, struct{}{})
		}
		state.urls = nil
	}
	h.bad.Remove(url)
}

// fail counts a failure to answer.
func (s *hostHealth) fail(now time.Time, class Class, url uint64) {
	if len(s.urls) < maxFailedURLs && !slices.Contains(s.urls, url) {
		s.urls = append(s.urls, url)
	}
	if s.failures >= failuresUntilDown && !s.trial && s.until.After(now) {
		return // began before the host was taken for down: the same outage
	}
	if s.failures == 0 {
		s.since = now
	}
	s.last, s.trial = class, false
	if s.failures++; s.failures >= failuresUntilDown {
		// One more failure than the last: a trial after each wait, that waits twice as long when it
		// fails.
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

// pauseOf is how long the answer asks to wait, 0 when it does not.
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

// unanswered says that a failure is the host's own and not the content's.
func unanswered(class Class) bool {
	return class == ClassConnection || class == ClassTimeout || class == ClassDNS || class == ClassTLS
}

// sorted puts the hosts that may not be asked now behind the others, and those that failed last
// behind those that did not.
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
			return healthHosts
		}
		return state.failures
	}
	urls = slices.Clone(urls)
	slices.SortStableFunc(urls, func(a, b *url.URL) int { return rank(a) - rank(b) })
	return urls
}
