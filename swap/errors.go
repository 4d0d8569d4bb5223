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
	"github.com/mintlake/mintlake/swap/venue"
)

// Codes of errors, besides those of venue.Refusal.
const (
	codeNoPool     = "no_pool"
	codeStale      = "stale_state"
	codeTooLarge   = "too_large_for_a_transaction"
	codeOutdated   = "quote_outdated"
	codeInvalid    = "invalid_request"
	codeUnverified = string(venue.ErrUnverified)
	codeStopped    = string(venue.ErrStopped)
	codeMint       = string(venue.ErrMint)
)

// Error is what a client is told: the body of every response that is not a success. Inner errors
// are logged, never told.
type Error struct {
	StatusCode int    `json:"statusCode"`
	Name       string `json:"error"`
	Message    string `json:"message"`
	// Code says what is wrong in a word, where a program could act on it.
	Code string `json:"code,omitempty"`
	// Slot that the state is of, and the chain's: of stale_state.
	Slot      uint64 `json:"slot,omitempty"`
	ChainSlot uint64 `json:"chain_slot,omitempty"`
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
	return badRequest("%s is %s: %s", field, quoted(value), rule)
}

// missing is a 400 that names a parameter that is required, and its rule.
func missing(field, rule string) *Error { return badRequest("%s is missing: %s", field, rule) }

// twice is a 400 about a parameter that is given twice.
func twice(field string) *Error { return badRequest("%s is given twice: it must be given once", field) }

// noUpstream is a 503 of a server that cannot read the chain.
func noUpstream() *Error {
	return newError(fiber.StatusServiceUnavailable, "no JSON-RPC server is configured: start Mintlake with --rpc-upstream URL")
}

// tooMany is a 503 of a server that has enough to do.
func tooMany() *Error {
	return newError(fiber.StatusServiceUnavailable, "too many requests in flight: try again")
}

// badRequest is a 400.
func badRequest(format string, args ...any) *Error {
	e := newError(fiber.StatusBadRequest, format, args...)
	e.Code = codeInvalid
	return e
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
func noRoute(code, format string, args ...any) *Error {
	e := newError(fiber.StatusNotFound, format, args...)
	e.Code = code
	return e
}

// outdated is a 409: a quote that the client brought does not hold any more.
func outdated(format string, args ...any) *Error {
	e := newError(fiber.StatusConflict, format, args...)
	e.Code = codeOutdated
	return e
}

// codeOf is the code of a pool's refusal. A pool that does not trade has no liquidity to give, and
// what is no pool is none.
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

// fresh says whether state of a slot may be quoted: it is at most maxAge slots behind the highest
// slot that any server reported.
func (s *Server) fresh(slot, maxAge uint64) error {
	tip := s.market.Tip()
	if slot+maxAge >= tip {
		return nil
	}
	e := newError(fiber.StatusServiceUnavailable, "the pools' state is of slot %d, and the chain is at %d: more than %d slots behind", slot, tip, maxAge)
	e.Code, e.Slot, e.ChainSlot = codeStale, slot, tip
	return e
}

// writeError answers with err, counts it and logs what the client is not told.
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
