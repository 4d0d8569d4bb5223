package stream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/time/rate"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/access/listen"
	"github.com/mintlake/mintlake/internal/panics"
	"github.com/mintlake/mintlake/internal/steady"
	"github.com/mintlake/mintlake/internal/wsclient"
)

// keyQuery carries the RPC key, from the specification.
const keyQuery = "apiKey"

// maxMessageBytes bounds one message of a WebSocket client; 50,000 addresses take 2.4 MB.
const maxMessageBytes = 4 << 20

const formWebSocket = "websocket"

// serveWebSocket checks the request, upgrades it and begins the session.
func (s *Server) serveWebSocket(w http.ResponseWriter, r *http.Request) {
	if !s.origins.AllowsRequest(r) {
		s.refuse(w, http.StatusForbidden, "origin", fmt.Sprintf("pages of %.100q may not open this stream: its operator allows origins with --stream-allowed-origins",
			r.Header.Get("Origin")))
		return
	}
	lease, refused := s.admitWebSocket(r)
	if refused != nil {
		s.refuseKey(w, refused)
		return
	}
	sub, err := s.hub.add(lease.ID(), formWebSocket, s.cfg.buffer)
	if err != nil {
		lease.Close()
		w.Header().Set("Retry-After", listen.RetryAfter)
		s.refuse(w, http.StatusServiceUnavailable, "full", err.Error())
		return
	}
	session := newSession(s, sub, lease)
	upgrade := &upgrader{ResponseWriter: w}
	// No compression: for each client it would cost more than everything else together.
	conn, err := websocket.Accept(upgrade, r, &websocket.AcceptOptions{
		// origins are checked above: the library's patterns know no schemes
		InsecureSkipVerify: true,
		CompressionMode:    websocket.CompressionDisabled,
		OnPongReceived:     session.ponged,
		OnPingReceived:     session.answersPing,
	})
	if err != nil {
		s.hub.remove(sub)
		lease.Close()
		s.metrics.refused.WithLabelValues(formWebSocket, "handshake").Inc()
		return // Accept has answered
	}
	conn.SetReadLimit(maxMessageBytes)
	s.metrics.subscriptions.WithLabelValues(formWebSocket).Inc()
	session.conn, session.frames = conn, upgrade.conn
	session.frames.lease = lease
	// The session runs in a goroutine of its own, so that this one returns and net/http frees the
	// request with its buffers. The hub ends the session.
	go session.run(context.WithoutCancel(r.Context()))
}

// session is one WebSocket client.
type session struct {
	server  *Server
	sub     *subscriber
	conn    *websocket.Conn
	frames  *frameConn
	lease   *keys.Lease
	replies chan reply
	filters map[uint64]*filter
	// watches are the subscriptions to slots and roots.
	watches map[uint64]*watch
	// replays end the replays of subscriptions, which may be over.
	replays map[uint64]context.CancelFunc
	// next is the number of the latest subscription; only receive uses it. promised is a copy of
	// next that send reads; it is set before the subscription can have deliveries. introduced is
	// the latest number that the client was sent.
	next       uint64
	promised   atomic.Uint64
	introduced uint64
	// life is the context of the session: it ends with it.
	life context.Context
	// pinged is when the ping was sent after which neither a pong nor a message came, in Unix
	// nanoseconds; 0 if there is none.
	pinged atomic.Int64
	// refusals limits error answers: web3.js repeats a refused call at once, some five hundred
	// times a second.
	refusals *rate.Limiter
	// calls and pings limit what the client sends.
	calls, pings *rate.Limiter
}

// What a client may send over one connection: a burst, and a rate per second. Further messages
// wait, further pings get no pong.
const (
	callsFree, callsPerSecond = 1_000, 200
	pingsFree, pingsPerSecond = 100, 10
)

// reply is the answer to a message. Once the client has it, it knows all subscriptions up to
// number.
type reply struct {
	text   []byte
	number uint64
}

// refusalsFree is how many error answers a connection gets without delay; further ones come at
// Config.refusalsPerSecond.
const refusalsFree = 10

