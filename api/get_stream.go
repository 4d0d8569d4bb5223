package api

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/mintlake/mintlake/api/encode"
	"github.com/mintlake/mintlake/api/feed"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/replica/search"
)

// heartbeat is how long a stream sends nothing before it sends a comment line as a sign of life:
// proxies close connections that are silent for half a minute.
const heartbeat = 15 * time.Second

// reconnectAfter is how long clients should wait before they reconnect, in milliseconds.
const reconnectAfter = 2000

// getStream is GET /tokens/stream: new and changed tokens as Server-Sent Events
// (https://html.spec.whatwg.org/multipage/server-sent-events.html).
func (s *Server) getStream(c *fiber.Ctx) error {
	stream, err := s.queryStream(c)
	if err != nil {
		return err
	}
	setStreamHeaders(c)
	if c.Method() == fiber.MethodHead {
		return nil
	}
	// A browser that reconnects sends its last id, which is newer than the cursor in its URL.
	cursor := string(c.Request().Header.Peek("Last-Event-ID"))
	if cursor == "" {
		cursor = c.Query("cursor")
	}
	stream.reader, err = s.feed.Open(s.client(c), cursor)
	// A cursor in the right form that is refused is probably from another installation. The stream
	// then begins with a reset, and not with an error.
	if errors.Is(err, feed.ErrCursor) && isCursor(cursor) {
		stream.reader, err = s.feed.OpenAnew(s.client(c))
	}
	if err != nil {
		return refuseStream(err, cursor)
	}
	stream.conn, stream.patience = c.Context().Conn(), s.cfg.WriteTimeout
	c.Context().SetBodyStreamWriter(stream.run)
	return nil
}

// isCursor returns whether text has the form of a cursor, of this installation or of another one.
func isCursor(text string) bool {
	return len(text) <= maxStreamCursor && cursorForm.MatchString(text)
}

// queryStream reads the parameters.
func (s *Server) queryStream(c *fiber.Ctx) (*stream, error) {
	shape, err := queryShape(c, false)
	if err != nil {
		return nil, err
	}
	filter, err := queryFilter(c)
	if err != nil {
		return nil, err
	}
	include, err := queryBoolean(c, "include_token22", true)
	if err != nil {
		return nil, err
	}
	cursor, _, err := queryOnce(c, "cursor")
	if err != nil {
		return nil, err
	}
	if !isCursor(cursor) { // refused even if Last-Event-ID takes its place
		return nil, refuseStream(feed.ErrCursor, cursor)
	}
	if _, given, _ := queryOnce(c, "q"); given {
		return nil, invalid("q", quoted(c.Query("q")), "must be absent: a stream has filters and no ranking")
	}
	return &stream{server: s, filter: filter, include22: include, write: s.writer(shape)}, nil
}

// refuseStream returns the answer to an error of feed.Open.
func refuseStream(err error, cursor string) error {
	var e *Error
	switch {
	case errors.Is(err, feed.ErrCursor):
		return invalid("cursor", quoted(cursor), "must be an id of this stream's events, or absent")
	case errors.Is(err, feed.ErrTooManyClient):
		e = newError(fiber.StatusTooManyRequests, "as many streams are open as one client may have: close one first")
	case errors.Is(err, feed.ErrTooMany):
		e = newError(fiber.StatusServiceUnavailable, "as many streams are open as this node serves: try again later, or another node")
	case errors.Is(err, feed.ErrClosed):
		e = newError(fiber.StatusServiceUnavailable, "the node stops: try again later, or another node")
	default:
		return err
	}
	e.headers = []string{fiber.HeaderRetryAfter, "10"}
	return e
}

// errAge ends a stream that has been open for Streams.MaxAge.
var errAge = errors.New("stream is old")

// stream is one client's stream. It outlives the handler, so it holds nothing of fiber's context.
type stream struct {
	server    *Server
	filter    search.Filter
	include22 bool
	write     rowWriter
	reader    *feed.Reader
	conn      net.Conn
	patience  time.Duration // how long a write may take
	buf       []byte        // what the next flush sends
}

// cursorForm is the form of a cursor. maxStreamCursor bounds its length in characters: the cursor
// of a thousand partitions is no longer.
var cursorForm = regexp.MustCompile(`^[A-Za-z0-9_-]*$`)

const maxStreamCursor = 4096

// run writes events until the client leaves or is too slow, the stream is too old, or the node
// stops.
func (s *stream) run(w *bufio.Writer) {
	defer s.reader.Close()
	s.buf = fmt.Appendf(s.buf, "retry: %d\n\n", reconnectAfter)
	if s.flush(w) != nil {
		return
	}
	for begin := time.Now(); ; {
		left := s.server.cfg.Streams.MaxAge - time.Since(begin)
		if left <= 0 {
			s.end(w, errAge)
			return
		}
		batch, err := s.reader.Next(min(heartbeat, left))
		if err != nil {
			s.end(w, err)
			return
		}
		s.append(&batch)
		if s.flush(w) != nil {
			return
		}
	}
}

