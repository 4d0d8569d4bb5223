package subscriptions

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/gateway/message"
	"github.com/mintlake/mintlake/gateway/socket"
)

// maxMessageBytes bounds one message of a client; a signatureSubscribe has some 250 bytes.
const maxMessageBytes = 16 << 10

// session is one WebSocket connection.
type session struct {
	*socket.Session
	server *Server
	client string
	lease  *keys.Lease
	// pending counts the calls that wait for an upstream. The hub's lock guards it.
	pending int
	// queued counts the bytes in out.
	queued atomic.Int64
	// out holds messages for the client, in order.
	out chan []byte
	// subscriptions are those of the connection, by number. The hub's lock guards it.
	subscriptions map[uint64]*subscription
}

func newSession(s *Server, client string, lease *keys.Lease) *session {
	cfg := socket.Config{Timings: s.timings, MessageBytes: maxMessageBytes, Logger: s.deps.Logger, Panics: s.metrics.panics}
	return &session{
		Session: socket.New(cfg, lease, socket.NewEnding()), server: s, client: client, lease: lease, out: make(chan []byte, s.cfg.buffer),
		subscriptions: map[uint64]*subscription{},
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
	if c.Accept(w, r) != nil { // Accept has answered the request
		s.metrics.refused.WithLabelValues("handshake").Inc()
		return
	}
	c.Run(r.Context(), c)
}

// refuse answers in HTTP, before there is a WebSocket.
func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Retry-After", "5")
	w.WriteHeader(status)
	// the client may have left
	_, _ = w.Write(message.Failure(nil, refusal(message.CodeInternal, text)))
}

// queue adds a message to the client's buffer. If there is no room, it ends the session with
// errLagged. A buffer is bounded in messages and in bytes, and all buffers together are bounded in
// bytes.
func (c *session) queue(message []byte) {
	size := int64(len(message))
	if c.Over() {
		return
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
	c.End(errLagged)
}

// refuseLater queues the error answer to a call that has waited for an upstream. It delays the
// answer as all error answers are delayed, and drops it if the session has ended by then.
func (c *session) refuseLater(message []byte) {
	time.AfterFunc(c.RefusalDelay(), func() {
		h := c.server.hub
		h.mu.Lock()
		defer h.mu.Unlock()
		if _, here := h.sessions[c]; here {
			c.queue(message)
		}
	})
}

// Answer implements socket.Client.
func (c *session) Answer(_ context.Context, text []byte) { c.queue(text) }

// Send implements socket.Client: it sends what is queued, and pings.
func (c *session) Send(ctx context.Context) {
	ping := c.Pings()
	defer ping.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case text := <-c.out:
			err = c.Write(text)
			c.queued.Add(-int64(len(text)))
			c.server.queued.Add(-int64(len(text)))
		case <-ping.C:
			err = c.Ping()
		}
		if err != nil {
			return
		}
	}
}
