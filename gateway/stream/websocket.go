package stream

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/access/listen"
	"github.com/mintlake/mintlake/gateway/socket"
)

// keyQuery is the query parameter that carries the RPC key.
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
	c := newSession(s, sub, lease)
	if c.Accept(w, r) != nil { // Accept has answered the request
		s.hub.remove(sub)
		lease.Close()
		s.metrics.refused.WithLabelValues(formWebSocket, "handshake").Inc()
		return
	}
	s.metrics.subscriptions.WithLabelValues(formWebSocket).Inc()
	// The session runs in a goroutine of its own, so that this one returns and net/http frees the
	// request with its buffers. The hub ends the session.
	go c.run(context.WithoutCancel(r.Context()))
}

// session is one WebSocket client.
type session struct {
	*socket.Session
	server  *Server
	sub     *subscriber
	lease   *keys.Lease
	replies chan reply
	filters map[uint64]*filter
	// watches are the subscriptions to slots and roots.
	watches map[uint64]*watch
	// replays has the functions that end the replays of subscriptions; a replay may be over
	// already.
	replays map[uint64]context.CancelFunc
	// next is the number of the latest subscription; only Handle and Answer use it, which never run
	// at the same time. promised is a copy of next for Send; it is set before the subscription can
	// have deliveries. introduced is the highest number that the client has been sent; only Send
	// uses it.
	next       uint64
	promised   atomic.Uint64
	introduced uint64
	// life is the context of replays: it ends with the session.
	life context.Context
}

// reply is the answer to a message. latest is the number of the client's latest subscription when
// the answer was made. A client that has the answer knows the ids of all subscriptions up to
// latest, so deliveries of these may follow.
type reply struct {
	text   []byte
	latest uint64
}

func newSession(s *Server, sub *subscriber, lease *keys.Lease) *session {
	cfg := socket.Config{Timings: s.timings, MessageBytes: maxMessageBytes, Logger: s.deps.Logger, Panics: s.metrics.panics}
	return &session{
		Session: socket.New(cfg, lease, sub.Ending), server: s, sub: sub, lease: lease, replies: make(chan reply, 4),
		filters: map[uint64]*filter{}, watches: map[uint64]*watch{}, replays: map[uint64]context.CancelFunc{},
	}
}

// run serves the session until it ends.
func (c *session) run(ctx context.Context) {
	defer c.lease.Close()
	defer c.server.hub.remove(c.sub)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.life = ctx
	c.Run(ctx, c)
}

// Answer implements socket.Client.
func (c *session) Answer(ctx context.Context, text []byte) {
	select {
	case c.replies <- reply{text, c.next}:
	case <-ctx.Done():
	}
}

// Send implements socket.Client: it sends answers, deliveries and pings.
func (c *session) Send(ctx context.Context) {
	ping := c.Pings()
	defer ping.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case answer := <-c.replies:
			c.introduced = answer.latest
			err = c.Write(answer.text)
		case <-c.sub.notes.ready:
			err = c.notifyAll(ctx)
		case <-c.sub.out.ready:
			err = c.notifyAll(ctx)
		case <-ping.C:
			err = c.Ping()
		}
		if err != nil {
			return
		}
	}
}

// notifyAll sends all deliveries that wait. It sends several messages in one write, because a block
// brings more than one for most clients.
func (c *session) notifyAll(ctx context.Context) error {
	out := socket.NewFrames()
	defer out.Release()
	for d, ok := c.pop(); ok; d, ok = c.pop() {
		if err := c.introduce(ctx, d, out); err != nil {
			return err
		}
		if d.note != nil {
			text, err := d.notification(c.server.recent.root())
			if err != nil {
				return err
			}
			out.Add(text)
			continue
		}
		// One message for each subscription that wants the transaction.
		for _, want := range d.wants {
			result, err := d.tx.notification(want.shapeOf(d.tx))
			if err != nil { // one transaction that cannot be encoded does not end the connection
				c.server.metrics.badRecords.Inc()
				continue
			}
			out.Add(notificationHead, []byte(want.name), notificationMiddle, result, notificationTail)
			if !out.Full() {
				continue
			}
			if err := c.Flush(out); err != nil {
				return err
			}
		}
	}
	return c.Flush(out)
}

// introduce waits for the answers that tell the client the numbers of the delivery's subscriptions,
// and appends them to out before the delivery: clients drop notifications with a number that they
// do not know yet.
func (c *session) introduce(ctx context.Context, d delivery, out *socket.Frames) error {
	for c.introduced < c.promised.Load() && d.newest() > c.introduced {
		select {
		case answer := <-c.replies:
			c.introduced = answer.latest
			out.Add(answer.text)
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
	return c.server.hub.set(c.sub, filters, watches)
}
