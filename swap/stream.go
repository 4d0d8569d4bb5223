package swap

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/mintlake/mintlake/access/keys"
)

// Bounds of streams.
const (
	// maxStreams is how many streams may be open in all, maxClientStreams how many of one client: a
	// key, or an address if no key is needed.
	maxStreams, maxClientStreams = 256, 8
	// streamAge is after how long a stream is ended, so that its client connects again, perhaps to
	// another node.
	streamAge = time.Hour
	// streamPatience is how long a client may take to read an event.
	streamPatience = 10 * time.Second
	// retryStreams is after how many seconds a refused client may try again.
	retryStreams = "10"
)

// streamLimit returns the error for a client that opens one more stream; nil if it may. total
// streams are open, own of them by this client.
func streamLimit(total, own int) error {
	switch {
	case own >= maxClientStreams:
		return newError(fiber.StatusTooManyRequests, "%d streams are open, as many as one client may have: close one first", maxClientStreams)
	case total >= maxStreams:
		return newError(fiber.StatusServiceUnavailable, "as many streams are open as this node serves: try again later, or another node")
	}
	return nil
}

// stream is the stream of one client. It outlives the HTTP handler, so it keeps nothing of fiber's
// context.
type stream struct {
	server *Server
	client string
	r      *request
	conn   net.Conn
	lease  *keys.Lease
	// slot is the slot of the held state when the quote was last computed.
	slot uint64
	// last is the content of the event that was sent last, without the fields that change with each
	// answer.
	last []byte
}

// getStream is GET /api/v2/quote/stream: it sends a new quote whenever it changes, as server-sent
// events (https://html.spec.whatwg.org/multipage/server-sent-events.html). The status is that of
// the first quote.
func (s *Server) getStream(c *fiber.Ctx) error {
	pass, client, err := s.admit(c, "stream")
	if err != nil {
		return err
	}
	fields, err := queryFields(c)
	if err != nil {
		return err
	}
	r, err := parseRequest(fields, false)
	if err != nil {
		return err
	}
	if name, text := fields.get(fieldUser); text != "" {
		return invalid(name, text, "must be absent: a stream has no transactions, GET "+routeQuote+" has")
	}
	st := &stream{server: s, client: client, r: r, conn: c.Context().Conn()}
	first, err := st.next(c.UserContext())
	if err != nil {
		return err
	}
	if err := s.streams.Take(client); err != nil {
		c.Set(fiber.HeaderRetryAfter, retryStreams)
		return err
	}
	lease, refused := pass.Open("stream")
	if refused != nil {
		s.streams.Give(client)
		refused.Headers(c.Set)
		return newError(refused.Status, "%s", refused)
	}
	st.lease = lease
	c.Set(fiber.HeaderContentType, "text/event-stream; charset=utf-8")
	c.Set("X-Accel-Buffering", "no") // nginx would hold events back
	s.metrics.streams.Inc()
	c.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
		defer func() {
			if p := recover(); p != nil {
				s.deps.Logger.Error("stream failed", "err", fmt.Sprintf("panic: %v: %s", p, debug.Stack()))
			}
			lease.Close()
			s.streams.Give(client)
			s.metrics.streams.Dec()
		}()
		st.run(w, first)
	})
	return nil
}

// Errors of next that mean that there is no event.
var (
	errSame = errors.New("the quote is as it was")
	errBusy = errors.New("too many requests in flight")
)

// next returns the present quote as an event. Its error is errSame or that of the quote. It wraps
// errBusy if this client, or all clients together, have too many requests in flight.
func (st *stream) next(ctx context.Context) ([]byte, error) {
	s := st.server
	if err := s.requests.Take(st.client); err != nil {
		return nil, fmt.Errorf("%w: %w", errBusy, err)
	}
	defer s.requests.Give(st.client)
	ctx, cancel := context.WithTimeout(withClient(ctx, st.client), s.cfg.timeout)
	defer cancel()
	began := time.Now()
	out, chosen, err := s.quote(ctx, st.r)
	if err != nil {
		return nil, err
	}
	var body any = out
	if st.r.jupiter {
		body = jupiter(st.r, chosen, out, began)
	}
	full, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	same := *out
	same.Slot, same.ContextSlot, same.StateAgeMs, same.TimeTakenMs = 0, 0, 0, 0
	return full, st.changed(&same)
}