// append writes a batch. The id comes last, in an event of its own without data. So a client that
// is cut off in the middle reads the whole batch again. A reset and its id are one event, so that a
// client which knows of the reset also knows where to go on, however long it reads the registry
// first.
func (s *stream) append(batch *feed.Batch) {
	if batch.Reset != "" {
		s.buf = append(append(append(s.buf, "id: "...), batch.Cursor...), '\n')
		s.event("reset", fmt.Appendf(nil, `{"reason":%q,"message":%q}`, batch.Reset,
			"what changed since the cursor cannot be told: read the registry anew (GET /tokens?sort=mint), what follows here begins now"))
		return
	}
	for i := range batch.Changes {
		s.change(&batch.Changes[i])
	}
	switch {
	case batch.Cursor != "":
		s.buf = append(append(append(s.buf, "id: "...), batch.Cursor...), "\n\n"...)
	case len(s.buf) == 0:
		s.buf = append(s.buf, ": alive\n\n"...)
	}
}

// change writes an event with the row as it is now, if the row passes the client's filters. A
// removal is written in any case: a mint that is gone has no row to filter. change.Mint is nil for
// a change of a row that is known by its id.
func (s *stream) change(change *feed.Change) {
	id, token := change.ID, (*registry.Token)(nil)
	if change.Mint == nil {
		token = s.server.replica.Token(id)
	} else if number, member := s.server.replica.ID(*change.Mint); member {
		id, token = number, s.server.replica.Token(number)
	}
	switch {
	case token == nil && change.Mint == nil: // the mint is gone: the feed will report it
	case token == nil:
		s.event(string(feed.KindRemoved), append(encode.Mint([]byte(`{"mint":`), *change.Mint), '}'))
	case s.passes(id, token):
		kind := change.Kind
		if kind == feed.KindRemoved { // the mint came back since
			kind = feed.KindNew
		}
		s.event(string(kind), s.write.appendRow(nil, &row{id: id, token: token}))
	}
}

// event writes one event. data must have no line ends: JSON that this package makes never has any.
func (s *stream) event(name string, data []byte) {
	s.buf = append(append(append(s.buf, "event: "...), name...), "\ndata: "...)
	s.buf = append(append(s.buf, data...), "\n\n"...)
}

// flush sends what was written. It sets a write deadline of its own: the server's is for a single
// response, and would end every stream.
func (s *stream) flush(w *bufio.Writer) error {
	_ = s.conn.SetWriteDeadline(time.Now().Add(s.patience))
	_, err := w.Write(s.buf)
	s.buf = s.buf[:0]
	if err != nil {
		return err // the stream ends, whatever the error is
	}
	return w.Flush()
}

// end writes a last event with the reason why the stream ends. The client then reconnects with the
// last id that it got.
func (s *stream) end(w *bufio.Writer, err error) {
	reason, message := "unavailable", "the events since the cursor cannot be read now"
	switch {
	case errors.Is(err, feed.ErrClosed):
		reason, message = "shutdown", "the node stops"
	case errors.Is(err, errAge):
		reason, message = "age", "the stream is as old as one may be"
	case errors.Is(err, feed.ErrLagged):
		reason, message = "lagged", "the client read too slowly"
	default:
		s.server.deps.Logger.Warn("change feed cannot resume", "err", err)
	}
	s.event("end", fmt.Appendf(nil, `{"reason":%q,"message":%q}`, reason, message+"; connect again with the last id"))
	_ = s.flush(w)
}

// passes returns whether a token meets the filters, by the same rules as a search.
func (s *stream) passes(id uint32, t *registry.Token) bool {
	f := &s.filter
	switch {
	case t.IsToken22 && (!s.include22 || f.Program == search.ProgramToken), !t.IsToken22 && f.Program == search.ProgramToken2022,
		f.MinVolume != nil && (t.DailyVolumeUSD == nil || *t.DailyVolumeUSD < *f.MinVolume),
		f.CreatedAfter != nil && (t.FirstSeenAt == nil || *t.FirstSeenAt <= *f.CreatedAfter),
		f.Tag != "" && !slices.Contains(t.Tags, f.Tag),
		f.Launchpad != "" && (t.Launchpad == nil || *t.Launchpad != f.Launchpad):
		return false
	case len(f.Extensions)+len(f.NotExtensions) == 0:
		return true
	}
	passes := false
	s.server.replica.Row(id, func(row *replica.Row) {
		has := func(kind string) bool { return slices.Contains(row.Extensions, kind) }
		passes = !slices.ContainsFunc(f.NotExtensions, has) && !slices.ContainsFunc(f.Extensions, func(kind string) bool { return !has(kind) })
	})
	return passes
}
