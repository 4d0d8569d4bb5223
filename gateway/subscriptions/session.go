package subscriptions

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/time/rate"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/gateway/message"
	"github.com/mintlake/mintlake/internal/panics"
	"github.com/mintlake/mintlake/internal/steady"
	"github.com/mintlake/mintlake/internal/wsclient"
)

// maxMessageBytes bounds one message of a client; a signatureSubscribe has some 250 bytes.
const maxMessageBytes = 16 << 10

// Token buckets limit the calls of a connection: all calls to callsPerSecond after the first
// callsFree, calls that get an error to Config.refusalsPerSecond after the first refusalsFree. So a
// client that repeats a refused call at once, as web3.js does, makes one call a second instead of
// some thousand.
const (
	callsPerSecond = 200
	callsFree      = 1000
	refusalsFree   = 10
)

// session is one WebSocket connection.
type session struct {
	server   *Server
	client   string
	lease    *keys.Lease
	conn     *websocket.Conn
	calls    *rate.Limiter
	refusals *rate.Limiter
	// pending counts the calls that wait for an upstream. The hub's lock guards it.
	pending int
	// queued counts the bytes in out.
	queued atomic.Int64
	// heard is when the client's last message was read, in Unix nanoseconds.
	heard atomic.Int64
	// out holds messages for the client, in order.
	out chan []byte
	// ended is closed when the session is given up; why is set before.
	ended chan struct{}
	once  sync.Once
	why   error
	// subscriptions are those of the connection, by number. The hub's lock guards it.
	subscriptions map[uint64]*subscription
}

func newSession(s *Server, client string, lease *keys.Lease) *session {
	return &session{
		server: s, client: client, lease: lease, out: make(chan []byte, s.cfg.buffer), ended: make(chan struct{}), subscriptions: map[uint64]*subscription{},
		calls: rate.NewLimiter(callsPerSecond, callsFree), refusals: rate.NewLimiter(rate.Limit(s.cfg.refusalsPerSecond), refusalsFree),
	}
}

// serve upgrades the request and serves the session until it ends.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, client string, lease *keys.Lease) {
	c := newSession(s, client, lease)
	if err := s.hub.addSession(c); err != nil {
		s.metrics.refused.WithLabelValues("full").Inc()
		status := http.StatusServiceUnavailable
		if errors.Is(err, errClientFull) {
			status = http.StatusTooManyRequests
		}
		refuse(w, status, err.Error())
		return
	}
	defer s.hub.removeSession(c)
	// The caller has checked the origin. No compression: messages are small.
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		s.metrics.refused.WithLabelValues("handshake").Inc()
		return // Accept has answered
	}
	defer conn.CloseNow() //nolint:errcheck // nothing is left to do about it
	conn.SetReadLimit(maxMessageBytes)
	c.conn = conn
	c.run(r.Context())
}

// refuse answers in HTTP, before there is a WebSocket.
func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Retry-After", "5")
	w.WriteHeader(status)
	// the client may have left
	_, _ = w.Write(message.Failure(nil, refusal(message.CodeInternal, text)))
}

// queue adds a message to the client's buffer. It ends the session with errLagged if there is no
// room: a buffer is bounded in messages and in bytes, and all buffers together are bounded in
// bytes.
func (c *session) queue(message []byte) {
	size := int64(len(message))
	select {
	case <-c.ended:
		return
	default:
	}
	mine, all := c.queued.Add(size), c.server.queued.Add(size)
	if mine <= c.server.cfg.bufferBytes && all <= c.server.cfg.bufferBytesTotal {
		select {
		case c.out <- message:
			return
		default:
		}
	}
	// The bytes stay counted until removeSession subtracts all that the session has queued.
	c.server.metrics.lagged.Inc()
	c.end(errLagged)
}

// refuseLater queues an error answer that comes after handle has returned. It is delayed like any
// other error answer, and dropped if the session has ended by then.
func (c *session) refuseLater(message []byte) {
	wait := c.refusals.Reserve().Delay()
	time.AfterFunc(wait, func() {
		h := c.server.hub
		h.mu.Lock()
		defer h.mu.Unlock()
		if _, here := h.sessions[c]; here {
			c.queue(message)
		}
	})
}

func (c *session) end(why error) {
	c.once.Do(func() {
		c.why = why
		close(c.ended)
	})
}

// run serves the session until the client leaves or breaks the protocol, the hub gives it up, its
// key's lease ends, or something panics.
func (c *session) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	over := make(chan struct{}, 3)
	for _, work := range []func(context.Context){c.receive, c.send, c.keepAlive} {
		all.Go(func() {
			defer func() { over <- struct{}{} }()
			defer panics.Catch(c.server.deps.Logger, c.server.metrics.panics, nil)
			work(ctx)
		})
	}
	select {
	case <-over:
	case <-c.ended:
		c.sayGoodbye()
	case <-c.lease.Ended():
		c.end(c.lease.Why())
		c.sayGoodbye()
	}
	cancel() // ends all: the library closes a connection whose read or write is canceled
	all.Wait()
}

// sayGoodbye closes the connection with the reason. It waits at most goodbyeTimeout for the client
// to read that.
func (c *session) sayGoodbye() {
	code := websocket.StatusPolicyViolation
	if errors.Is(c.why, errStops) {
		code = websocket.StatusGoingAway
	}
	wsclient.CloseWithin(c.server.cfg.goodbyeTimeout, func() error { return c.conn.Close(code, c.why.Error()) })
}

// receive reads and performs the client's messages until the connection fails.
func (c *session) receive(ctx context.Context) {
	for {
		message, ok := wsclient.ReadText(ctx, c.conn)
		if !ok {
			return
		}
		c.heard.Store(steady.Now())
		if c.calls.Wait(ctx) != nil {
			return
		}
		if refused := c.handle(message); refused != nil {
			// The wait comes before the answer, so a client that waits for answers before it calls
			// again is slowed down too.
			if c.refusals.Wait(ctx) != nil {
				return
			}
			c.queue(refused)
		}
	}
}

// keepAlive pings the client until it neither answers nor sends anything. A ping waits for its
// pong, which may come behind many calls: these are read no faster than their limits allow.
func (c *session) keepAlive(ctx context.Context) {
	ping := time.NewTicker(c.server.cfg.pingInterval)
	defer ping.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ping.C:
		}
		asked := steady.Now()
		if c.within(ctx, c.conn.Ping) != nil && c.heard.Load() < asked {
			return
		}
	}
}

// send sends what is queued until the connection fails.
func (c *session) send(ctx context.Context) {
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case message := <-c.out:
			err = c.within(ctx, func(ctx context.Context) error { return c.conn.Write(ctx, websocket.MessageText, message) })
			c.queued.Add(-int64(len(message)))
			c.server.queued.Add(-int64(len(message)))
			c.lease.Sent(len(message))
		}
		if err != nil {
			return
		}
	}
}

func (c *session) within(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.server.cfg.writeTimeout)
	defer cancel()
	return do(ctx)
}
