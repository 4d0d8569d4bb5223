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

// What all connections of one address may send together: a burst, and a rate per second. A normal
// client sends one frame for a call and one for a message. A client that floods the server, with
// calls that it cancels at once, settings or pings, sends as many as it can.
//
// Window updates have a limit of their own, because their number depends on how much a client
// reads.
const (
	framesFree, framesPerSecond   = 5_000, 1_000
	updatesFree, updatesPerSecond = 50_000, 20_000
	// A request with 50,000 addresses has 2.3 MB, and each change of a filter sends all of it
	// again.
	bytesFree, bytesPerSecond = 32 << 20, 4 << 20
	// connectionFrames is how many frames a new connection counts as, because of its TLS handshake:
	// an address may open 200 connections a second.
	connectionFrames = 5
	// longestWait is the longest delay of a client's bytes. A connection that would have to wait
	// longer is closed.
	longestWait = 30 * time.Second
)

// budget limits what one address sends, by three token buckets. When a bucket is empty, the server
// reads later from this address's connections, and from no others.
type budget struct{ frames, updates, bytes *rate.Limiter }

func newBudget() *budget {
	return &budget{rate.NewLimiter(framesPerSecond, framesFree), rate.NewLimiter(updatesPerSecond, updatesFree), rate.NewLimiter(bytesPerSecond, bytesFree)}
}

// full returns whether all buckets are full, as in a new budget.
func (b *budget) full(now time.Time) bool {
	return b.frames.TokensAt(now) >= framesFree && b.updates.TokensAt(now) >= updatesFree && b.bytes.TokensAt(now) >= bytesFree
}

// take charges c and returns how long the sender has to wait. If that is longer than longestWait,
// it charges nothing: the connection is closed, and the debt of its address does not grow.
func (b *budget) take(now time.Time, c cost) (wait time.Duration) {
	var taken []*rate.Reservation
	for _, part := range []struct {
		from *rate.Limiter
		n    int
	}{{b.frames, c.frames}, {b.updates, c.updates}, {b.bytes, c.bytes}} {
		// A single reservation must not exceed the burst.
		for n := part.n; n > 0; n -= part.from.Burst() {
			taken = append(taken, part.from.ReserveN(now, min(n, part.from.Burst())))
		}
		if n := len(taken); n > 0 {
			wait = max(wait, taken[n-1].DelayFrom(now))
		}
	}
	if wait > longestWait {
		// Cancel the latest first: CancelAt does not give back tokens that later reservations rely
		// on.
		for _, r := range slices.Backward(taken) {
			r.CancelAt(now)
		}
	}
	return wait
}

// cost is what the bytes that a client sent count as.
type cost struct{ frames, updates, bytes int }

// prefaceBytes is the length of an HTTP/2 client's preface, frameHead that of a frame header (RFC
// 9113, 3.4 and 4.1).
const prefaceBytes, frameHead = len(http2.ClientPreface), 9

// traffic counts the HTTP/2 frames in a client's bytes as they pass. It does not validate them: the
// server does.
type traffic struct {
	// http2 is set for HTTP/2. Other connections have no frames: only their bytes count.
	http2 bool
	began bool // the preface was counted
	head  [frameHead]byte
	got   int  // bytes of head that were read
	left  int  // bytes until the next frame header
	data  bool // the current frame has type DATA
}

// count returns the cost of the client's next bytes. In HTTP/2 only the content of DATA frames
// counts as bytes.
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

// pay charges c to the connection's budget and waits as long as take returns. It returns an error
// if the wait would be too long, or if the connection or the server closes meanwhile.
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
