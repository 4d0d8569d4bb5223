package api

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/mintlake/mintlake/api/balances"
	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// keepsBalances returns a handler that calls handle. On a node that keeps no balances it answers
// 404 instead.
func (s *Server) keepsBalances(handle fiber.Handler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		if s.deps.Balances == nil {
			return newError(fiber.StatusNotFound, "this node keeps no balances: the setting balances.mode is off")
		}
		return handle(c)
	}
}

// balancesError returns the answer to a question about balances that failed with err.
func (s *Server) balancesError(err error) error {
	var outside *balances.OutsideHistory
	switch {
	case errors.As(err, &outside):
		return newError(fiber.StatusBadRequest, "at_slot is outside of what is held: %s", outside.Error())
	case errors.Is(err, balances.ErrNeedsNow):
		return newError(fiber.StatusBadRequest, "exclude has wallet or program beside at_slot: %s", err.Error())
	case !errors.Is(err, clickhouse.ErrUnavailable):
		return err
	}
	if s.historyLog.due(s.deps.Now()) {
		s.deps.Logger.Warn("balances are not available", "err", err)
	}
	e := newError(fiber.StatusServiceUnavailable, "balances are not available: ClickHouse does not answer, and they are not kept in memory; try again later")
	e.headers = []string{fiber.HeaderRetryAfter, historyRetryAfter}
	return e
}

// balancesMint returns the mint of a request about balances. It is an error if the mint is not in
// the registry.
func (s *Server) balancesMint(c *fiber.Ctx) (pubkey.Key, error) {
	mint, err := pathKey(c)
	if err == nil && s.replica.Lookup(mint) == nil {
		return mint, unknownMint(mint.String())
	}
	return mint, err
}

// pathOwner returns the wallet that the path names.
func pathOwner(c *fiber.Ctx) (pubkey.Key, error) {
	text := pathText(c, "owner")
	owner, err := pubkey.Parse(text)
	if err != nil {
		return owner, newError(fiber.StatusNotFound, "owner %s is no address", quoted(text))
	}
	return owner, nil
}

// queryAtSlot reads the parameter at_slot. It returns nil if the parameter is absent.
func queryAtSlot(c *fiber.Ctx) (*uint64, error) {
	slot, given, err := querySlot(c, "at_slot")
	if err != nil || !given {
		return nil, err
	}
	return &slot, nil
}

// queryMoment reads a parameter that is a time in Unix seconds. It returns the zero time if the
// parameter is absent.
func queryMoment(c *fiber.Ctx, field string) (time.Time, error) {
	const most = 1<<32 - 1
	seconds, err := queryInteger(c, field, 0, most)
	if err != nil || seconds == 0 {
		return time.Time{}, err
	}
	return time.Unix(seconds, 0), nil
}

// queryRaw reads a parameter that is an amount in raw units. It returns 0 if the parameter is
// absent.
func queryRaw(c *fiber.Ctx, field string) (uint64, error) {
	text, given, err := queryOnce(c, field)
	if err != nil || !given {
		return 0, err
	}
	raw, parseErr := strconv.ParseUint(text, 10, 64)
	if parseErr != nil {
		return 0, invalid(field, quoted(text), "must be a raw amount, a whole number from 0 to 2^64-1")
	}
	return raw, nil
}

// queryCursor reads the parameter cursor. It returns the zero value if the parameter is absent or
// empty.
func queryCursor[T any](c *fiber.Ctx, parse func(text string) (T, error)) (cursor T, err error) {
	text, given, err := queryOnce(c, "cursor")
	if err != nil || !given || text == "" {
		return cursor, err
	}
	cursor, parseErr := parse(text)
	if parseErr != nil {
		return cursor, invalid("cursor", quoted(text), "must be next of an earlier page")
	}
	return cursor, nil
}

// optionalKey returns a pointer to key; nil for the zero key, which stands for none.
func optionalKey(key pubkey.Key) *pubkey.Key {
	if key.IsZero() {
		return nil
	}
	return &key
}

// optionalAmount returns a raw amount in decimal digits; nil if raw is nil.
func optionalAmount(raw *uint64) *string {
	if raw == nil {
		return nil
	}
	text := fmt.Sprint(*raw)
	return &text
}
