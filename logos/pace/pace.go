// Package pace finds out how fast each host may be asked.
//
// In: the outcomes of the requests to a host. Out: how long until the next one may begin.
// Guarantees: requests to a host are spaced evenly; a host that refuses (429) or asks for a pause
// (Retry-After) gets it, and is asked more slowly from then on; a host that slows down or fails is
// not asked faster; a rate that the host bears is kept for long, and at growing intervals a rate a
// twentieth higher is tried for one round. Nothing here reads a clock: the caller passes the time.
//
// The rate of a host is found like a window of TCP: it doubles until the host refuses (slow start,
// RFC 5681), then a binary search goes on between the highest rate that was borne and the lowest
// that was not (BIC, Xu, Harfoush and Rhee, 2004). What is found is kept, and decreases by a tenth
// if it turns out to be too much (AIMD, Chiu and Jain, 1989). A host slows down if the latency of a
// round is much above the lowest one so far (TCP Vegas, Brakmo and Peterson, 1995). Such a host is
// then asked as fast as it answered (BBR, Cardwell and others, 2016).
package pace

import (
	"math"
	"time"
)

const (
	// startRate is the rate of a host of which nothing is known, in requests a second.
	startRate = 10
	// leastRate is the lowest rate at which a host is asked: once in twenty seconds.
	leastRate = 0.05
	// mostRate is the highest rate at which a host is asked, whatever it bears.
	mostRate = 1000
	// leastAllowed is how many requests may be under way to a host at least, also if it has not
	// answered yet. A lower bound given to NewHost counts more.
	leastAllowed = 4
	// roundRequests is how many answers a round has at least.
	roundRequests = 10
	// firstRound is the least length of a round while the rate doubles, laterRound that of any
	// other round. A shorter round would not do, as a host that lets bursts through refuses late.
	firstRound, laterRound = 500 * time.Millisecond, 3 * time.Second
	// closeEnough is when the binary search ends: the distance from the highest rate that was borne
	// to the lowest that was not is at most this share of the latter.
	closeEnough = 0.06
	// step is the factor by which a rate is raised to try a higher one, decrease the factor by
	// which a kept rate is lowered.
	step, decrease = 1.05, 0.9
	// firstProbe is how long a rate is kept before a higher one is tried. The time doubles whenever
	// a rate is kept again, up to longestProbe. After a refusal it is at least probePauses times
	// the pause that the host asked for.
	firstProbe, longestProbe = 30 * time.Second, 30 * time.Minute
	probePauses              = 20
	// slower and slack say when a round is slow: its mean latency is above slower times the lowest
	// mean, and also above the lowest mean plus slack.
	slower, slack = 2, 50 * time.Millisecond
	// slowRounds is how many rounds in a row must be slow before the rate is lowered.
	slowRounds = 2
	// failing is the share of a round's requests that must fail for the rate to be too high.
	failing = 0.1
	// catchUp bounds the delay that later requests make up for: if a request begins late, the next
	// ones follow closer to each other.
	catchUp = 100 * time.Millisecond
	// defaultPause is the pause of a host that refuses and does not say for how long.
	defaultPause = 5 * time.Second
)

// Outcome says how a request ended.
type Outcome struct {
	// Refused is true if the host said that it is asked too fast. The host is then not asked for
	// Pause, or for five seconds if Pause is 0.
	Refused bool
	Pause   time.Duration
	// Failed is true if the host did not answer, or answered with an error of its own.
	Failed bool
	// Unasked is true if no request was made after all. The host is not asked for Pause.
	Unasked bool
}

// Host is the pace of one host. It is not safe for concurrent use.
type Host struct {
	// rate is the present rate, in requests a second. good is the highest rate that the host bore
	// for a round, bad the lowest that it did not bear; 0 if no such rate is known.
	rate, good, bad float64
	// kept is true while rate stays at good. At the time probe a higher rate is tried. wait is how
	// long the next kept rate stays.
	kept  bool
	probe time.Time
	wait  time.Duration
	// next is when the next request may begin.
	next time.Time
	// active is how many requests are under way, allowed how many may be, most the bound of
	// allowed. While draining, no request begins until no more are under way than the host can
	// answer without delay.
	active, allowed, most int
	draining              bool
	// latency is a moving mean over the answers, lowest the mean of the quickest round.
	latency, lowest time.Duration
	round           round
	slow            int // rounds in a row that were slow
	// cut is when the rate was lowered last: requests that began earlier say nothing about the new
	// rate.
	cut time.Time
}

// round counts what happened since the rate was chosen.
type round struct {
	began           time.Time
	asked, answered int
	failed          int
	took            time.Duration // the sum over the answered requests
	ended           int           // answers, also to requests from before the round
}

// NewHost returns the pace of a host of which nothing is known. It lets at most most requests be
// under way at once.
func NewHost(most int) *Host {
	return &Host{rate: startRate, wait: firstProbe, most: max(most, 1), allowed: min(leastAllowed, max(most, 1))}
}

// Rate returns how many requests a second the host is asked now, if there are that many.
func (h *Host) Rate() float64 { return h.rate }

// Wait returns how long until the next request may begin. It is negative if one of those under way
// must end first.
func (h *Host) Wait(now time.Time) time.Duration {
	// Little's law: without a delay at the host, rate times latency requests are under way.
	if h.draining && float64(h.active) <= h.rate*h.lowest.Seconds() {
		h.draining = false
	}
	if h.draining || h.active >= h.allowed {
		return -1
	}
	return max(h.next.Sub(now), 0)
}

// Begin notes that a request begins. The caller must call Done when it ends.
func (h *Host) Begin(now time.Time) {
	if h.round.began.IsZero() {
		h.round.began = now
	}
	h.active++
	h.round.asked++
	if h.next.Before(now.Add(-catchUp)) { // there was nothing to ask: that time is not made up for
		h.next = now
	}
	h.next = h.next.Add(h.interval())
}

