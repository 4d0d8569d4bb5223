package documents

import (
	"math"
	"time"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

const (
	// ahead is for how much time requests are written ahead of their answers.
	ahead = 10 * time.Second
	// fewAhead and manyAhead bound the requests written ahead for one host.
	fewAhead, manyAhead = 8, 4000
	// firstAhead is how many are written ahead for a host that has not answered yet.
	firstAhead = 64
	// maxOut is how many requests may wait for their answer. After patience one counts as answered.
	maxOut   = 20_000
	patience = 10 * time.Minute
	// mostLanes bounds the hosts of one walk.
	mostLanes = 5000
)

// walk is where the walk is at each host, and which requests wait for their answer.
type walk struct {
	cfg   Config
	lanes map[string]*lane
	order []*lane // in the order in which they were found
	turn  int     // the lane that is asked first
	out   map[pubkey.Key]request
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
	out   int
	// failed counts the documents that could not be read: they stay without one.
	failed int64
	// perSecond is a moving mean of the answers, came counts those since the last look.
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

// resume sets the places of an earlier process.
func (w *walk) resume(places map[string]Cursor) { w.resumed = places }

// begin starts the walk anew. What waits for its answer still does.
func (w *walk) begin() {
	w.lanes, w.order, w.turn, w.asked, w.resumed = map[string]*lane{}, nil, 0, 0, nil
}

// count takes over how many tokens each host has.
func (w *walk) count(counts []Count) {
	for _, l := range w.order {
		l.left = 0
	}
	for _, count := range counts {
		l := w.lanes[count.Host]
		if l == nil && len(w.order) >= mostLanes {
			continue // the next walk finds it
		}
		if l == nil {
			l = &lane{host: count.Host, perSecond: firstAhead / ahead.Seconds()}
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

// low returns the names of all hosts, and the places of those that have few tokens left to ask for;
// done is true if nothing is left to read or to ask for.
func (w *walk) low() (hosts []string, places []Place, done bool) {
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

// add queues what was read after the places. A host of whose class not a whole page is left goes on
// to the next class.
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
	whole := len(wanted) < w.cfg.pages
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

// window is how many requests of the host may wait for their answer.
func (l *lane) window() int {
	return int(min(max(fewAhead, math.Ceil(l.perSecond*ahead.Seconds())), manyAhead))
}

// next takes what may be asked for now, at most most; the hosts take turns.
func (w *walk) next(now time.Time, most int) (list []Wanted) {
	for i := range w.order {
		l := w.order[(w.turn+i)%len(w.order)]
		n := min(l.window()-l.out, len(l.queue), most-len(list), maxOut-len(w.out))
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
	// answerBusy is that of a host that had no room: then fewer are written ahead.
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

// look updates the rates of answers, since a time ago, and forgets requests that nobody answers.
func (w *walk) look(now time.Time, since time.Duration) {
	for _, l := range w.order {
		if l.out == 0 && l.came == 0 {
			continue // nothing was asked
		}
		share := min(since.Seconds()/5, 1)
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

// forget takes all requests for answered.
func (w *walk) forget() {
	for mint := range w.out {
		w.answered(mint, answerRead)
	}
}

// cursors are where the walk is, by host.
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
	// PerSecond is how many were answered a second lately.
	PerSecond float64
	// LeftFor is how long it takes at that rate until the last host is done; 0 if that is not
	// known.
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
