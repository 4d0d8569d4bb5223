// Package chhttp speaks ClickHouse's HTTP interface over the embedded engine.
//
// In: HTTP requests of clickhouse-go, curl, Grafana or any other client of ClickHouse's HTTP interface, from this machine.
// Out: the engine's results, whole or streamed; errors with ClickHouse's code in X-ClickHouse-Exception-Code.
// Guarantees: an INSERT is answered with 200 only after the engine has taken all of its data; a query ends when its client goes away; settings,
// database and readonly of one request never reach another; a result that breaks off is never taken for a complete one.
//
// It is no security boundary: SQL that reaches the engine can read and write the files of the process' user. See docs/embedded-clickhouse.md.
package chhttp

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mintlake/mintlake/internal/embedded/clickhouse/libchdb"
)

// Config limits what one request may take.
type Config struct {
	// MaxQueryBytes is the largest statement, without the data of an INSERT. Default 4 MiB.
	MaxQueryBytes int64
	// MaxInsertBytes is the largest data of one INSERT after decompression; it is held in memory until the engine has it. Default 256 MiB.
	MaxInsertBytes int64
	// WriteTimeout is how long the client may take to accept the next part of a result; it holds a connection so long. Default 60 s.
	WriteTimeout time.Duration
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
	sequence atomic.Uint64
}

// New makes a handler; zero limits get their defaults.
func New(cfg Config, deps Deps) *Handler {
	if cfg.MaxQueryBytes <= 0 {
		cfg.MaxQueryBytes = 4 << 20
	}
	if cfg.MaxInsertBytes <= 0 {
		cfg.MaxInsertBytes = 256 << 20
	}
	if cfg.WriteTimeout <= 0 {
		cfg.WriteTimeout = time.Minute
	}
	return &Handler{cfg: cfg, deps: deps}
}

// ServeHTTP answers /ping, /replicas_status and, at /, queries.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// The deadline that an earlier request of this connection left behind.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	switch {
	case r.URL.Path == "/ping", r.URL.Path == "/replicas_status", r.URL.Path == "/" && r.Method == http.MethodGet && r.URL.RawQuery == "":
		// A client that is gone has no use for the error of writing to it.
		_, _ = w.Write([]byte("Ok.\n"))
	case r.URL.Path != "/":
		http.Error(w, "There is no handle "+strconv.Quote(r.URL.Path)+": queries go to /, the health check to /ping", http.StatusNotFound)
	case r.Method != http.MethodGet && r.Method != http.MethodPost:
		w.Header().Set("Allow", "GET, POST")
		http.Error(w, "use GET or POST", http.StatusMethodNotAllowed)
	default:
		req, err := h.readRequest(r)
		if err == nil {
			err = h.run(w, r, req)
		}
		if err != nil {
			h.fail(w, r, err)
		}
	}
}

// run executes a request. An error is returned only while nothing was written yet.
func (h *Handler) run(w http.ResponseWriter, r *http.Request, req *request) error {
	if req.revision > 0 && string(req.query) == helloQuery {
		return h.write(w, req, hello(req.revision, h.deps.Pool.Version(), h.deps.Pool.Timezone()))
	}
	stmt := parse(req.query)
	query, release, err := h.statementText(req, &stmt)
	if err != nil {
		return err
	}
	defer release()

	conn, err := h.deps.Pool.Acquire(r.Context())
	if err != nil {
		return err
	}
	defer conn.Release()
	if err := conn.Prepare(req.database, req.settings); err != nil {
		return err
	}
	h.setHeaders(w, req)
	if stmt.kind == kindSelect && streamable(req.format) && !req.whole {
		return h.stream(w, r, req, conn, query)
	}
	start := time.Now()
	result, err := conn.Query(r.Context(), query, req.format, req.params)
	if stmt.kind == kindSet || stmt.kind == kindUse {
		conn.Forget(stmt.kind == kindUse, stmt.settings)
	}
	if err != nil {
		return err
	}
	defer result.Free()
	w.Header().Set("X-ClickHouse-Summary", fmt.Sprintf(`{"read_rows":"%d","read_bytes":"%d","result_rows":"%d","elapsed_ns":"%d"}`,
		result.ReadRows, result.ReadBytes, result.Rows, time.Since(start).Nanoseconds()))
	return h.write(w, req, result.Bytes())
}

// statementText returns the statement to run, having read the whole body: before a connection is taken, so that a slow client holds none.
// release frees the INSERT's data.
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
		// Closing can only fail for a descriptor that is not open.
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

func (h *Handler) setHeaders(w http.ResponseWriter, req *request) {
	id := req.queryID
	if id == "" {
		id = fmt.Sprintf("embedded-%d", h.sequence.Add(1))
	}
	header := w.Header()
	header.Set("X-ClickHouse-Server-Display-Name", displayName)
	header.Set("X-ClickHouse-Timezone", h.deps.Pool.Timezone())
	header.Set("X-ClickHouse-Format", req.format)
	header.Set("X-ClickHouse-Query-Id", id)
	header.Set("Content-Type", contentType(req.format))
}

// write sends a whole result.
func (h *Handler) write(w http.ResponseWriter, req *request, data []byte) error {
	out, err := newCompressor(req).encode(data)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(out)))
	h.extendDeadline(w)
	// The client is gone: nothing to tell it, and the work is done.
	_, _ = w.Write(out)
	return nil
}

// stream sends a result as the engine makes it. The status line waits for the first part, so that most errors still get their own status.
func (h *Handler) stream(w http.ResponseWriter, r *http.Request, req *request, conn *libchdb.Conn, query []byte) error {
	encoder := newCompressor(req)
	tag := rand.Text()[:16]
	started := false
	err := conn.Stream(r.Context(), query, req.format, req.params, func(chunk []byte) error {
		out, err := encoder.encode(chunk)
		if err != nil {
			return err
		}
		if !started {
			started = true
			w.Header().Set("X-ClickHouse-Exception-Tag", tag)
		}
		h.extendDeadline(w)
		_, err = w.Write(out)
		return err
	})
	switch {
	case err != nil && !started:
		return err
	case err != nil:
		// Tell the error as a server does, then break the connection: no client may take what it has for the whole.
		_, _ = w.Write(midStream(tag, err))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case !started:
		w.Header().Set("Content-Length", "0") // clickhouse-go needs it to see an empty result
	}
	return nil
}

// extendDeadline gives the client WriteTimeout to take what comes next. Not every ResponseWriter can; then there is no deadline.
func (h *Handler) extendDeadline(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(h.cfg.WriteTimeout))
}
