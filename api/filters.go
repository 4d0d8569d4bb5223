package api

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"github.com/mintlake/mintlake/replica/search"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/solana/tokenaccount"
)

// maxTag bounds the tag in a query, in bytes. Tags in off-chain metadata are shorter.
const maxTag = 64

// queryFilter reads the filters that search and stream share.
func queryFilter(c *fiber.Ctx) (filter search.Filter, err error) {
	if filter.Program, err = queryProgram(c); err != nil {
		return filter, err
	}
	if filter.Extensions, err = queryExtensions(c, "ext"); err != nil {
		return filter, err
	}
	if filter.NotExtensions, err = queryExtensions(c, "not_ext"); err != nil {
		return filter, err
	}
	if filter.Tag, err = queryTag(c); err != nil {
		return filter, err
	}
	if filter.Launchpad, err = queryLaunchpad(c); err != nil {
		return filter, err
	}
	if filter.MinVolume, err = queryUSD(c, "min_volume"); err != nil {
		return filter, err
	}
	filter.CreatedAfter, err = queryCreatedAfter(c)
	return filter, err
}

// programs are the token programs, by the names that queries use.
var programs = map[string]search.Program{
	"token": search.ProgramToken, schemas.ProgramToken: search.ProgramToken,
	"token-2022": search.ProgramToken2022, schemas.ProgramToken2022: search.ProgramToken2022,
}

func queryProgram(c *fiber.Ctx) (search.Program, error) {
	text, given, err := queryOnce(c, "program")
	if err != nil || !given {
		return search.ProgramAny, err
	}
	program, known := programs[text]
	if !known {
		return program, invalid("program", quoted(text), "must be token, token-2022 or the address of one of the two programs")
	}
	return program, nil
}

// extensionKinds returns the values of ext and not_ext, sorted: the kinds of Token-2022 extensions,
// which are numbered from 1 without a gap.
func extensionKinds() []string {
	var kinds []string
	for number := uint16(1); ; number++ {
		kind := tokenaccount.ExtensionName(number)
		if strings.HasPrefix(kind, "unknown_") {
			slices.Sort(kinds)
			return kinds
		}
		kinds = append(kinds, kind)
	}
}

func queryExtensions(c *fiber.Ctx, field string) ([]string, error) {
	kinds := queryList(c, field)
	if kinds == nil {
		return nil, nil
	}
	known := extensionKinds()
	for _, kind := range kinds {
		if _, found := slices.BinarySearch(known, kind); !found {
			return nil, invalid(field, quoted(kind), "must be of "+strings.Join(known, ", ")+", several with commas between")
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds), nil
}

func queryTag(c *fiber.Ctx) (string, error) {
	text, given, err := queryOnce(c, "tag")
	if err != nil || !given {
		return "", err
	}
	if text == "" || len(text) > maxTag || !utf8.ValidString(text) {
		return "", invalid("tag", quoted(text), fmt.Sprintf("must be 1 to %d bytes of UTF-8", maxTag))
	}
	return text, nil
}

func queryLaunchpad(c *fiber.Ctx) (string, error) {
	text, given, err := queryOnce(c, "launchpad")
	if err != nil || !given {
		return "", err
	}
	if known := schemas.Launchpads(); !slices.Contains(known, text) {
		return "", invalid("launchpad", quoted(text), "must be "+strings.Join(known, " or "))
	}
	return text, nil
}

// queryUSD reads a lower bound in USD. It returns nil if the parameter is absent.
func queryUSD(c *fiber.Ctx, field string) (*float64, error) {
	text, given, err := queryOnce(c, field)
	if err != nil || !given {
		return nil, err
	}
	// ParseFloat also takes hexadecimal numbers and underscores, which the API refuses.
	usd, parseErr := strconv.ParseFloat(text, 64)
	if parseErr != nil || !(usd >= 0) || math.IsInf(usd, 0) || strings.ContainsAny(text, "xX_") {
		return nil, invalid(field, quoted(text), "must be a decimal number of USD, at least 0")
	}
	return &usd, nil
}

func queryCreatedAfter(c *fiber.Ctx) (*int64, error) {
	text, given, err := queryOnce(c, "created_after")
	if err != nil || !given {
		return nil, err
	}
	ms, parseErr := strconv.ParseInt(text, 10, 64)
	if parseErr != nil || ms < 0 {
		return nil, invalid("created_after", quoted(text), fmt.Sprintf("must be a time in epoch milliseconds, from 0 to %d", math.MaxInt64))
	}
	return &ms, nil
}

// sorts are the orders of a search by their names.
var sorts = map[string]search.Sort{
	"relevance": search.SortRelevance, "volume": search.SortVolume, "newest": search.SortNewest, "oldest": search.SortOldest, "mint": search.SortMint,
}

// queryOrder reads sort, cursor and page, which depend on each other: a walk through all tokens
// uses cursors, any other order uses pages. A parameter that is valid by itself is never refused
// because of another one: OpenAPI cannot express such a rule, so clients could not know it.
func (s *Server) queryOrder(c *fiber.Ctx, query *search.Query) (page int64, err error) {
	if page, err = queryInteger(c, "page", 1, math.MaxInt64); err != nil {
		return 0, err
	}
	sort, sorted, err := queryOnce(c, "sort")
	if err != nil {
		return 0, err
	}
	if sorted {
		order, known := sorts[sort]
		figure, isFigure := marketSorts()[sort]
		switch {
		case isFigure:
			query.Sort, query.Figure = search.SortFigure, s.replica.Figure(figure)
		case sort == fieldHolders:
			query.Sort, query.Figure = search.SortFigure, s.replica.HolderCount
		case !known:
			return 0, invalid("sort", quoted(sort), "must be relevance, volume, newest, oldest, mint, "+strings.Join(slices.Sorted(maps.Keys(marketSorts())), ", ")+", "+fieldHolders)
		default:
			query.Sort = order
		}
	}
	cursor, walks, err := queryOnce(c, "cursor")
	switch {
	case err != nil:
		return 0, err
	case walks && cursor != "" && !search.ValidCursor(cursor):
		return 0, invalid("cursor", quoted(cursor), "must be the next_cursor of a page, or empty for the first one")
	case walks: // the cursor overrides sort and page, because only the order by mint has cursors
		query.Sort, query.Cursor = search.SortMint, cursor
	}
	if query.Sort == search.SortMint {
		page = 1
	}
	return page, nil
}