func newSession(s *Server, sub *subscriber, lease *keys.Lease) *session {
	return &session{
		server: s, sub: sub, lease: lease, replies: make(chan reply, 4), filters: map[uint64]*filter{}, watches: map[uint64]*watch{}, replays: map[uint64]context.CancelFunc{},
		refusals: rate.NewLimiter(rate.Limit(s.cfg.refusalsPerSecond), refusalsFree),
		calls:    rate.NewLimiter(callsPerSecond, callsFree), pings: rate.NewLimiter(pingsPerSecond, pingsFree),
	}
}

// run serves the session until the client leaves or breaks the protocol, the hub gives it up, its
// key's lease ends, or something panics.
func (c *session) run(ctx context.Context) {
	defer c.lease.Close()
	defer c.server.hub.remove(c.sub)
	defer c.conn.CloseNow() //nolint:errcheck // nothing is left to do about it
	ctx, cancel := context.WithCancel(ctx)
	c.life = ctx
	var both sync.WaitGroup
	over := make(chan struct{}, 2)
	for _, work := range []func(context.Context){c.receive, c.send} {
		both.Go(func() {
			defer panics.Catch(c.server.deps.Logger, c.server.metrics.panics, c.panicked)
			work(ctx)
			over <- struct{}{}
		})
	}
	select {
	case <-over:
	case <-c.sub.ended:
		c.sayGoodbye()
	case <-c.lease.Ended():
		c.sub.end(c.lease.Why())
		c.sayGoodbye()
	}
	cancel()              // ends receive: the library closes a connection whose read is canceled
	_ = c.conn.CloseNow() // ends a write that waits for the client
	both.Wait()
}

// panicked ends a session in which something panicked.
func (c *session) panicked() { c.sub.end(errInternal) }

// sayGoodbye closes the connection with the reason. It waits at most goodbyeTimeout for the client
// to read that.
func (c *session) sayGoodbye() {
	code := websocket.StatusPolicyViolation
	switch {
	case errors.Is(c.sub.why, errStops):
		code = websocket.StatusGoingAway
	case errors.Is(c.sub.why, errInternal):
		code = websocket.StatusInternalError
	}
	wsclient.CloseWithin(c.server.cfg.goodbyeTimeout, func() error {
		c.frames.stop()
		return c.conn.Close(code, c.sub.why.Error())
	})
}

// receive reads and executes the client's messages until the connection fails. It waits if
// messages, or error answers, come too fast.
func (c *session) receive(ctx context.Context) {
	for {
		message, ok := wsclient.ReadText(ctx, c.conn)
		if !ok {
			return
		}
		c.pinged.Store(0) // the client lives, though its pong may come behind calls that wait here
		if c.calls.Wait(ctx) != nil {
			return
		}
		var text []byte
		var refused bool
		done := make(chan struct{})
		// A goroutine of its own handles the message. It needs a deep stack, which this goroutine
		// would keep until the client leaves.
		go func() {
			defer close(done)
			defer panics.Catch(c.server.deps.Logger, c.server.metrics.panics, c.panicked)
			text, refused = c.handle(message)
		}()
		<-done
		if text == nil { // it panicked, so run ends the session
			<-ctx.Done()
			return
		}
		if refused && c.refusals.Wait(ctx) != nil {
			return
		}
		select {
		case c.replies <- reply{text, c.next}:
		case <-ctx.Done():
			return
		}
	}
}

// send sends answers, deliveries and pings until the connection fails.
func (c *session) send(ctx context.Context) {
	ping := time.NewTicker(c.server.cfg.pingInterval)
	defer ping.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case answer := <-c.replies:
			c.introduced = answer.number
			err = c.write(frameText, answer.text)
		case <-c.sub.notes.ready:
			err = c.notifyAll(ctx)
		case <-c.sub.out.ready:
			err = c.notifyAll(ctx)
		case <-ping.C:
			err = c.ping()
		}
		if err != nil {
			return
		}
	}
}

func (c *session) write(kind byte, parts ...[]byte) error {
	return c.frames.send(c.server.cfg.writeTimeout, kind, parts...)
}

var errNoPong = errors.New("no pong came")

