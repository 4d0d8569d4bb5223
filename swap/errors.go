package swap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/txn"
	"github.com/mintlake/mintlake/swap/venue"
)

// Codes of errors. The other codes are the texts of a venue.Refusal: see codeOf.
const (
	codeNoPool     = "no_pool"
	codeStale      = "stale_state"
	codeTooLarge   = "too_large_for_a_transaction"
	codeOutdated   = "quote_outdated"
	codeInvalid    = "invalid_request"
	codeRefused    = "transaction_refused"
	codeUnverified = string(venue.ErrUnverified)
	codeStopped    = string(venue.ErrStopped)
	codeMint       = string(venue.ErrMint)
)

// Error is the body of every response that is not a success. The inner error is only logged.
type Error struct {
	StatusCode int    `json:"statusCode"`
	Name       string `json:"error"`
	Message    string `json:"message"`
	// Code names the error where a program can react to it.
	Code string `json:"code,omitempty"`
	// Slot is the slot of the state, ChainSlot the slot of the chain. Both are set only with the
	// code stale_state.
	Slot      uint64 `json:"slot,omitempty"`
	ChainSlot uint64 `json:"chain_slot,omitempty"`
	// cause is the inner error, only for the log.
	cause error
}

// Error makes Error an error.
func (e *Error) Error() string { return e.Message }

func newError(status int, format string, args ...any) *Error {
	return &Error{StatusCode: status, Name: http.StatusText(status), Message: fmt.Sprintf(format, args...)}
}

// invalid returns a 400 that names the field, its value and the rule.
func invalid(field, value, rule string) *Error {
	return badRequest("%s is %s: %s", field, quoted(value), rule)
}

// missing returns a 400 about a required parameter that is absent, with its rule.
func missing(field, rule string) *Error { return badRequest("%s is missing: %s", field, rule) }

// twice returns a 400 about a parameter that is given twice.
func twice(field string) *Error { return badRequest("%s is given twice: it must be given once", field) }

// noUpstream returns the 503 of a server without a JSON-RPC server.
func noUpstream() *Error {
	return newError(fiber.StatusServiceUnavailable, "no JSON-RPC server is configured: start Mintlake with --rpc-upstream URL")
}

// tooMany returns the 503 of a server with maxInFlight requests in flight.
func tooMany() *Error {
	return newError(fiber.StatusServiceUnavailable, "too many requests in flight: try again")
}

// tooManyOfOne returns the 429 of a client that has as many requests in flight as one client may.
func tooManyOfOne() *Error {
	return newError(fiber.StatusTooManyRequests, "you have too many requests in flight: wait for their answers")
}

// tooManyConnections returns the response body for a connection that is refused because too many
// are open.
func tooManyConnections(status int, message string) []byte {
	body, _ := json.Marshal(newError(status, "%s", message)) // an Error can always be encoded
	return body
}

// badRequest returns a 400.
func badRequest(format string, args ...any) *Error {
	e := newError(fiber.StatusBadRequest, format, args...)
	e.Code = codeInvalid
	return e
}

// quoted returns a client's text in quotation marks. It is cut after 64 characters, so that it fits
// a message.
func quoted(value string) string {
	const most = 64
	value = strings.ToValidUTF8(value, "\ufffd")
	if runes := []rune(value); len(runes) > most {
		value = string(runes[:most]) + "…"
	}
	return fmt.Sprintf("%q", value)
}

// noRoute returns a 404: the request is valid, but no trade is possible.
func noRoute(code, format string, args ...any) *Error {
	e := newError(fiber.StatusNotFound, format, args...)
	e.Code = code
	return e
}

// outdated returns a 409: a quote that the client sent back no longer holds.
func outdated(format string, args ...any) *Error {
	e := newError(fiber.StatusConflict, format, args...)
	e.Code = codeOutdated
	return e
}

// codeOf returns the code for a pool's refusal. A closed pool counts as one without liquidity. A
// malformed pool, or an error that is no venue.Refusal, counts as no pool.
func codeOf(err error) string {
	switch refusal := venue.RefusalOf(err); refusal {
	case venue.ErrClosed:
		return string(venue.ErrNoLiquidity)
	case venue.ErrMalformed, "":
		return codeNoPool
	default:
		return string(refusal)
	}
}

// public turns any error into an Error.
func public(err error) *Error {
	var own *Error
	var theirs *fiber.Error
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &theirs):
		return newError(theirs.Code, "%s", http.StatusText(theirs.Code))
	case errors.Is(err, mint.ErrUntradable):
		return noRoute(codeMint, "%s", err)
	case errors.Is(err, txn.ErrTooLarge):
		return noRoute(codeTooLarge, "the route does not fit a transaction: %s", err)
	case errors.Is(err, venue.ErrStopped):
		return noRoute(codeStopped, "%s", err)
	}
	e := newError(fiber.StatusInternalServerError, "the request could not be answered; it is not your fault")
	e.cause = err
	return e
}

// away turns an error of reading the chain into a 503. A mint that cannot be swapped is a 404
// instead.
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

// fresh returns an error if state of a slot is too old to quote: more than maxAge slots behind the
// highest slot that any server reported lately.
func (s *Server) fresh(slot, maxAge uint64) error {
	tip := s.market.Tip()
	if slot+maxAge >= tip {
		return nil
	}
	e := newError(fiber.StatusServiceUnavailable, "the pools' state is of slot %d, and the chain is at %d: more than %d slots behind", slot, tip, maxAge)
	e.Code, e.Slot, e.ChainSlot = codeStale, slot, tip
	return e
}

// writeError sends err and logs its cause. If a 429 or 503 does not have the header Retry-After
// yet, it sets that to one second.
func (s *Server) writeError(c *fiber.Ctx, route string, err error) {
	e := public(err)
	if e.cause != nil {
		s.deps.Logger.Warn("quote failed", "route", route, "status", e.StatusCode, "err", e.cause)
	}
	if (e.StatusCode == fiber.StatusServiceUnavailable || e.StatusCode == fiber.StatusTooManyRequests) && len(c.Response().Header.Peek(fiber.HeaderRetryAfter)) == 0 {
		c.Set(fiber.HeaderRetryAfter, "1")
	}
	if err := c.Status(e.StatusCode).JSON(e); err != nil {
		c.Status(fiber.StatusInternalServerError)
	}
}
