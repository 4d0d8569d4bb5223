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
	"github.com/mr-tron/base58"

	"github.com/mintlake/mintlake/api/history"
	"github.com/mintlake/mintlake/registry"
)

// getToken is GET /tokens/{mint}: one row of the registry, from memory; with as_of_slot or provenance from the history.
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
	mint := pathMint(c)
	if asOf || provenance {
		return s.getTokenOfHistory(c, mint, slot, asOf, provenance, shape.fields)
	}
	room := s.room()
	found, member := s.memberRow(mint, &shape, &room.bytes)
	if member && shape.plain() {
		c.Context().SetUserValue(keyBody, room) // the body may lie there
		c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
		return c.Send(found.json)
	}
	defer room.free()
	if !member {
		return unknownMint(mint)
	}
	return s.sendJSON(c, rowResponse{found, rowWriter{shape: shape, index: s.evidence}})
}

// tokenOfHistory is a token with the origin of its fields.
type tokenOfHistory struct {
	registry.Token
	Provenance map[string]history.Origin `json:"provenance,omitempty"`
}

// appendFields writes the fields that were asked for, and the origins of all.
func (t *tokenOfHistory) appendFields(fields []string) ([]byte, error) {
	w := rowWriter{shape: shape{fields: fields}}
	body := w.appendRow(nil, &row{token: &t.Token})
	if t.Provenance == nil {
		return body, nil
	}
	origins, err := json.Marshal(t.Provenance)
	body = append(append(appendName(body[:len(body)-1], "provenance"), origins...), '}')
	return body, err //nolint:wrapcheck // a map of strings and numbers
}

// getTokenOfHistory answers from one fold in ClickHouse, fields and origins alike, so that they fit together. There is no evidence of the past.
func (s *Server) getTokenOfHistory(c *fiber.Ctx, mint string, slot uint64, asOf, provenance bool, fields []string) error {
	if _, ok := mintKey(mint); !ok || !asOf && s.replica.Lookup(mint) == nil {
		return unknownMint(mint)
	}
	if s.history == nil {
		return noHistory()
	}
	absent := func() error {
		if asOf {
			return newError(fiber.StatusNotFound, "mint %s was not in the registry at slot %d", quoted(mint), slot)
		}
		return notYet(mint)
	}
	snapshot, err := s.history.AsOf(context.WithoutCancel(c.UserContext()), mint, slot)
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
	body := tokenOfHistory{Token: token}
	if provenance {
		body.Provenance = snapshot.Provenance()
	}
	if fields == nil {
		return c.JSON(body)
	}
	raw, err := body.appendFields(fields)
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return errors.Join(err, c.Send(raw))
}

// querySlot reads a slot; without the parameter it is the highest there can be.
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

// pathMint is the path parameter; escapes that are none stay as they are.
func pathMint(c *fiber.Ctx) string {
	mint := c.Params("mint")
	if unescaped, err := url.PathUnescape(mint); err == nil {
		return unescaped
	}
	return mint
}

// mintKey returns the 32 bytes that mint stands for; false when it is no base58 key.
func mintKey(mint string) ([]byte, bool) {
	if len(mint) < 32 || len(mint) > 44 { // 32 bytes in base58
		return nil, false
	}
	key, err := base58.Decode(mint)
	return key, err == nil && len(key) == 32
}

// memberRow is the row of a mint. It may lie in the room.
func (s *Server) memberRow(mint string, sh *shape, room *[]byte) (row, bool) {
	id, member := s.replica.ID(mint)
	if !member {
		return row{}, false
	}
	return s.rowOf(id, sh, room)
}
