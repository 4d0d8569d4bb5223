package swap

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/txn"
)

// Error is what a client is told: the body of every response that is not a success. Inner errors
// are logged, never told.
type Error struct {
	StatusCode int    `json:"statusCode"`
	Name       string `json:"error"`
	Message    string `json:"message"`
	// cause is for the log alone.
	cause error
}

// Error makes Error an error.
func (e *Error) Error() string { return e.Message }

func newError(status int, format string, args ...any) *Error {
	return &Error{StatusCode: status, Name: http.StatusText(status), Message: fmt.Sprintf(format, args...)}
}

// invalid is a 400 that names field, value and rule.
func invalid(field, value, rule string) *Error {
	return newError(fiber.StatusBadRequest, "%s is %s: %s", field, quoted(value), rule)
}

// missing is a 400 that names a parameter that is required, and its rule.
func missing(field, rule string) *Error {
	return newError(fiber.StatusBadRequest, "%s is missing: %s", field, rule)
}

// quoted is a client's string, short enough to be told back.
func quoted(value string) string {
	const most = 64
	value = strings.ToValidUTF8(value, "\ufffd")
	if runes := []rune(value); len(runes) > most {
		value = string(runes[:most]) + "…"
	}
	return fmt.Sprintf("%q", value)
}

// noRoute is a 404: the request was right and nothing can fill it.
func noRoute(format string, args ...any) *Error {
	return newError(fiber.StatusNotFound, format, args...)
}

// public makes an Error of any error.
func public(err error) *Error {
	var own *Error
	var theirs *fiber.Error
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &theirs):
		return newError(theirs.Code, "%s", http.StatusText(theirs.Code))
	case errors.Is(err, mint.ErrUntradable):
		return noRoute("%s", err)
	case errors.Is(err, txn.ErrTooLarge):
		return noRoute("the route does not fit a transaction")
	}
	e := newError(fiber.StatusInternalServerError, "the request could not be answered; it is not your fault")
	e.cause = err
	return e
}

// away is a 503 about the node.
func away(err error) *Error {
	if errors.Is(err, mint.ErrUntradable) {
		return public(err)
	}
	message := "the JSON-RPC server that pools are read from does not answer: try again"
	if errors.Is(err, context.DeadlineExceeded) {
		message = "the JSON-RPC server that pools are read from did not answer in time: try again"
	}
	e := newError(fiber.StatusServiceUnavailable, "%s", message)
	e.cause = err
	return e
}

// writeError answers with err, counts it and logs what the client is not told.
func (s *Server) writeError(c *fiber.Ctx, route string, err error) {
	e := public(err)
	if e.cause != nil {
		s.deps.Logger.Warn("quote failed", "route", route, "status", e.StatusCode, "err", e.cause)
	}
	if e.StatusCode == fiber.StatusServiceUnavailable {
		c.Set(fiber.HeaderRetryAfter, "1")
	}
	if err := c.Status(e.StatusCode).JSON(e); err != nil {
		c.Status(fiber.StatusInternalServerError)
	}
}
