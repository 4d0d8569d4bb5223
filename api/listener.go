package api

import (
	"cmp"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mintlake/mintlake/api/limits"
)

// A refused request that is still being sent is read on for this long and this far before its
// connection is closed: closing with unread bytes makes TCP throw away the response that says why.
const (
	lingerTime  = 2 * time.Second
	lingerBytes = 8 << 20
)

// deadlineJitter is the part of the read time-out by which a connection's deadlines may come later:
// one in so many. A thousand clients that began to dawdle at once do not end at once then, which
// would hold up others for a tenth of a second.
const deadlineJitter = 8

// evictShare is the part of the connections that is closed at once when there is no room: finding
// them costs a look at all.
const evictShare = 64

// Reasons for which a connection is refused, as labels.
const (
	refusedFull   = "full"
	refusedClient = "client"
)

// listenerConfig bounds what a listener takes.
type listenerConfig struct {
	// most connections at once; of one client that is no trusted proxy, perClient.
	most, perClient int
	proxies         limits.Proxies
	networks        limits.Networks
	// readTimeout is the server's; see deadlineJitter.
	readTimeout time.Duration
	// refused and evicted hear of every connection refused and closed.
	refused func(reason string)
	evicted func(count int)
}

// listener bounds the connections. When there is no room, those that have waited longest for a
// request are closed: idle ones and slow-loris clients alike, since bytes of a request that is not
// whole are no end of waiting. A connection whose request is being answered is never closed.
//
// It also knows the connections that have not sent anything yet. A server that stops would wait
// five seconds for them (browsers and HTTP clients open connections in advance), so they are closed
// at once.
type listener struct {
	net.Listener

	cfg     listenerConfig
	closing sync.Once
	mu      sync.Mutex
	open    map[*connection]struct{}
	clients *limits.Crowd // connections of each; trusted proxies are not in it
}

func newListener(l net.Listener, cfg listenerConfig) *listener {
	return &listener{Listener: l, cfg: cfg, open: map[*connection]struct{}{}, clients: limits.NewCrowd(cfg.perClient, cfg.networks)}
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &connection{Conn: accepted, listener: l, jitter: rand.N(l.cfg.readTimeout/deadlineJitter + 1)} //nolint:gosec // no secret
		c.since.Store(time.Now().UnixNano())
		if peer := peerOf(accepted); l.cfg.perClient > 0 && !l.cfg.proxies.Trust(peer) {
			c.client = l.cfg.proxies.Client(peer, "")
		}
		reason := l.admit(c)
		if reason == "" {
			return c, nil
		}
		l.cfg.refused(reason)
		refuse(accepted, reason)
	}
}

// admit takes the connection, or says why not.
func (l *listener) admit(c *connection) (reason string) {
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

// evict takes those that have waited longest off the list; it needs the lock.
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

// refuse says why and closes. The answer fits the socket's buffer, so nothing is waited for.
func refuse(c net.Conn, reason string) {
	e := newError(http.StatusServiceUnavailable, "the node has as many connections as it takes; try again in a second")
	if reason == refusedClient {
		e = newError(http.StatusTooManyRequests, "you have as many connections open as one client may; use them again")
	}
	_ = c.SetDeadline(time.Now().Add(time.Second))
	_, _ = c.Write(e.raw())
	_ = c.Close()
}

// Close implements net.Listener. The second time is no error: the server closes it too.
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

// connections is how many are open.
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

// remove needs the lock. The second time does nothing.
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

// connection knows whether and since when its next request is waited for. Read, Write and Close may
// come from several goroutines.
type connection struct {
	net.Conn

	listener *listener
	client   string // empty when its connections are not counted
	jitter   time.Duration
	since    atomic.Int64
	reading  atomic.Bool
	spoke    atomic.Bool
	linger   atomic.Bool
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
	c.since.Store(time.Now().UnixNano())
	return n, err
}

// SetReadDeadline implements net.Conn. That the connection is closed already is no error here: the
// server would panic, which ends the process; its next read or write fails anyway.
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
	if tcp, ok := c.Conn.(*net.TCPConn); ok && c.linger.Swap(false) && tcp.CloseWrite() == nil {
		_ = tcp.SetReadDeadline(time.Now().Add(lingerTime))
		_, _ = io.CopyN(io.Discard, tcp, lingerBytes)
	}
	return c.Conn.Close()
}
