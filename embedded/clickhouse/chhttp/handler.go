// Package chhttp serves ClickHouse's HTTP interface with the embedded engine.
//
// In: HTTP requests from this machine, of clickhouse-go, curl, Grafana or another client of
// ClickHouse's HTTP interface. Out: the engine's results, whole or streamed; errors with
// ClickHouse's code in X-ClickHouse-Exception-Code. Guarantees: an INSERT is answered with 200 only
// after the engine has stored all of its data; a query ends when its client goes away; settings,
// database and readonly of one request never affect another; a client can tell a result that breaks
// off from a complete one.
//
// It is no security boundary: SQL that reaches the engine can read and write the files of the user
// that runs this process. See docs/embedded-clickhouse.md.
package chhttp

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mintlake/mintlake/access/hosts"
	"github.com/mintlake/mintlake/embedded/clickhouse/libchdb"
)

const (
	// maxQueryBytes limits the statement, without the data of an INSERT.
	maxQueryBytes = 4 << 20
	// writeTimeout is how long the client may take to accept the next part of a result. A slow
	// client keeps one of the pool's connections that long.
	writeTimeout = time.Minute
)

// Config has the limits of one request.
type Config struct {
	// MaxInsertBytes limits the data of one INSERT after decompression. The data is in memory until
	// the engine has read it. Default 256 MiB.
	MaxInsertBytes int64
	// AllowedHosts are host names besides localhost that requests may have in their Host header:
	// see access/hosts.
	AllowedHosts []string
	// bodyTimeout is how long the client may take to send the next part of its body. Default 30 s,
	// as ClickHouse's http_receive_timeout.
	bodyTimeout time.Duration
	// bodyRate is how many bytes a second of the body must come on average, from bodyTimeout on.
	// Default 16 KiB.
	bodyRate int64
}

// Deps are the handler's collaborators.
type Deps struct {
	Pool   *libchdb.Pool
	Logger *slog.Logger
}

// Handler answers ClickHouse's HTTP interface.
type Handler struct {
	cfg      Config
	deps     Deps
	sessions *sessions
	hosts    *hosts.Guard
	sequence atomic.Uint64
}

// discardTimeout bounds the time for reading the rest of a body that nobody needs.
const discardTimeout = 5 * time.Second

// New makes a handler; zero limits get their defaults.
func New(cfg Config, deps Deps) *Handler {
	cfg.MaxInsertBytes = cmp.Or(max(cfg.MaxInsertBytes, 0), 256<<20)
	cfg.bodyTimeout = cmp.Or(max(cfg.bodyTimeout, 0), 30*time.Second)
	cfg.bodyRate = cmp.Or(max(cfg.bodyRate, 0), 16<<10)
	loopback := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} // the engine listens on nothing else
	return &Handler{cfg: cfg, deps: deps, hosts: hosts.New(loopback, "", cfg.AllowedHosts), sessions: &sessions{pool: deps.Pool, log: deps.Logger, byID: map[string]*session{}}}
}

// ServeHTTP answers /ping, /replicas_status and, at /, queries.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	// An earlier request of this connection may have left a deadline.
	_ = control.SetWriteDeadline(time.Time{})
	defer func() {
		// net/http reads the rest of the body, and must not wait for ever.
		if r.ContentLength != 0 {
			_ = control.SetReadDeadline(time.Now().Add(min(h.cfg.bodyTimeout, discardTimeout)))
		}
	}()
	switch {
	case r.URL.Path == "/ping", r.URL.Path == "/replicas_status", r.URL.Path == "/" && r.Method == http.MethodGet && r.URL.RawQuery == "":
		// An error means that the client is gone.
		_, _ = w.Write([]byte("Ok.\n"))
	case r.URL.Path != "/":
		http.Error(w, "There is no handle "+strconv.Quote(r.URL.Path)+": queries go to /, the health check to /ping", http.StatusNotFound)
	case r.Method != http.MethodGet && r.Method != http.MethodPost:
		w.Header().Set("Allow", "GET, POST")
		http.Error(w, "use GET or POST", http.StatusMethodNotAllowed)
	default:
		req, err := h.readRequest(w, r)
		if err == nil {
			defer req.close()
			err = h.run(w, r, req)
		}
		if err != nil {
			discard(control, r, h.cfg.bodyTimeout)
			h.fail(w, r, err)
		}
	}
}