// changed keeps the content of an event, and returns errSame if it equals the last one.
func (st *stream) changed(what any) error {
	now, err := json.Marshal(what)
	if err != nil {
		return err
	}
	if bytes.Equal(now, st.last) {
		return errSame
	}
	st.last = now
	return nil
}

// run writes events until the client leaves or reads too slowly, its key may not be used any more,
// the stream is as old as streamAge, or the API stops.
func (st *stream) run(w *bufio.Writer, first []byte) {
	if st.event(w, "quote", first) != nil {
		return
	}
	tick := time.NewTicker(st.server.cfg.slot)
	defer tick.Stop()
	age := time.NewTimer(streamAge)
	defer age.Stop()
	wrote := time.Now()
	for {
		var err error
		changed := st.changes()
		select {
		case <-st.server.stopping:
			_ = st.event(w, "end", []byte(`{"reason":"shutdown","message":"the node stops: connect again"}`))
			return
		case <-st.lease.Ended():
			_ = st.event(w, "end", []byte(`{"reason":"key","message":"the key may not be used any more"}`))
			return
		case <-age.C:
			_ = st.event(w, "end", []byte(`{"reason":"age","message":"the stream is as old as one may be: connect again"}`))
			return
		case <-changed:
			// Several snapshots may be of one slot. Changes within it wait for the tick.
			if slot := st.server.held.Slot(); slot == st.slot {
				continue
			}
			wrote, err = st.tell(w, wrote)
		case <-tick.C:
			wrote, err = st.tell(w, wrote)
		}
		if err != nil {
			return
		}
	}
}

// changes returns a channel that is closed when the held state changes; nil if no state is held.
func (st *stream) changes() <-chan struct{} {
	if st.server.held == nil {
		return nil
	}
	return st.server.held.Changed()
}

// tell sends the next event if there is one, or a comment if nothing was sent for cfg.heartbeat. It
// takes and returns the time when something was last sent.
func (st *stream) tell(w *bufio.Writer, wrote time.Time) (time.Time, error) {
	if st.server.held != nil {
		st.slot = st.server.held.Slot()
	}
	name, data := st.look()
	switch {
	case data != nil:
		return time.Now(), st.event(w, name, data)
	case time.Since(wrote) >= st.server.cfg.heartbeat:
		return time.Now(), st.flush(w, ": alive\n\n")
	}
	return wrote, nil
}

// look returns the next event, if there is one. An error is sent once, and not again while its code
// and name stay the same.
func (st *stream) look() (name string, data []byte) {
	data, err := st.next(context.Background())
	if err == nil {
		return "quote", data
	}
	if errors.Is(err, errSame) || errors.Is(err, errBusy) {
		return "", nil
	}
	told := public(err)
	if st.changed([]string{told.Code, told.Name}) != nil {
		return "", nil
	}
	if told.cause != nil {
		st.server.deps.Logger.Warn("quote failed", "route", routeStream, "status", told.StatusCode, "err", told.cause)
	}
	data, _ = json.Marshal(told)
	return "error", data
}

func (st *stream) event(w *bufio.Writer, name string, data []byte) error {
	return st.flush(w, "event: "+name+"\ndata: "+string(data)+"\n\n")
}

// flush sends text. It sets a deadline for each write: the server's own is for a whole response and
// would end every stream.
func (st *stream) flush(w *bufio.Writer, text string) error {
	_ = st.conn.SetWriteDeadline(time.Now().Add(streamPatience))
	if _, err := w.WriteString(text); err != nil {
		return err // the stream ends, whatever it was
	}
	return w.Flush()
}
