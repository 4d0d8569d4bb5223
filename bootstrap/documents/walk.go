package documents

import (
	"math"
	"time"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

const (
	// windowTime sets a host's window, which is how many of its requests may wait for their
	// answers: as many as the host answers in this time.
	windowTime = 10 * time.Second
	// minWindow and maxWindow bound the window of a host.
	minWindow, maxWindow = 8, 4000
	// firstWindow is the window of a host that has not answered yet.
	firstWindow = 64
	// maxOut is how many requests of all hosts may wait for their answers. After patience, a
	// request no longer counts.
	maxOut   = 20_000
	patience = 10 * time.Minute
	// maxLanes bounds the hosts of one walk.
	maxLanes = 5000
)

// walk has the place of the walk at each host, and the requests that wait for their answers.
type walk struct {
	cfg   Config
	lanes map[string]*lane
	order []*lane                // in the order in which they were found
	turn  int                    // the lane that is asked first
	out   map[pubkey.Key]request // those that wait for their answers, by mint
	// asked counts the requests of this walk.
	asked int64
	// resumed are the places of an earlier process.
	resumed map[string]Cursor
}

// lane is the walk over the tokens of one host.
type lane struct {
	host  string
	place Cursor // of the last token asked for
	read  Cursor // of the last token read
	ended bool   // no token is left to read
	queue []Wanted
	left  int64 // tokens without a document as last counted, less those asked for since
	out   int   // requests that wait for their answers
	// failed counts the documents that could not be read. Their tokens stay without a document, so
	// a later count has them again.
	failed int64
	// perSecond is a moving mean of the answers a second, came counts the answers since the last
	// call of look.
	perSecond float64
	came      int
}

type request struct {
	lane *lane
	at   time.Time
}

func newWalk(cfg Config) walk {
	return walk{cfg: cfg, lanes: map[string]*lane{}, out: map[pubkey.Key]request{}}
}

// resume sets the places at which an earlier process has stopped.
func (w *walk) resume(places map[string]Cursor) { w.resumed = places }

// begin starts a new walk. The requests that wait for their answers still do.
func (w *walk) begin() {
	w.lanes, w.order, w.turn, w.asked, w.resumed = map[string]*lane{}, nil, 0, 0, nil
}

// count sets how many tokens each host has left. A count still has the tokens whose requests wait,
// and those that failed.
func (w *walk) count(counts []Count) {
	for _, l := range w.order {
		l.left = 0
	}
	for _, count := range counts {
		l := w.lanes[count.Host]
		if l == nil && len(w.order) >= maxLanes {
			continue // the next walk finds it
		}
		if l == nil {
			l = &lane{host: count.Host, perSecond: firstWindow / windowTime.Seconds()}
			l.place = w.resumed[count.Host]
			l.read = l.place
			w.lanes[count.Host] = l
			w.order = append(w.order, l)
		}
		if !l.ended || len(l.queue) > 0 {
			l.left = max(count.Tokens-int64(l.out)-l.failed, 0)
		}
	}
}

// toRead returns the names of all hosts, and the places of the hosts that have few tokens queued
// and more to read. done is true if no token is left to read or to ask for.
func (w *walk) toRead() (hosts []string, places []Place, done bool) {
	done = true
	for _, l := range w.order {
		hosts = append(hosts, l.host)
		if !l.ended && len(l.queue) < max(w.cfg.page/2, 1) {
			places = append(places, Place{l.host, l.read})
		}
		done = done && l.ended && len(l.queue) == 0
	}
	return hosts, places, done
}

// add queues the tokens that were read after the places. If a host got less than a page, its class
// has no more tokens, and its next read is of the next class.
func (w *walk) add(places []Place, wanted []Wanted) {
	read := map[string]int{}
	for i := range wanted {
		l := w.lanes[wanted[i].Host]
		if l == nil {
			continue
		}
		read[l.host]++
		l.queue = append(l.queue, wanted[i])
		l.read = Cursor{wanted[i].Class, wanted[i].Mint.String()}
	}
	whole := len(wanted) < w.cfg.pages // else the bound of all hosts has cut off tokens
	for _, place := range places {
		l := w.lanes[place.Host]
		if l == nil || !whole || read[place.Host] >= w.cfg.page {
			continue
		}
		if l.read = (Cursor{Class: place.After.Class + 1}); l.read.Class >= classes {
			l.ended = true
		}
	}
}

// window is how many requests of the host may wait for their answers.
func (l *lane) window() int {
	return int(min(max(minWindow, math.Ceil(l.perSecond*windowTime.Seconds())), maxWindow))
}

// next takes the tokens whose documents may be asked for now, at most limit of them. The hosts take
// turns.
func (w *walk) next(now time.Time, limit int) (list []Wanted) {
	for i := range w.order {
		l := w.order[(w.turn+i)%len(w.order)]
		n := min(l.window()-l.out, len(l.queue), limit-len(list), maxOut-len(w.out))
		if n <= 0 {
			continue
		}
		for _, wanted := range l.queue[:n] {
			l.sent(w, wanted.Mint, now)
		}
		list = append(list, l.queue[:n]...)
		l.place = Cursor{l.queue[n-1].Class, l.queue[n-1].Mint.String()}
		l.queue = l.queue[n:]
	}
	if len(w.order) > 0 {
		w.turn = (w.turn + 1) % len(w.order)
	}
	w.asked += int64(len(list))
	return list
}

// sent notes that a request was made. It replaces an earlier request for the same mint.
func (l *lane) sent(w *walk, mint pubkey.Key, now time.Time) {
	if before, ok := w.out[mint]; ok {
		before.lane.out--
	}
	w.out[mint] = request{l, now}
	l.out++
	l.left = max(l.left-1, 0)
}

// answer is what became of a request.
type answer int

const (
	answerRead answer = iota
	answerFailed
	// answerBusy says that there was no room for another request of the host: then its window
	// becomes smaller.
	answerBusy
)

// answered notes the answer to a request, if there is one of the mint.
func (w *walk) answered(mint pubkey.Key, how answer) {
	request, ok := w.out[mint]
	if !ok {
		return
	}
	delete(w.out, mint)
	request.lane.out--
	if how == answerBusy {
		request.lane.perSecond /= 2
	} else {
		request.lane.came++
	}
	if how != answerRead {
		request.lane.failed++
	}
}

// look updates the hosts' rates by the answers that came since the last call, which was since ago.
// It forgets requests that nobody has answered within patience.
func (w *walk) look(now time.Time, since time.Duration) {
	for _, l := range w.order {
		if l.out == 0 && l.came == 0 {
			continue // nothing was asked
		}
		share := min(since.Seconds()/5, 1) // a mean over about five seconds
		l.perSecond += share * (float64(l.came)/since.Seconds() - l.perSecond)
		l.came = 0
	}
	for mint, request := range w.out {
		if now.Sub(request.at) > patience {
			delete(w.out, mint)
			request.lane.out--
		}
	}
}

// forget counts all requests that wait as answered.
func (w *walk) forget() {
	for mint := range w.out {
		w.answered(mint, answerRead)
	}
}

// cursors returns the place of the walk by host. A host that is done has a place behind the last
// class.
func (w *walk) cursors() map[string]Cursor {
	places := make(map[string]Cursor, len(w.order))
	for _, l := range w.order {
		if places[l.host] = l.place; l.ended && len(l.queue) == 0 {
			places[l.host] = Cursor{Class: classes}
		}
	}
	return places
}

// Progress is how far a walk is.
type Progress struct {
	// Left is how many tokens have a URI and neither a document nor a try in this walk.
	Left int64
	// Hosts is how many hosts have such tokens.
	Hosts int
	// PerSecond is how many requests were answered a second lately.
	PerSecond float64
	// LeftFor is how long it takes, at the hosts' rates, until the last host is done; 0 if that is
	// not known.
	LeftFor time.Duration
}

// longestLeft bounds Progress.LeftFor.
const longestLeft = 365 * 24 * time.Hour

func (w *walk) progress() (p Progress) {
	known := true
	for _, l := range w.order {
		left := l.left + int64(l.out)
		if left == 0 {
			continue
		}
		p.PerSecond += l.perSecond
		p.Left += left
		p.Hosts++
		if l.perSecond < 0.001 {
			known = false
			continue
		}
		seconds := min(float64(left)/l.perSecond, longestLeft.Seconds())
		p.LeftFor = max(p.LeftFor, time.Duration(seconds*float64(time.Second)))
	}
	if !known {
		p.LeftFor = 0
	}
	return p
}
