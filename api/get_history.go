package api

import (
	"context"
	"errors"

	"github.com/gofiber/fiber/v2"

	"github.com/mintlake/mintlake/api/history"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// historyRetryAfter is the Retry-After, in seconds, of a 503 that is sent because ClickHouse does
// not answer.
const historyRetryAfter = "5"

// getHistory is GET /tokens/{mint}/history: the events of a mint, newest first, with what each one
// changed. It reads ClickHouse, because events are not kept in memory.
func (s *Server) getHistory(c *fiber.Ctx) error {
	limit, err := queryInteger(c, "limit", defaultLimit, maxLimit)
	if err != nil {
		return err
	}
	text, given, err := queryOnce(c, "before")
	if err != nil {
		return err
	}
	var before history.Cursor
	if given {
		var parseErr error
		if before, parseErr = history.ParseCursor(text); parseErr != nil {
			return invalid("before", quoted(text), "must be next of an earlier page")
		}
	}
	mint, err := pathKey(c)
	if err != nil {
		return err
	}
	if s.history == nil {
		return noHistory()
	}
	page, err := s.history.Page(context.WithoutCancel(c.UserContext()), mint, before, int(limit))
	if err != nil {
		return s.historyError(err, mint)
	}
	return c.JSON(page)
}

func unknownMint(mint string) *Error {
	return newError(fiber.StatusNotFound, "mint %s is not in the registry", quoted(mint))
}

func noHistory() *Error {
	e := newError(fiber.StatusServiceUnavailable, "history is not available: ClickHouse does not answer, and only lookups and searches without history are served from memory; try again later")
	e.headers = []string{fiber.HeaderRetryAfter, historyRetryAfter}
	return e
}

// historyError returns the answer to a question about history that failed with err.
func (s *Server) historyError(err error, mint pubkey.Key) error {
	switch {
	case errors.Is(err, history.ErrUnknownMint) && s.replica.Lookup(mint) != nil:
		return notYet(mint)
	case errors.Is(err, history.ErrUnknownMint):
		return unknownMint(mint.String())
	case errors.Is(err, history.ErrUnavailable):
		s.metrics.historyErrors.Inc()
		if s.historyLog.due(s.deps.Now()) {
			s.deps.Logger.Warn("history is not available", "err", err)
		}
		return noHistory()
	default:
		s.metrics.historyErrors.Inc()
		return err
	}
}

// notYet returns the answer for a mint that the replica has and ClickHouse does not have yet.
// ClickHouse is usually a second behind.
func notYet(mint pubkey.Key) *Error {
	e := newError(fiber.StatusServiceUnavailable, "the history of mint %s is not in ClickHouse yet; try again in a second", quoted(mint.String()))
	e.headers = []string{fiber.HeaderRetryAfter, "1"}
	return e
}
