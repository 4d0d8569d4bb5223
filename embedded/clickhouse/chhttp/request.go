package chhttp

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/ClickHouse/ch-go/compress"

	"github.com/mintlake/mintlake/embedded/clickhouse/libchdb"
)

// request is a parsed HTTP request with a query.
type request struct {
	query    []byte
	format   string // of the result, unless the query has a FORMAT clause
	database string
	queryID  string
	params   map[string]string // query parameters, without "param_"
	settings map[string]string
	compress bool   // send the result in ClickHouse's compressed blocks
	encoding string // Content-Encoding of the result; empty for none
	session  sessionRequest
	whole    bool // send the result only when it is complete
	revision int  // the client's protocol revision; 0 if it sent none

	body  io.Reader // the rest of the body behind the query; nil if there is none
	close func()    // ends the reading of the body
}

// isReserved reports whether a URL parameter is not passed to the engine as a setting. Most of
// these belong to ClickHouse's HTTP interface or set up its HTTP server, which has no meaning for
// the engine. log_comment is a setting, but the pool uses it to find the query to kill.
func isReserved(name string) bool {
	switch name {
	case "query", "database", "default_format", "client_protocol_version", "user", "password", "quota_key", "query_id", "session_id",
		"session_timeout", "session_check", "compress", "decompress", "stacktrace", "role", "wait_end_of_query", "buffer_size",
		"add_http_cors_header", "close_session", "log_comment",
		"enable_http_compression", "http_zlib_compression_level", "send_progress_in_http_headers", "http_headers_progress_interval_ms",
		"http_write_exception_in_output_format", "cancel_http_readonly_queries_on_client_close":
		return true
	default:
		return strings.HasPrefix(name, "param_")
	}
}

// readRequest parses the request. It reads the body only as far as the query goes, at most
// maxQueryBytes.
func (h *Handler) readRequest(w http.ResponseWriter, r *http.Request) (*request, error) {
	if err := checkOrigin(h.hosts, r); err != nil {
		return nil, err
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, libchdb.Errorf(codeBadQuery, "BAD_ARGUMENTS", "Malformed URL parameters: %s", err)
	}
	if err := checkUser(r, values); err != nil {
		return nil, err
	}
	if mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); mediaType == "multipart/form-data" {
		return nil, libchdb.Errorf(48, "NOT_IMPLEMENTED", "The embedded engine takes no external tables (multipart/form-data)")
	}
	req := &request{
		database: values.Get("database"), queryID: values.Get("query_id"), format: values.Get("default_format"),
		params: map[string]string{}, settings: map[string]string{},
		compress: isOn(values.Get("compress")), whole: isOn(values.Get("wait_end_of_query")),
	}
	if req.session, err = readSession(values); err != nil {
		return nil, err
	}
	if isOn(values.Get("enable_http_compression")) {
		req.encoding = responseEncoding(r.Header.Get("Accept-Encoding"))
	}
	// The revision is 0 if the parameter is missing or no number.
	req.revision, _ = strconv.Atoi(values.Get("client_protocol_version"))
	if f := r.Header.Get("X-ClickHouse-Format"); f != "" {
		req.format = f
	}
	if d := r.Header.Get("X-ClickHouse-Database"); d != "" {
		req.database = d
	}
	if req.format == "" {
		req.format = "TabSeparated"
	}
	for name, all := range values {
		if param, ok := strings.CutPrefix(name, "param_"); ok {
			req.params[param] = all[len(all)-1]
		} else if !isReserved(name) {
			req.settings[name] = all[len(all)-1]
		}
	}
	if r.Method == http.MethodGet && (req.settings["readonly"] == "" || req.settings["readonly"] == "0") {
		req.settings["readonly"] = "2" // as ClickHouse does for GET
	}
	return req, h.readQuery(w, r, values, req)
}

// readQuery sets req.query and req.body from the URL and the body.
func (h *Handler) readQuery(w http.ResponseWriter, r *http.Request, values url.Values, req *request) error {
	body, closeBody, err := h.decode(w, r, values)
	if err != nil {
		return err
	}
	req.close = closeBody
	if query := values.Get("query"); query != "" {
		req.query, req.body = []byte(query), body
		return nil
	}
	if req.query, err = io.ReadAll(io.LimitReader(body, maxQueryBytes)); err != nil {
		return err
	}
	if int64(len(req.query)) == maxQueryBytes {
		req.body = body // there may be more: data of an INSERT, or a query that is too long
	}
	return nil
}

// decode returns the plain body: it decodes HTTP's Content-Encoding, then ClickHouse's own
// compression.
func (h *Handler) decode(w http.ResponseWriter, r *http.Request, values url.Values) (body io.Reader, closeBody func(), err error) {
	source := newSource(w, r, h.cfg)
	body, closeBody, err = decoder(r.Header.Get("Content-Encoding"), source)
	var own *libchdb.Error
	switch {
	case errors.As(err, &own):
		return nil, nil, err
	case err != nil:
		return nil, nil, source.explain(err)
	}
	if isOn(values.Get("decompress")) {
		body = compress.NewReader(body)
	}
	return decoded{body, source}, closeBody, nil
}

// decoded is the plain body. It returns io.EOF unwrapped: ch-go's reader wraps it, and io.Copy
// would take that for a failure.
type decoded struct {
	reader io.Reader
	source *source
}

func (d decoded) Read(b []byte) (int, error) {
	n, err := d.reader.Read(b)
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return n, d.source.atEnd()
	default:
		return n, d.source.explain(err)
	}
}

// rest returns the whole query of a statement that is no INSERT with data: a query in the URL may
// go on in the body.
func (h *Handler) rest(req *request) ([]byte, error) {
	if req.body == nil {
		return req.query, nil
	}
	more, err := io.ReadAll(io.LimitReader(req.body, maxQueryBytes+1))
	if err != nil {
		return nil, err
	}
	if len(more) == 0 {
		return req.query, nil
	}
	query := append(append(bytes.Clone(req.query), '\n'), more...)
	if int64(len(query)) > maxQueryBytes {
		return nil, tooLarge("query", maxQueryBytes)
	}
	return query, nil
}

func tooLarge(what string, limit int64) error {
	return libchdb.Errorf(codeTooLarge, "TOO_MANY_BYTES", "The %s is larger than %d bytes: send less at once", what, limit)
}

func isOn(value string) bool { return value == "1" || value == "true" }
