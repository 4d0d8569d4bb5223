package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// Error is what a client is told: the body of every response that is not a success. Inner errors
// are logged, never told.
type Error struct {
	StatusCode int    `json:"statusCode"`
	Name       string `json:"error"`
	Message    string `json:"message"`
	// headers are pairs of name and value.
	headers []string
}

// Error makes Error an error.
func (e *Error) Error() string { return e.Message }

// raw is the error as a whole HTTP response that ends its connection, for where there is no request
// yet.
func (e *Error) raw() []byte {
	body, _ := json.Marshal(e) // two strings and a number
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nRetry-After: 1\r\nAccess-Control-Allow-Origin: *\r\n"+
		"Cache-Control: no-store\r\nConnection: close\r\n\r\n%s", e.StatusCode, e.Name, len(body), body)
}

func newError(status int, format string, args ...any) *Error {
	return &Error{StatusCode: status, Name: http.StatusText(status), Message: fmt.Sprintf(format, args...)}
}

// invalid is a 400 that names field, value and rule.
func invalid(field, value, rule string) *Error {
	return newError(fiber.StatusBadRequest, "%s is %s: %s", field, clip(value), rule)
}

// clip keeps what a client sent short enough to be told back.
func clip(value string) string {
	const most = 64
	value = strings.ToValidUTF8(value, "\ufffd")
	if runes := []rune(value); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return value
}

// quoted is a client's string as it appears in a message.
func quoted(value string) string { return fmt.Sprintf("%q", clip(value)) }

// public makes an Error of any error: fiber's own by their status, everything else is a 500 that
// tells nothing.
func (s *Server) public(c *fiber.Ctx, err error) *Error {
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	var theirs *fiber.Error
	if !errors.As(err, &theirs) {
		s.deps.Logger.Error("request failed", "request_id", requestID(c), "method", c.Method(), "route", c.Path(), "err", err)
		return newError(fiber.StatusInternalServerError, "the request could not be answered; it is not your fault")
	}
	switch theirs.Code {
	case fiber.StatusRequestEntityTooLarge:
		return newError(theirs.Code, "the body is larger than %d bytes", s.cfg.BodyLimit)
	case fiber.StatusRequestHeaderFieldsTooLarge:
		return newError(theirs.Code, "the request line and headers are larger than %d bytes", readBufferSize)
	case fiber.StatusRequestTimeout:
		return newError(theirs.Code, "the request did not arrive within %s", s.cfg.ReadTimeout)
	case fiber.StatusBadRequest:
		return newError(theirs.Code, "the request is no valid HTTP")
	default:
		return newError(theirs.Code, "%s", http.StatusText(theirs.Code))
	}
}

// writeError answers with err.
func (s *Server) writeError(c *fiber.Ctx, err error) {
	setCommonHeaders(c)
	e := s.public(c, err)
	for i := 0; i+1 < len(e.headers); i += 2 {
		c.Set(e.headers[i], e.headers[i+1])
	}
	c.Set(fiber.HeaderCacheControl, cacheNever)
	if err := c.Status(e.StatusCode).JSON(e); err != nil {
		c.Status(fiber.StatusInternalServerError)
	}
}

// refuseFraming answers a request whose end is ambiguous, and closes its connection: what comes
// next may be a part of it.
func (s *Server) refuseFraming(c *fiber.Ctx, why error) error {
	linger(c)
	c.Context().SetConnectionClose()
	return newError(fiber.StatusBadRequest, "the request's length is ambiguous: %s", why)
}

// handleServerError answers what never reached a route: broken HTTP, bodies that are too large,
// time-outs.
func (s *Server) handleServerError(c *fiber.Ctx, err error) error {
	linger(c)
	s.writeError(c, err)
	s.metrics.requests.WithLabelValues(routeOther, fmt.Sprint(c.Response().StatusCode())).Inc()
	return nil
}

// linger lets the connection be read on for a while before it is closed: see lingerTime.
func linger(c *fiber.Ctx) {
	if open, ok := c.Context().Conn().(*connection); ok {
		open.linger.Store(true)
	}
}