// ping sends a ping, unless nothing came since the last one. If that one is older than
// writeTimeout, it returns errNoPong.
func (c *session) ping() error {
	now := steady.Now()
	switch at := c.pinged.Load(); {
	case at == 0:
		c.pinged.Store(now)
		return c.write(framePing)
	case now-at > int64(c.server.cfg.writeTimeout):
		return errNoPong
	}
	return nil
}

func (c *session) ponged(context.Context, []byte) { c.pinged.Store(0) }

// answersPing returns whether a ping of the client gets a pong.
func (c *session) answersPing(context.Context, []byte) bool { return c.pings.Allow() }

// notifyAll sends all deliveries that wait, several messages in one write: a block has more than
// one for most clients.
func (c *session) notifyAll(ctx context.Context) error {
	out := newFrames()
	defer out.release()
	for d, ok := c.pop(); ok; d, ok = c.pop() {
		if err := c.introduce(ctx, d, out); err != nil {
			return err
		}
		if d.note != nil {
			message, err := d.notification(c.server.recent.root())
			if err != nil {
				return err
			}
			out.add(frameText, message)
			continue
		}
		// One message for each subscription that wants the transaction.
		for _, want := range d.wants {
			result, err := d.tx.notification(want.shapeOf(d.tx))
			if err != nil { // a record that cannot be shown is no reason to end the connection
				c.server.metrics.badRecords.Inc()
				continue
			}
			out.add(frameText, notificationHead, []byte(want.name), notificationMiddle, result, notificationTail)
			if len(out.bytes) < framesSent {
				continue
			}
			if err := c.frames.sendWhole(c.server.cfg.writeTimeout, out.bytes); err != nil {
				return err
			}
			out.bytes = out.bytes[:0]
		}
	}
	if len(out.bytes) == 0 {
		return nil
	}
	return c.frames.sendWhole(c.server.cfg.writeTimeout, out.bytes)
}

// introduce appends to out the answers that tell the client the numbers of the delivery's
// subscriptions: clients drop messages with a number that they do not know yet.
func (c *session) introduce(ctx context.Context, d delivery, out *frames) error {
	for c.introduced < c.promised.Load() && d.newest() > c.introduced {
		select {
		case answer := <-c.replies:
			c.introduced = answer.number
			out.add(frameText, answer.text)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// newest returns the highest number of the delivery's subscriptions.
func (d delivery) newest() (number uint64) {
	if d.watch != nil {
		number, _ = strconv.ParseUint(d.watch.name, 10, 64) // names of WebSockets are numbers
	}
	for _, want := range d.wants {
		n, _ := strconv.ParseUint(want.name, 10, 64)
		number = max(number, n)
	}
	return number
}

// pop returns the next delivery to send: notes first, as they do not wait behind transactions.
func (c *session) pop() (delivery, bool) {
	if d, ok := c.sub.notes.pop(); ok {
		return d, true
	}
	return c.sub.out.pop()
}

// The parts of a notification around the subscription's number and the transaction's JSON.
var (
	notificationHead   = []byte(`{"jsonrpc":"2.0","method":"transactionNotification","params":{"subscription":`)
	notificationMiddle = []byte(`,"result":`)
	notificationTail   = []byte(`}}`)
)

// publish makes the session's subscriptions the filters and watches of its subscriber; each is
// named by its subscription's number. Each filter gets a watch for gaps and one for stalls, too.
func (c *session) publish() error {
	filters := make([]namedFilter, 0, len(c.filters))
	watches := slices.Collect(maps.Values(c.watches))
	for _, id := range slices.Sorted(maps.Keys(c.filters)) {
		name := strconv.FormatUint(id, 10)
		filters = append(filters, namedFilter{name, c.filters[id]})
		at, gate := c.filters[id].at, c.filters[id].gate
		watches = append(watches, &watch{kind: watchStatus, name: name, at: at}, &watch{kind: watchGaps, name: name, ordered: true, at: at, gate: gate})
	}
	c.server.hub.setWatches(c.sub, watches)
	return c.server.hub.setFilters(c.sub, filters)
}