// discard reads up to 16 MiB of what is left of the body: many clients read the answer only after
// they have sent all of it.
func discard(control *http.ResponseController, r *http.Request, patience time.Duration) {
	if r.ContentLength == 0 || r.Context().Err() != nil {
		return
	}
	_ = control.SetReadDeadline(time.Now().Add(min(patience, discardTimeout)))
	_, _ = io.CopyN(io.Discard, r.Body, 16<<20) // an error does not matter
}

// run executes a request. It returns an error only if nothing was written yet.
func (h *Handler) run(w http.ResponseWriter, r *http.Request, req *request) error {
	if req.revision > 0 && string(req.query) == helloQuery {
		return h.write(w, req, hello(req.revision, h.deps.Pool.Version(), h.deps.Pool.Timezone()))
	}
	session, err := h.sessions.enter(req.session)
	if err != nil {
		return err
	}
	defer h.sessions.leave(session, req.session.close)
	stmt := parse(req.query)
	query, release, err := h.statementText(req, &stmt)
	if err != nil {
		return err
	}
	defer release()
	req.settings = session.with(req.settings)
	if err := h.check(req, &stmt, query); err != nil {
		return err
	}

	place, err := h.deps.Pool.Acquire(r.Context())
	if err != nil {
		return err
	}
	defer place.Release()
	conn, err := h.connection(session, &stmt, place)
	if err != nil {
		return err
	}
	database := req.database
	if database == "" && session != nil {
		database = session.database
	}
	if err := conn.Prepare(database, req.settings); err != nil {
		return err
	}
	h.setHeaders(w, req)
	if stmt.kind == kindSelect && streamable(req.format) && !req.whole {
		return h.stream(w, r, req, conn, query)
	}
	return h.execute(w, r, req, session, conn, &stmt, query)
}

// check refuses statements that the engine would run, but that are not allowed here.
func (h *Handler) check(req *request, stmt *statement, query []byte) error {
	if stmt.kind != kindInsert {
		if err := checkStop(query); err != nil {
			return err
		}
	}
	if err := checkTag(query); err != nil {
		return err
	}
	if stmt.kind == kindSet {
		for _, name := range stmt.settings {
			if strings.HasPrefix(name, "param_") {
				return libchdb.Errorf(48, "NOT_IMPLEMENTED", "SET %s: pass the parameter with each request, as the URL parameter %[1]s", name)
			}
		}
	}
	if readonly := req.settings["readonly"]; readonly == "" || readonly == "0" {
		return nil
	}
	if stmt.kind == kindInsert {
		return readonlyError()
	}
	canonical, err := h.deps.Pool.Canonical(query)
	if err != nil {
		return err
	}
	return checkReads(canonical)
}

// connection returns the connection for the statement: place, or the session's own if the session
// has one or creates a temporary table. The caller holds place in both cases, so that no more
// queries run at once than there are places.
func (h *Handler) connection(session *session, stmt *statement, place *libchdb.Conn) (*libchdb.Conn, error) {
	if session == nil {
		return place, nil
	}
	if stmt.temporary {
		if err := h.sessions.pin(session); err != nil {
			return nil, err
		}
	}
	if session.conn != nil {
		return session.conn, nil
	}
	return place, nil
}

// execute runs a statement and sends its result as a whole.
func (h *Handler) execute(w http.ResponseWriter, r *http.Request, req *request, session *session, conn *libchdb.Conn, stmt *statement, query []byte) error {
	start := time.Now()
	result, err := conn.Query(r.Context(), query, req.format, req.params)
	if session != nil && err == nil {
		err = session.keep(stmt, conn)
	}
	if stmt.kind == kindSet || stmt.kind == kindUse {
		conn.Forget(stmt.kind == kindUse, stmt.settings)
	}
	if session == nil && stmt.temporary { // as in ClickHouse, the table ends with the request
		if err := conn.DropTemporary(); err != nil {
			h.deps.Logger.Error("drop a temporary table", "err", err)
		}
	}
	if err != nil {
		return err
	}
	defer result.Free()
	w.Header().Set("X-ClickHouse-Summary", fmt.Sprintf(`{"read_rows":"%d","read_bytes":"%d","result_rows":"%d","elapsed_ns":"%d"}`,
		result.ReadRows, result.ReadBytes, result.Rows, time.Since(start).Nanoseconds()))
	return h.write(w, req, result.Bytes())
}

