package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// Error is the body of every response that is not a success. Inner errors are only logged.
type Error struct {
	StatusCode int    `json:"statusCode"`
	Name       string `json:"error"`
	Message    string `json:"message"`
	// headers are pairs of name and value.
	headers []string
}

// Error makes Error an error.
func (e *Error) Error() string { return e.Message }

// raw returns the error as a whole HTTP response that closes its connection, for a connection that
// has no request yet.
func (e *Error) raw() []byte {
	body, _ := json.Marshal(e) // cannot fail: two strings and a number
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nRetry-After: 1\r\nAccess-Control-Allow-Origin: *\r\n"+
		"Cache-Control: no-store\r\nConnection: close\r\n\r\n%s", e.StatusCode, e.Name, len(body), body)
}

func newError(status int, format string, args ...any) *Error {
	return &Error{StatusCode: status, Name: http.StatusText(status), Message: fmt.Sprintf(format, args...)}
}

// invalid returns a 400 that names the field, its value and the rule.
func invalid(field, value, rule string) *Error {
	return newError(fiber.StatusBadRequest, "%s is %s: %s", field, clip(value), rule)
}

// clip returns value, at most 64 characters of it, as valid UTF-8, so that a message can repeat
// what a client sent.
func clip(value string) string {
	const most = 64
	value = strings.ToValidUTF8(value, "\ufffd")
	if runes := []rune(value); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return value
}

// quoted returns a client's text clipped and in quotation marks, for a message.
func quoted(value string) string { return fmt.Sprintf("%q", clip(value)) }

// public returns the Error that a client gets for err. An Error is returned as it is. An error of
// fiber keeps its status. Any other error is logged and becomes a 500 without details.
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

// handleServerError answers requests that never reached a route: broken HTTP, bodies that are too
// large, timeouts.
func (s *Server) handleServerError(c *fiber.Ctx, err error) error {
	linger(c)
	s.writeError(c, err)
	s.metrics.requests.WithLabelValues(routeOther, fmt.Sprint(c.Response().StatusCode())).Inc()
	return nil
}

// linger makes Close of the request's connection read on for a while before it closes the
// connection. Otherwise TCP would throw away the response to a request that is still being sent:
// see listen.CloseLate.
func linger(c *fiber.Ctx) {
	if open, ok := c.Context().Conn().(*connection); ok {
		open.linger.Store(true)
	}
}
