package api

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/mintlake/mintlake/replica/search"
)

// Bounds of GET /tokens, from the specification.
const (
	defaultLimit = 50
	maxLimit     = 200
)

// searchResponse is the body of GET /tokens.
type searchResponse struct {
	rows  []row
	write rowWriter
	page  int64
	limit int
	total int
	// walks is true if the order is by mint, in which pages are found by cursors. Then next is the
	// cursor of the next page, empty on the last page.
	walks bool
	next  string
}

// getTokens is GET /tokens: a search in the registry, or without a text the top tokens by
// Config.Ranking, by default the daily volume. With a cursor it walks through the registry.
func (s *Server) getTokens(c *fiber.Ctx) error {
	query, page, err := s.querySearch(c)
	if err != nil {
		return err
	}
	shape, err := queryShape(c, true)
	if err != nil {
		return err
	}
	result := s.replica.Search(query)
	response := searchResponse{
		rows: make([]row, 0, len(result.Hits)), write: s.writer(shape),
		page: page, limit: query.Limit, total: result.Total, walks: query.Sort == search.SortMint, next: result.Next,
	}
	buf := s.buf()
	defer buf.free()
	for _, hit := range result.Hits {
		// A token that is gone since the search is left out.
		if found, member := s.rowOf(hit.ID, &shape, &buf.bytes); member {
			found.hit = hit
			response.rows = append(response.rows, found)
		}
	}
	return s.sendJSON(c, response)
}

// querySearch reads the parameters of a search.
func (s *Server) querySearch(c *fiber.Ctx) (query search.Query, page int64, err error) {
	query.Text = c.Query("q")
	limit, err := queryInteger(c, "limit", defaultLimit, maxLimit)
	if err != nil {
		return query, 0, err
	}
	query.Limit = int(limit)
	if page, err = s.queryOrder(c, &query); err != nil {
		return query, 0, err
	}
	if query.IncludeToken22, err = queryBoolean(c, "include_token22", true); err != nil {
		return query, 0, err
	}
	query.Offset = math.MaxInt // beyond any registry
	if page-1 <= math.MaxInt32 {
		query.Offset = int((page - 1) * limit)
	}
	if query.Filter, err = queryFilter(c); err != nil {
		return query, page, err
	}
	figures, err := s.queryFigures(c)
	if err != nil {
		return query, page, err
	}
	held, err := s.queryHolders(c)
	query.Filter.Passes = both(figures, held)
	return query, page, err
}

// queryInteger reads a whole number from 1 to most. Without the parameter it returns otherwise,
// which may be 0.
func queryInteger(c *fiber.Ctx, field string, otherwise, most int64) (int64, error) {
	text, given, err := queryOnce(c, field)
	if err != nil || !given {
		return otherwise, err
	}
	n, parseErr := strconv.ParseInt(text, 10, 64)
	if parseErr != nil || n < 1 || n > most {
		return 0, invalid(field, quoted(text), fmt.Sprintf("must be a whole number from 1 to %d", most))
	}
	return n, nil
}

func queryBoolean(c *fiber.Ctx, field string, otherwise bool) (bool, error) {
	text, given, err := queryOnce(c, field)
	if err != nil || !given {
		return otherwise, err
	}
	if text != "true" && text != "false" {
		return false, invalid(field, quoted(text), "must be true or false")
	}
	return text == "true", nil
}

// queryList reads a list: texts with commas, or the parameter several times, or both. It is nil
// without the parameter.
func queryList(c *fiber.Ctx, field string) (list []string) {
	for _, text := range c.Context().QueryArgs().PeekMulti(field) {
		list = append(list, strings.Split(string(text), ",")...)
	}
	return list
}

// queryOnce reads a parameter. It refuses one that is given twice: which one is meant is unclear.
func queryOnce(c *fiber.Ctx, field string) (text string, given bool, err error) {
	values := c.Context().QueryArgs().PeekMulti(field)
	switch len(values) {
	case 0:
		return "", false, nil
	case 1:
		return string(values[0]), true, nil
	default:
		return "", false, invalid(field, fmt.Sprintf("given %d times", len(values)), "must be given once")
	}
}
