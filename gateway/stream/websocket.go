package stream

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// keyQuery carries the RPC key, from the specification.
const keyQuery = "apiKey"

// maxMessageBytes bounds one message of a WebSocket client; a thousand addresses have 47 KB.
const maxMessageBytes = 128 << 10

const formWebSocket = "websocket"

// httpError is the body of every HTTP answer that is no success.
type httpError struct {
	StatusCode int    `json:"statusCode"`
	Name       string `json:"error"`
	Message    string `json:"message"`
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // a client that left has nothing to be told
}

func (s *Server) refuse(w http.ResponseWriter, status int, reason, message string) {
	s.metrics.refused.WithLabelValues(formWebSocket, reason).Inc()
	writeJSON(w, status, httpError{status, http.StatusText(status), message})
}

// serveHTTP answers HTTP/1.1: WebSockets on /, probes beside it.
func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case !s.gate.AdmitHost(r.Host):
		s.refuse(w, http.StatusForbidden, "host", "this endpoint runs without keys and answers to loopback host names only: configure a key (--rpc-keys) to publish it")
	case r.Method != http.MethodGet:
		s.refuse(w, http.StatusMethodNotAllowed, "http_method", "open a WebSocket, or call geyser.Geyser over gRPC")
	case r.URL.Path == "/healthz":
		writeJSON(w, http.StatusOK, map[string]any{"status": "ok", "slot": s.hub.slot.Load(), "subscribers": s.hub.count()})
	case r.URL.Path == "/readyz":
		s.serveReady(w)
	case r.URL.Path != "/":
		s.refuse(w, http.StatusNotFound, "path", "no such path: WebSockets are opened on /")
	case r.Header.Get("Upgrade") == "":
		writeJSON(w, http.StatusOK, map[string]string{
			"service": "mintlake transaction stream",
			"usage":   "gRPC: geyser.Geyser/Subscribe with the key in " + tokenHeader + "; WebSocket: this address with the key in " + keyQuery + ", then transactionSubscribe",
		})
	default:
		s.serveWebSocket(w, r)
	}
}

// serveReady says whether the topic is being read.
func (s *Server) serveReady(w http.ResponseWriter) {
	select {
	case <-s.fed:
		writeJSON(w, http.StatusOK, map[string]any{"status": "ok"})
	default:
		writeJSON(w, http.StatusServiceUnavailable, httpError{http.StatusServiceUnavailable, http.StatusText(http.StatusServiceUnavailable), "the topic cannot be read yet"})
	}
}

func (s *Server) serveWebSocket(w http.ResponseWriter, r *http.Request) {
	presented := r.URL.Query().Get(keyQuery)
	if _, ok := s.gate.Admit(presented); !ok {
		message := "the API key is not valid"
		if presented == "" {
			message = "an API key is required in the query parameter " + keyQuery
		}
		s.refuse(w, http.StatusUnauthorized, "unauthorized", message)
		return
	}
	sub, err := s.hub.add(s.cfg.Buffer)
	if err != nil {
		w.Header().Set("Retry-After", "5")
		s.refuse(w, http.StatusServiceUnavailable, "full", err.Error())
		return
	}
	defer s.hub.remove(sub)
	// No compression: it would cost more for each client than the whole rest.
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		OriginPatterns: s.origins, InsecureSkipVerify: s.anyPage, CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		s.metrics.refused.WithLabelValues(formWebSocket, "handshake").Inc()
		return // Accept has answered
	}
	defer conn.CloseNow() //nolint:errcheck // nothing is left to do about it
	conn.SetReadLimit(maxMessageBytes)
	s.metrics.subscriptions.WithLabelValues(formWebSocket).Inc()
	newSession(s, sub, conn).run(r.Context())
}

// session is one WebSocket client.
type session struct {
	server  *Server
	sub     *subscriber
	conn    *websocket.Conn
	replies chan []byte
	filters map[uint64]*filter
	next    uint64
}

func newSession(s *Server, sub *subscriber, conn *websocket.Conn) *session {
	return &session{server: s, sub: sub, conn: conn, replies: make(chan []byte, 16), filters: map[uint64]*filter{}}
}

// run ends when the client goes, breaks the protocol, or is given up.
func (c *session) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var both sync.WaitGroup
	over := make(chan struct{}, 2)
	for _, work := range []func(context.Context){c.receive, c.send} {
		both.Go(func() {
			work(ctx)
			over <- struct{}{}
		})
	}
	select {
	case <-over:
	case <-c.sub.ended:
		c.sayGoodbye()
	}
	cancel() // ends both: the library closes a connection whose read or write is canceled
	both.Wait()
}

// sayGoodbye tells why, if the client still takes messages.
func (c *session) sayGoodbye() {
	code := websocket.StatusPolicyViolation
	if errors.Is(c.sub.why, errStops) {
		code = websocket.StatusGoingAway
	}
	said := make(chan struct{})
	go func() {
		_ = c.conn.Close(code, c.sub.why.Error()) // a client that does not read cannot be told
		close(said)
	}()
	select {
	case <-said:
	case <-time.After(c.server.cfg.GoodbyeTimeout):
	}
}

func (c *session) receive(ctx context.Context) {
	for {
		kind, message, err := c.conn.Read(ctx)
		if err != nil {
			return
		}
		if kind != websocket.MessageText {
			_ = c.conn.Close(websocket.StatusUnsupportedData, "messages are JSON text")
			return
		}
		select {
		case c.replies <- c.handle(message):
		case <-ctx.Done():
			return
		}
	}
}

func (c *session) send(ctx context.Context) {
	ping := time.NewTicker(c.server.cfg.PingInterval)
	defer ping.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case reply := <-c.replies:
			err = c.write(ctx, reply)
		case d := <-c.sub.out:
			err = c.notify(ctx, d)
		case <-ping.C:
			err = c.ping(ctx)
		}
		if err != nil {
			return
		}
	}
}

func (c *session) write(ctx context.Context, message []byte) error {
	ctx, cancel := context.WithTimeout(ctx, c.server.cfg.WriteTimeout)
	defer cancel()
	return c.conn.Write(ctx, websocket.MessageText, message)
}

func (c *session) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.server.cfg.WriteTimeout)
	defer cancel()
	return c.conn.Ping(ctx)
}

// notify sends one message for each subscription that wants the transaction.
func (c *session) notify(ctx context.Context, d delivery) error {
	result, err := d.tx.notification()
	if err != nil {
		c.server.metrics.badRecords.Inc()
		return nil //nolint:nilerr // a record that cannot be shown is no reason to end the connection
	}
	for _, name := range d.names {
		const head, middle, tail = `{"jsonrpc":"2.0","method":"transactionNotification","params":{"subscription":`, `,"result":`, `}}`
		message := make([]byte, 0, len(head)+len(name)+len(middle)+len(result)+len(tail))
		message = append(append(append(append(append(message, head...), name...), middle...), result...), tail...)
		if err := c.write(ctx, message); err != nil {
			return err
		}
	}
	return nil
}

// publish makes the session's subscriptions the subscriber's filters. A filter's name is its subscription's number.
func (c *session) publish() {
	set := &filterSet{}
	for id, f := range c.filters {
		set.names = append(set.names, strconv.FormatUint(id, 10))
		set.filters = append(set.filters, f)
	}
	c.sub.filters.Store(set)
}
