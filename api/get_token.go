package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/mintlake/mintlake/api/history"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// getToken is GET /tokens/{mint}: one row of the registry, from memory. With as_of_slot or
// provenance it is read from history.
func (s *Server) getToken(c *fiber.Ctx) error {
	slot, asOf, err := querySlot(c, "as_of_slot")
	if err != nil {
		return err
	}
	provenance, err := queryBoolean(c, "provenance", false)
	if err != nil {
		return err
	}
	shape, err := queryShape(c, false)
	if err != nil {
		return err
	}
	mint, err := pathKey(c)
	if err != nil {
		return err
	}
	if asOf || provenance {
		return s.getTokenOfHistory(c, mint, pastToken{slot: slot, asOf: asOf, provenance: provenance, shape: shape})
	}
	buf := s.buf()
	found, member := s.memberRow(mint, &shape, &buf.bytes)
	if member && shape.plain() {
		c.Context().SetUserValue(keyBody, buf) // frees buf after the request: it may have the body
		c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
		return c.Send(found.json)
	}
	defer buf.free()
	if !member {
		return unknownMint(mint.String())
	}
	return s.sendJSON(c, rowResponse{found, s.writer(shape)})
}

// pastToken is what a request asks of a token if history must answer it.
type pastToken struct {
	// slot is used only if asOf is set.
	slot             uint64
	asOf, provenance bool
	shape            shape
}

// getTokenOfHistory answers from one fold of the events in ClickHouse. Fields and origins both come
// from this fold, so that they agree. Trading figures and evidence are not in it. They come from
// memory for the present; for the past there are none.
func (s *Server) getTokenOfHistory(c *fiber.Ctx, mint pubkey.Key, asked pastToken) error {
	if !asked.asOf && s.replica.Lookup(mint) == nil {
		return unknownMint(mint.String())
	}
	if s.history == nil {
		return noHistory()
	}
	absent := func() error {
		if asked.asOf {
			return newError(fiber.StatusNotFound, "mint %s was not in the registry at slot %d", quoted(mint.String()), asked.slot)
		}
		return notYet(mint)
	}
	ctx := context.WithoutCancel(c.UserContext())
	snapshot, err := s.history.AsOf(ctx, mint, asked.slot)
	if errors.Is(err, history.ErrUnknownMint) && asked.asOf && s.replica.Lookup(mint) != nil {
		// If ClickHouse has nothing of the mint yet, nobody can say whether the mint was in the
		// registry at the slot. Then the answer is 503, and not 404.
		if _, err := s.history.AsOf(ctx, mint, math.MaxUint64); err != nil {
			return s.historyError(err, mint)
		}
	}
	if errors.Is(err, history.ErrUnknownMint) {
		return absent()
	}
	if err != nil {
		return s.historyError(err, mint)
	}
	token, member := snapshot.Token()
	if !member {
		return absent()
	}
	var origins map[string]history.Origin
	if asked.provenance {
		origins = snapshot.Provenance()
	}
	found := row{token: &token}
	if !asked.asOf && !s.present(mint, &found, origins) {
		return unknownMint(mint.String())
	}
	w := rowWriter{shape: asked.shape}
	if !asked.asOf {
		w = s.writer(asked.shape)
	}
	// The lists must come from the same fold as the tags.
	w.listsOf = func(uint32) []registry.Listing { return snapshot.Lists() }
	body := w.appendRow(nil, &found)
	if asked.provenance {
		encoded, err := json.Marshal(origins)
		if err != nil {
			return fmt.Errorf("encode origins: %w", err) // a map of strings and numbers
		}
		body = append(append(appendName(body[:len(body)-1], "provenance"), encoded...), '}')
	}
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return c.Send(body)
}

// present adds what only memory has: the row id, the daily volume, and the time of the last trade.
// That time has no origin. present returns false if the mint is not a member any more.
func (s *Server) present(mint pubkey.Key, found *row, origins map[string]history.Origin) bool {
	id, member := s.replica.ID(mint)
	now := s.replica.Lookup(mint)
	if !member || now == nil {
		return false
	}
	found.id, found.token.DailyVolumeUSD = id, now.DailyVolumeUSD
	if now.LastSeenAt != nil && (found.token.LastSeenAt == nil || *now.LastSeenAt > *found.token.LastSeenAt) {
		found.token.LastSeenAt = now.LastSeenAt
		delete(origins, "last_seen_at")
	}
	return true
}

// querySlot reads a parameter that is a slot. If it is absent, querySlot returns the highest
// number, which stands for now.
func querySlot(c *fiber.Ctx, field string) (slot uint64, given bool, err error) {
	text, given, err := queryOnce(c, field)
	if err != nil || !given {
		return math.MaxUint64, false, err
	}
	slot, parseErr := strconv.ParseUint(text, 10, 64)
	if parseErr != nil || slot > math.MaxInt64 {
		return 0, true, invalid(field, quoted(text), fmt.Sprintf("must be a whole number from 0 to %d", math.MaxInt64))
	}
	return slot, true, nil
}

// pathText returns a path parameter, unescaped. If its escapes are invalid, it is returned as it
// came.
func pathText(c *fiber.Ctx, name string) string {
	text := c.Params(name)
	if unescaped, err := url.PathUnescape(text); err == nil {
		return unescaped
	}
	return text
}

// pathMint returns the path parameter mint.
func pathMint(c *fiber.Ctx) string { return pathText(c, "mint") }

// pathKey returns the mint that the path names. If the path has no valid key, the error is that of
// a mint that is not in the registry.
func pathKey(c *fiber.Ctx) (pubkey.Key, error) {
	text := pathMint(c)
	mint, err := pubkey.Parse(text)
	if err != nil {
		return mint, unknownMint(text)
	}
	return mint, nil
}

// idOf returns the row id of the mint that text names; false if text names no member.
func (s *Server) idOf(text string) (uint32, bool) {
	mint, err := pubkey.Parse(text)
	if err != nil {
		return 0, false
	}
	return s.replica.ID(mint)
}

// memberRow returns the row of a mint; false if the mint is not a member. The row's JSON may lie in
// buf, so the caller keeps buf as long as the row.
func (s *Server) memberRow(mint pubkey.Key, sh *shape, buf *[]byte) (row, bool) {
	id, member := s.replica.ID(mint)
	if !member {
		return row{}, false
	}
	return s.rowOf(id, sh, buf)
}