// statementText reads the whole body and returns the statement to run. It is called before a
// connection is acquired, so that a slow client does not keep one. If the query goes on in the
// body, stmt is parsed again. A FORMAT clause replaces req.format. release frees the data of an
// INSERT.
func (h *Handler) statementText(req *request, stmt *statement) (query []byte, release func(), err error) {
	nothing := func() {}
	if stmt.kind == kindInsert {
		if stmt.trailing {
			return nil, nil, libchdb.Errorf(62, "SYNTAX_ERROR", "SETTINGS of an INSERT go before FORMAT")
		}
		fd, _, err := spool(req.query[stmt.dataAt:], req.body, h.cfg.MaxInsertBytes)
		if errors.Is(err, errTooLarge) {
			return nil, nil, tooLarge("data of the INSERT", h.cfg.MaxInsertBytes)
		}
		if err != nil {
			return nil, nil, err
		}
		// Close fails only for a descriptor that is not open.
		return stmt.withInfile(req.query, fd), func() { _ = unix.Close(fd) }, nil
	}
	if query, err = h.rest(req); err != nil {
		return nil, nil, err
	}
	if req.body != nil && len(query) > len(req.query) {
		*stmt = parse(query)
	}
	if stmt.files != "" {
		return nil, nil, libchdb.Errorf(1, "UNSUPPORTED_METHOD", "%s is not available over HTTP", stmt.files)
	}
	if stmt.format != "" {
		req.format = stmt.format
	}
	return query, nothing, nil
}

// setHeaders sets the headers that all results have.
func (h *Handler) setHeaders(w http.ResponseWriter, req *request) {
	id := req.queryID
	if id == "" {
		id = fmt.Sprintf("embedded-%d", h.sequence.Add(1))
	}
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff") // a result is never a page
	header.Set("X-ClickHouse-Server-Display-Name", displayName)
	header.Set("X-ClickHouse-Timezone", h.deps.Pool.Timezone())
	header.Set("X-ClickHouse-Format", req.format)
	header.Set("X-ClickHouse-Query-Id", id)
	header.Set("Content-Type", contentType(req.format))
}

// write sends a whole result.
func (h *Handler) write(w http.ResponseWriter, req *request, data []byte) error {
	if len(data) == 0 {
		w.Header().Set("Content-Length", "0")
		return nil
	}
	output, err := newOutput(req)
	if err != nil {
		return err
	}
	out, err := output.part(data)
	if err != nil {
		return err
	}
	out = bytes.Clone(out) // output.end reuses its buffer
	last, err := output.end()
	if err != nil {
		return err
	}
	setEncoding(w, req)
	w.Header().Set("Content-Length", strconv.Itoa(len(out)+len(last)))
	h.extendDeadline(w)
	// An error means that the client is gone; the work is done anyway.
	_, _ = w.Write(out)  //nolint:gosec // a result, marked as no page: see setHeaders
	_, _ = w.Write(last) //nolint:gosec // a result, marked as no page: see setHeaders
	return nil
}

func setEncoding(w http.ResponseWriter, req *request) {
	if req.encoding != "" {
		w.Header().Set("Content-Encoding", req.encoding)
	}
}

// stream sends a result while the engine produces it. The status line is sent with the first part,
// so that most errors still get their own status.
func (h *Handler) stream(w http.ResponseWriter, r *http.Request, req *request, conn *libchdb.Conn, query []byte) error {
	output, err := newOutput(req)
	if err != nil {
		return err
	}
	tag := rand.Text()[:16]
	started := false
	err = conn.Stream(r.Context(), query, req.format, req.params, func(chunk []byte) error {
		out, err := output.part(chunk)
		if err != nil {
			return err
		}
		if !started {
			started = true
			w.Header().Set("X-ClickHouse-Exception-Tag", tag)
			setEncoding(w, req)
		}
		h.extendDeadline(w)
		_, err = w.Write(out) //nolint:gosec // a result, marked as no page: see setHeaders
		return err
	})
	switch {
	case err != nil && !started:
		return err
	case err != nil:
		// Send the error as a ClickHouse server does, then break the connection: no client may take
		// the part that it has for the whole result.
		_, _ = w.Write(output.raw(midStream(tag, err))) //nolint:gosec // a result, marked as no page: see setHeaders
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case !started:
		w.Header().Set("Content-Length", "0") // clickhouse-go needs it to see an empty result
	default:
		last, err := output.end()
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		// An error means that the client is gone.
		_, _ = w.Write(last) //nolint:gosec // a result, marked as no page: see setHeaders
	}
	return nil
}

// extendDeadline gives the client writeTimeout to accept the next part. If the ResponseWriter
// cannot set deadlines, there is none.
func (h *Handler) extendDeadline(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
}
