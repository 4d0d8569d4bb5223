package stream

import (
	"encoding/binary"
	"errors"
	"net"
	"slices"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/time/rate"
)

// What one address may send, all of its connections together: what is free, and what comes anew
// each second. A client that has much to ask sends one frame for a call and one for a message. One
// that floods (calls that it takes back at once, settings, pings) sends as many as it can.
//
// Window updates are a matter of how much a client reads, so they are counted by themselves.
const (
	framesFree, framesPerSecond   = 5_000, 1_000
	updatesFree, updatesPerSecond = 50_000, 20_000
	// A request with 50,000 addresses has 2.3 MB; each change of a filter sends it anew.
	bytesFree, bytesPerSecond = 32 << 20, 4 << 20
	// connectionFrames is how many frames a new connection counts as: a TLS handshake costs a
	// thousand times as much as a frame.
	connectionFrames = 5
	// longestWait is how long a client's bytes may wait before its connection is closed.
	longestWait = 30 * time.Second
)

// budget is what one client may send. Beyond it the client's bytes wait: its own connections get
// slow, and nobody else's.
type budget struct{ frames, updates, bytes *rate.Limiter }

func newBudget() *budget {
	return &budget{rate.NewLimiter(framesPerSecond, framesFree), rate.NewLimiter(updatesPerSecond, updatesFree), rate.NewLimiter(bytesPerSecond, bytesFree)}
}

// full says that the budget is as one that was never used.
func (b *budget) full(now time.Time) bool {
	return b.frames.TokensAt(now) >= framesFree && b.updates.TokensAt(now) >= updatesFree && b.bytes.TokensAt(now) >= bytesFree
}

// take is how long what was sent has to wait. What would have to wait longer than longestWait takes
// nothing: its connection is closed, and the address does not owe more and more.
func (b *budget) take(now time.Time, c cost) (wait time.Duration) {
	var taken []*rate.Reservation
	for _, part := range []struct {
		from *rate.Limiter
		n    int
	}{{b.frames, c.frames}, {b.updates, c.updates}, {b.bytes, c.bytes}} {
		// It may be more than the limiter gives at one time.
		for n := part.n; n > 0; n -= part.from.Burst() {
			taken = append(taken, part.from.ReserveN(now, min(n, part.from.Burst())))
		}
		if n := len(taken); n > 0 {
			wait = max(wait, taken[n-1].DelayFrom(now))
		}
	}
	if wait > longestWait {
		// The latest first, or what it took is not given back.
		for _, r := range slices.Backward(taken) {
			r.CancelAt(now)
		}
	}
	return wait
}

// cost is what bytes of a client count as.
type cost struct{ frames, updates, bytes int }

// prefaceBytes is the length of the client's preface of HTTP/2, frameHead that of a frame's header
// (RFC 9113, 3.4 and 4.1).
const prefaceBytes, frameHead = len(http2.ClientPreface), 9

// traffic reads the frames of a client as they pass. It does not check them, which is the server's
// to do.
type traffic struct {
	// http2 says that there are frames; otherwise there are only bytes.
	http2 bool
	began bool
	head  [frameHead]byte
	got   int // of head
	left  int // bytes until the next header
	data  bool
}

// count is what the client's next bytes cost.
func (t *traffic) count(b []byte) (c cost) {
	if !t.http2 {
		return cost{bytes: len(b)}
	}
	if !t.began {
		t.began, t.left = true, prefaceBytes
	}
	for len(b) > 0 {
		if t.left > 0 {
			n := min(t.left, len(b))
			if t.data {
				c.bytes += n
			}
			t.left, b = t.left-n, b[n:]
			continue
		}
		n := copy(t.head[t.got:], b)
		t.got, b = t.got+n, b[n:]
		if t.got < frameHead {
			continue
		}
		t.got, t.left = 0, int(binary.BigEndian.Uint32(t.head[:4])>>8)
		kind := http2.FrameType(t.head[3])
		t.data = kind == http2.FrameData
		if kind == http2.FrameWindowUpdate {
			c.updates++
		} else {
			c.frames++
		}
	}
	return c
}

var errFlood = errors.New("the client sends faster than it may")

// pay waits until what the connection's client sent is paid for. What would take too long, or is
// not waited for because the connection or the server ends, is an error.
func (p *peeked) pay(c cost) error {
	if p.budget == nil {
		return nil
	}
	wait := p.budget.take(time.Now(), c)
	if wait <= 0 {
		return nil
	}
	p.of.metrics.floods.Inc()
	if wait > longestWait {
		p.of.metrics.connectionsEnded.WithLabelValues(endedFlood).Inc()
		return errFlood
	}
	over := time.NewTimer(wait)
	defer over.Stop()
	select {
	case <-over.C:
		return nil
	case <-p.gone:
	case <-p.of.done:
	}
	return net.ErrClosed
}
