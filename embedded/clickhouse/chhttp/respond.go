package chhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/mintlake/mintlake/embedded/clickhouse/libchdb"
)

// statusOf returns the HTTP status for an error code, as a ClickHouse server does
// (exceptionCodeToHTTPStatus in its source).
func statusOf(code int) int {
	switch code {
	case 516: // AUTHENTICATION_FAILED
		return http.StatusUnauthorized
	case 497, 164, 452, 291:
		// ACCESS_DENIED, READONLY, SETTING_CONSTRAINT_VIOLATION, DATABASE_ACCESS_DENIED
		return http.StatusForbidden
	case 62, 27, 26, 6, 38, 41, 43, 53, 36, 69, 70, 72, 115, 457, 47, 42, 44:
		// The query is wrong: its syntax, a literal, a type, an argument, a setting or a name.
		return http.StatusBadRequest
	case 60, 81, 46, 73: // UNKNOWN_TABLE, _DATABASE, _FUNCTION, _FORMAT
		return http.StatusNotFound
	case codeTooLarge:
		return http.StatusRequestEntityTooLarge
	case 48: // NOT_IMPLEMENTED
		return http.StatusNotImplemented
	case 241, 202, codeSlowBody: // MEMORY_LIMIT_EXCEEDED, TOO_MANY_SIMULTANEOUS_QUERIES
		return http.StatusServiceUnavailable
	case 159: // TIMEOUT_EXCEEDED
		return http.StatusRequestTimeout
	default:
		return http.StatusInternalServerError
	}
}

const (
	codeTooLarge = 307 // TOO_MANY_BYTES
	codeBadQuery = 36  // BAD_ARGUMENTS
	codeSlowBody = 209 // SOCKET_TIMEOUT
)

// fail sends an error as a ClickHouse server does: the text in the body, the code in a header.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	var e *libchdb.Error
	known := errors.As(err, &e)
	// After a read timeout net/http cancels the context, although the client is still there.
	slow := known && e.Code == codeSlowBody
	if !slow && r.Context().Err() != nil || errors.Is(err, context.Canceled) {
		// The client is gone, or the server is stopping. A plain return would answer 200.
		panic(http.ErrAbortHandler)
	}
	if !known {
		h.deps.Logger.Warn("request failed", "err", err)
		e = libchdb.Errorf(210, "NETWORK_ERROR", "%s", err)
	}
	if e.Code != 0 {
		w.Header().Set("X-ClickHouse-Exception-Code", strconv.Itoa(e.Code))
	}
	body := e.Text + "\n"
	h.extendDeadline(w)
	w.Header().Set("Content-Type", "text/plain; charset=UTF-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(statusOf(e.Code))
	// An error means that the client is gone.
	_, _ = w.Write([]byte(body))
}

// midStream returns the block by which a ClickHouse server reports an error after the status line
// was sent.
func midStream(tag string, err error) []byte {
	text := err.Error()
	const limit = 8 << 10 // clients read at most 16 KiB
	if len(text) > limit {
		text = text[:limit]
	}
	return fmt.Appendf(nil, "\r\n__exception__\r\n%s\r\n%s\n%d %s\r\n__exception__\r\n", tag, text, len(text)+1, tag)
}

// contentType returns the Content-Type of a result in this format.
func contentType(format string) string {
	switch {
	case strings.HasPrefix(format, "JSON"):
		return "application/json; charset=UTF-8"
	case strings.HasPrefix(format, "CSV"):
		return "text/csv; charset=UTF-8"
	case strings.HasPrefix(format, "TabSeparated"), strings.HasPrefix(format, "TSV"):
		return "text/tab-separated-values; charset=UTF-8"
	case strings.HasPrefix(format, "Pretty"), format == "Vertical", format == "Markdown":
		return "text/plain; charset=UTF-8"
	default:
		return "application/octet-stream"
	}
}

// streamable reports whether the chunks of a format can be sent one after the other. Other formats
// have a header, a footer or a frame around the whole result.
func streamable(format string) bool {
	switch format {
	case "Native", "TabSeparated", "TSV", "TabSeparatedRaw", "TSVRaw", "CSV", "JSONEachRow", "RowBinary":
		return true
	default:
		return false
	}
}