// interval returns the time from the beginning of one request to that of the next.
func (h *Host) interval() time.Duration { return time.Duration(float64(time.Second) / h.rate) }

// Done notes the end of a request that began at began.
func (h *Host) Done(began, now time.Time, outcome Outcome) {
	h.active--
	switch {
	case outcome.Unasked:
		h.round.asked--
		h.next = h.next.Add(-h.interval()) // takes back what Begin added
		if until := now.Add(outcome.Pause); outcome.Pause > 0 && until.After(h.next) {
			h.next = until
		}
	case outcome.Refused:
		h.refused(began, now, outcome.Pause)
	default:
		h.answered(began, now, outcome.Failed)
	}
}

// refused makes the host pause, and lowers the rate unless an earlier refusal of the same rate has
// done so.
func (h *Host) refused(began, now time.Time, pause time.Duration) {
	if pause <= 0 {
		pause = defaultPause
	}
	if until := now.Add(pause); until.After(h.next) {
		h.next = until
	}
	if !began.Before(h.cut) {
		h.wait = max(h.wait, probePauses*pause)
		h.lower(now)
	}
	h.round.began = h.next // the pause does not count as time of the round
}

// lower takes the present rate for one that the host does not bear, and goes on with a lower one.
func (h *Host) lower(now time.Time) {
	switch h.bad = h.rate; {
	case h.good == 0:
		h.rate = max(h.rate/2, leastRate)
	case h.rate > h.good:
		h.search(now)
	default: // the host bore this rate before, but only for a while
		h.good *= decrease
		h.keep(now)
	}
	h.cut, h.round = now, round{}
}

// search sets the rate between good and bad (binary search), or keeps good if the two are close.
func (h *Host) search(now time.Time) {
	if h.bad-h.good <= closeEnough*h.bad {
		h.keep(now)
		return
	}
	h.rate, h.kept = (h.good+h.bad)/2, false
}

// keep sets the rate to good until the next probe. The time until then doubles from call to call.
func (h *Host) keep(now time.Time) {
	h.good = max(h.good, leastRate)
	h.rate, h.kept = h.good, true
	h.probe = now.Add(h.wait)
	h.wait = min(2*h.wait, longestProbe)
}

// answered counts a request that ended without a refusal, and ends the round if it is long enough.
// A request that began before the rate was lowered does not count for the round.
func (h *Host) answered(began, now time.Time, failed bool) {
	took := max(now.Sub(began), time.Microsecond)
	if !failed {
		h.latency = (7*h.latency + took) / 8
		h.round.ended++
	}
	if began.Before(h.cut) || h.round.began.IsZero() || now.Before(h.round.began) {
		return
	}
	if failed {
		h.round.failed++
	} else {
		h.round.answered++
		h.round.took += took
	}
	if h.round.answered+h.round.failed >= roundRequests && now.Sub(h.round.began) >= h.roundTime() {
		h.endRound(now)
	}
}

// roundTime returns how long a round takes at least: only after that does a higher rate show in the
// latency.
func (h *Host) roundTime() time.Duration {
	if h.bad == 0 {
		return max(firstRound, 2*h.latency)
	}
	return max(laterRound, 2*h.latency)
}

// endRound chooses the rate of the next round.
func (h *Host) endRound(now time.Time) {
	r, lasted := h.round, now.Sub(h.round.began).Seconds()
	h.round = round{began: now}
	if float64(r.failed) > failing*float64(r.answered+r.failed) {
		h.lower(now)
		return
	}
	mean := r.took / time.Duration(max(r.answered, 1))
	if h.lowest == 0 || mean < h.lowest {
		h.lowest = mean
	}
	if mean > slower*h.lowest && mean > h.lowest+slack {
		if h.slow++; h.slow >= slowRounds {
			h.slowed(now, float64(r.ended)/lasted)
		}
		h.allowed = min(max(h.allowed/2, leastAllowed), h.most)
		return
	}
	h.slow = 0
	h.allow()
	if float64(r.asked) >= 0.8*h.rate*lasted { // otherwise too few requests were made to tell
		h.borne(now)
	}
}

// allow sets allowed to leastAllowed more than twice the requests that are under way at this rate
// and the lowest latency. One call at most doubles allowed: at a host that answers one request at a
// time, more requests under way make the latency higher, which would raise allowed again.
func (h *Host) allow() {
	enough := leastAllowed + int(math.Ceil(2*h.rate*h.lowest.Seconds()))
	h.allowed = min(max(leastAllowed, min(2*h.allowed, enough)), h.most)
}

// slowed lowers the rate to delivered, the answers a second that the host gave while it was asked
// for more. The search goes on from there, as the host may have been slow for another reason.
func (h *Host) slowed(now time.Time, delivered float64) {
	h.lowest += h.lowest / 16 // the way to the host may have become longer
	h.bad, h.good = h.rate, max(min(h.rate, delivered), leastRate)
	h.rate, h.kept = h.good, false
	h.cut, h.round, h.slow, h.draining = now, round{}, 0, true
}

// borne takes the present rate for one that the host bears.
func (h *Host) borne(now time.Time) {
	h.good = max(h.good, h.rate)
	switch {
	case h.bad == 0:
		h.rate = min(2*h.rate, mostRate)
	case h.rate >= h.bad: // the host bears more than before
		h.rate = min(step*h.rate, mostRate)
		h.bad = h.rate
	case !h.kept:
		h.search(now)
	case !now.Before(h.probe):
		h.rate, h.kept = min(step*h.good, mostRate), false
		h.bad = h.rate
	}
}
