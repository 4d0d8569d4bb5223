package api

import (
	"cmp"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mintlake/mintlake/access/limits"
	"github.com/mintlake/mintlake/access/listen"
	"github.com/mintlake/mintlake/internal/steady"
)

// A connection's read deadlines are delayed by a random part of readTimeout/deadlineJitter. So a
// thousand clients that began to send slowly at the same time do not time out at the same time,
// which would hold up others for a tenth of a second.
const deadlineJitter = 8

// If there is no room, 1/evictShare of the connections are closed together, because each search for
// them looks at all connections.
const evictShare = 64

// Why a connection is refused: metric labels.
const (
	refusedFull   = "full"
	refusedClient = "client"
)

// listenerConfig is the configuration of a listener.
type listenerConfig struct {
	// most bounds the open connections, perClient those of one client. If perClient is 0, there is
	// no bound per client. perClient does not apply to trusted proxies.
	most, perClient int
	proxies         limits.Proxies
	networks        limits.Networks
	// readTimeout is the server's read timeout: see deadlineJitter.
	readTimeout time.Duration
	// refused is called for each connection that is refused, and evicted with the number of
	// connections that are closed to make room.
	refused func(reason string)
	evicted func(count int)
}

// listener bounds the connections. If there is no room, it closes the connections that have waited
// longest for a request. Idle connections and those of slow-loris clients are alike here, because a
// part of a request does not end the wait. A connection whose request is being answered is never
// closed.
//
// closeQuiet closes the connections that have not sent anything yet. Browsers and HTTP clients open
// some in advance, and a server that stops would wait five seconds for them.
type listener struct {
	net.Listener

	cfg     listenerConfig
	closing sync.Once
	mu      sync.Mutex
	open    map[*connection]struct{}
	clients *limits.Crowd // counts the connections of each client, without trusted proxies
}

func newListener(l net.Listener, cfg listenerConfig) *listener {
	bounds := &listener{cfg: cfg, open: map[*connection]struct{}{}, clients: limits.NewCrowd(cfg.perClient, cfg.networks)}
	bounds.Listener = listen.WithReserve(l, bounds.admit)
	return bounds
}

// admit adds an accepted connection, or returns the function that refuses it.
func (l *listener) admit(accepted net.Conn) (admitted net.Conn, refusal func()) {
	c := &connection{Conn: accepted, listener: l, jitter: rand.N(l.cfg.readTimeout/deadlineJitter + 1)} //nolint:gosec // no secret
	c.since.Store(steady.Now())
	if peer := peerOf(accepted); l.cfg.perClient > 0 && !l.cfg.proxies.Trust(peer) {
		c.client = l.cfg.proxies.Client(peer, "")
	}
	reason := l.add(c)
	if reason == "" {
		return c, nil
	}
	return nil, func() {
		l.cfg.refused(reason)
		refuse(accepted, reason)
	}
}

// add adds the connection, or returns why it must be refused; empty: it was added.
func (l *listener) add(c *connection) (reason string) {
	l.mu.Lock()
	if c.client != "" && l.clients.Full(c.client) {
		l.mu.Unlock()
		return refusedClient
	}
	var evicted []*connection
	if len(l.open) >= l.cfg.most {
		evicted = l.evict()
	}
	full := len(l.open) >= l.cfg.most
	if !full {
		l.open[c] = struct{}{}
		if c.client != "" {
			l.clients.Add(c.client)
		}
	}
	l.mu.Unlock()
	for _, e := range evicted {
		_ = e.Conn.Close()
	}
	if len(evicted) > 0 {
		l.cfg.evicted(len(evicted))
	}
	if full {
		return refusedFull
	}
	return ""
}

// evict removes at most 1/evictShare of the connections, those that have waited longest for a
// request, and returns them. The caller holds the lock, and closes them afterwards.
func (l *listener) evict() []*connection {
	type waiting struct {
		*connection
		since int64
	}
	var list []waiting
	for c := range l.open {
		if c.reading.Load() {
			list = append(list, waiting{c, c.since.Load()})
		}
	}
	slices.SortFunc(list, func(a, b waiting) int { return cmp.Compare(a.since, b.since) })
	list = list[:min(len(list), max(1, l.cfg.most/evictShare))]
	evicted := make([]*connection, 0, len(list))
	for _, w := range list {
		l.remove(w.connection)
		evicted = append(evicted, w.connection)
	}
	return evicted
}

// refuse sends the reason and closes the connection. It does not block: the response fits into the
// socket's buffer.
func refuse(c net.Conn, reason string) {
	e := newError(http.StatusServiceUnavailable, "the node has as many connections as it takes; try again in a second")
	if reason == refusedClient {
		e = newError(http.StatusTooManyRequests, "you have as many connections open as one client may; use them again")
	}
	_ = c.SetDeadline(time.Now().Add(time.Second))
	_, _ = c.Write(e.raw())
	_ = c.Close()
}

// Close implements net.Listener. A second call does nothing, because the server closes the
// listener, too.
func (l *listener) Close() error {
	var err error
	l.closing.Do(func() { err = l.Listener.Close() })
	return err
}

// closeQuiet closes the connections that have not sent anything.
func (l *listener) closeQuiet() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		if !c.spoke.Load() {
			l.remove(c)
			_ = c.Conn.Close()
		}
	}
}

// connections counts the open connections.
func (l *listener) connections() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.open)
}

func (l *listener) forget(c *connection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove(c)
}

// remove removes the connection, if it is still there. The caller holds the lock.
func (l *listener) remove(c *connection) {
	if _, ok := l.open[c]; !ok {
		return
	}
	delete(l.open, c)
	if c.client == "" {
		return
	}
	l.clients.Remove(c.client)
}

// connection records whether it waits for a request, and since when. Read, Write and Close may be
// called by several goroutines.
type connection struct {
	net.Conn

	listener *listener
	client   string        // empty if its connections are not counted
	jitter   time.Duration // see deadlineJitter
	since    atomic.Int64  // when it was accepted or last written to, in nanoseconds of steady.Now
	reading  atomic.Bool   // it waits for bytes of a request
	spoke    atomic.Bool   // a read has returned
	linger   atomic.Bool   // see the function linger
}

// Read implements net.Conn.
func (c *connection) Read(p []byte) (int, error) {
	c.reading.Store(true)
	n, err := c.Conn.Read(p)
	c.reading.Store(false)
	if !c.spoke.Load() {
		c.spoke.Store(true)
	}
	return n, err
}

// Write implements net.Conn.
func (c *connection) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.since.Store(steady.Now())
	return n, err
}

// SetReadDeadline implements net.Conn. It returns no error, even if the connection is closed
// already: the server would panic, which ends the process. The next read or write of the connection
// fails anyway.
func (c *connection) SetReadDeadline(t time.Time) error {
	if !t.IsZero() {
		t = t.Add(c.jitter)
	}
	_ = c.Conn.SetReadDeadline(t)
	return nil
}

// SetWriteDeadline implements net.Conn; see SetReadDeadline.
func (c *connection) SetWriteDeadline(t time.Time) error {
	_ = c.Conn.SetWriteDeadline(t)
	return nil
}

// SetDeadline implements net.Conn; see SetReadDeadline.
func (c *connection) SetDeadline(t time.Time) error {
	_ = c.Conn.SetDeadline(t)
	return nil
}

// Close implements net.Conn.
func (c *connection) Close() error {
	defer c.listener.forget(c)
	if c.linger.Swap(false) {
		return listen.CloseLate(c.Conn)
	}
	return c.Conn.Close()
}
