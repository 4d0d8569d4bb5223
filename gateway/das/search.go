package das

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mintlake/mintlake/gateway/jsonrpc"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// search is a parsed call of searchAssets.
type search struct {
	name  string
	limit int
	// byID says that pages are in the order of the ids and are found by a cursor: after is the last
	// id of the previous page, empty for the first page. Otherwise page is the number of the page,
	// from 1, and sort is the value of the API's parameter sort.
	byID  bool
	after string
	page  int
	sort  string
	// grandTotal asks for the number of all matches.
	grandTotal bool
}

// assetList is a list of assets in the shape of the reference implementation's AssetList. Total is
// the number of items in it. GrandTotal is the number of all matches, which other providers add for
// showGrandTotal.
type assetList struct {
	Total      int      `json:"total"`
	Limit      int      `json:"limit"`
	Page       int      `json:"page,omitempty"`
	Cursor     string   `json:"cursor,omitempty"`
	Items      []*asset `json:"items"`
	GrandTotal *int     `json:"grand_total,omitempty"`
}

// searchAssets answers searches for fungible tokens. The upstreams answer searches by parameters
// that the registry cannot search by.
func (s *Server) searchAssets(ctx context.Context, members map[string]json.RawMessage, ask jsonrpc.Ask) (json.RawMessage, error) {
	if !isFungible(members["tokenType"]) {
		return nil, jsonrpc.ErrElsewhere
	}
	if members["ownerAddress"] != nil {
		return s.searchOwned(ctx, searchAssets, members, ask)
	}
	q, unknown, err := parseSearch(members)
	switch {
	case unknown != "" && ask != nil:
		return nil, jsonrpc.ErrElsewhere
	case unknown != "":
		return nil, jsonrpc.InvalidParams("the registry cannot search fungible tokens by %.60q, and no upstream is configured", unknown)
	case err != nil:
		return nil, err
	}
	var list *assetList
	if q.byID {
		list, err = s.pageByID(ctx, q)
	} else {
		list, err = s.pageByNumber(ctx, q)
	}
	if err != nil {
		return nil, err
	}
	list.Total, list.Limit = len(list.Items), q.limit
	if !q.grandTotal {
		list.GrandTotal = nil
	}
	return encode(list)
}

// isFungible reads tokenType. The reference implementation writes Fungible, others write fungible.
func isFungible(raw json.RawMessage) bool {
	var text string
	return raw != nil && json.Unmarshal(raw, &text) == nil && strings.EqualFold(text, "fungible")
}

// parseSearch reads the parameters of a search for fungible tokens. unknown is a parameter that the
// registry cannot search by, if there is one. Then err is nil, even if another parameter is wrong.
func parseSearch(members map[string]json.RawMessage) (q search, unknown string, err error) {
	q.limit = maxLimit
	paged := false
	// The names are sorted, so that the first error is always the same.
	for _, name := range slices.Sorted(maps.Keys(members)) {
		raw := members[name]
		var wrong error
		switch name {
		case "tokenType": // checked by searchAssets
		case "sortBy": // read by order
		case "conditionType": // no effect: name is the only condition
		case "name":
			if json.Unmarshal(raw, &q.name) != nil || q.name == "" || len(q.name) > maxName {
				wrong = jsonrpc.InvalidParams("name must be a text of 1 to %d bytes", maxName)
			}
		case "limit":
			q.limit, wrong = numberOf(raw, name, maxLimit)
		case "page":
			paged = true
			q.page, wrong = numberOf(raw, name, math.MaxInt32/maxLimit)
		case "cursor", "after":
			if string(raw) != `""` {
				var after pubkey.Key
				if after, wrong = addressOf(raw, name); wrong == nil {
					q.after = after.String()
				}
			}
		case "options", "displayOptions":
			q.grandTotal, wrong = optionsOf(raw, name)
		default:
			// No token of the registry is burnt, compressed or compressible, and negate is off by
			// default: false leaves no token out.
			if !slices.Contains([]string{"burnt", "compressed", "compressible", "negate"}, name) || string(raw) != "false" {
				return q, name, nil
			}
		}
		if err == nil {
			err = wrong
		}
	}
	if err != nil {
		return q, "", err
	}
	unknown, err = q.order(members["sortBy"], paged)
	return q, unknown, err
}

// order sets the order of the pages. raw is the parameter sortBy; nil if there is none. Then the
// order is by id if the search has a cursor, or neither a name nor a page, and else by relevance.
// paged says that the search has the parameter page. unknown is "sortBy" if the registry does not
// have the order.
func (q *search) order(raw json.RawMessage, paged bool) (unknown string, err error) {
	var by struct{ SortBy, SortDirection string }
	if raw != nil && (json.Unmarshal(raw, &by) != nil || !slices.Contains([]string{"", "asc", "desc"}, by.SortDirection)) {
		return "", jsonrpc.InvalidParams("sortBy must be an object of sortBy and sortDirection")
	}
	switch {
	case by.SortBy == "id" && by.SortDirection == "desc", by.SortBy == "updated", by.SortBy == "recent_action":
		return "sortBy", nil
	case by.SortBy == "id", by.SortBy == "" && !paged && q.name == "", q.after != "" && by.SortBy == "":
		q.byID = true
		if paged && q.after != "" {
			return "", jsonrpc.InvalidParams("give one of page and cursor")
		}
		if q.page > 1 {
			return "", jsonrpc.InvalidParams("pages by id are found with cursor, which each answer has")
		}
		return "", nil
	case by.SortBy == "", by.SortBy == "none":
		q.sort = "relevance"
	case by.SortBy == "created" && by.SortDirection == "asc":
		q.sort = "oldest"
	case by.SortBy == "created":
		q.sort = "newest"
	default:
		return "", jsonrpc.InvalidParams("sortBy must be id, created, updated, recent_action or none")
	}
	if q.after != "" {
		return "", jsonrpc.InvalidParams("a cursor goes with the order by id")
	}
	q.page = max(q.page, 1)
	return "", nil
}

func numberOf(raw json.RawMessage, name string, most int) (int, error) {
	n, err := strconv.ParseUint(string(bytes.TrimSpace(raw)), 10, 31)
	if err != nil || n < 1 || int(n) > most {
		return 0, jsonrpc.InvalidParams("%s must be a whole number from 1 to %d", name, most)
	}
	return int(n), nil
}

func optionsOf(raw json.RawMessage, name string) (grandTotal bool, err error) {
	var options struct {
		ShowGrandTotal bool `json:"showGrandTotal"`
	}
	if json.Unmarshal(raw, &options) != nil || raw[0] != '{' {
		return false, jsonrpc.InvalidParams("%s must be an object", name)
	}
	return options.ShowGrandTotal, nil
}

// apiLimit is how many rows GET /tokens answers at most.
const apiLimit = 200

// pageByID collects a page in the order of the ids. A page of more than apiLimit takes several
// answers of the API.
func (s *Server) pageByID(ctx context.Context, q search) (*assetList, error) {
	list := &assetList{Items: []*asset{}}
	for after := q.after; len(list.Items) < q.limit; {
		rows, err := s.rows(ctx, url.Values{
			"sort": {"mint"}, "cursor": {after}, "q": {q.name}, "limit": {strconv.Itoa(min(apiLimit, q.limit-len(list.Items)))},
		})
		if err != nil {
			return nil, err
		}
		list.add(rows, 0, len(rows.Items))
		// A cursor that stays the same would never end the loop.
		if list.Cursor = rows.NextCursor; list.Cursor == "" || list.Cursor == after {
			break
		}
		after = list.Cursor
	}
	return list, nil
}

// pageByNumber collects a page by its number. A page of more than apiLimit takes several answers of
// the API.
func (s *Server) pageByNumber(ctx context.Context, q search) (*assetList, error) {
	list := &assetList{Page: q.page, Items: []*asset{}}
	begin, end, size := (q.page-1)*q.limit, q.page*q.limit, min(q.limit, apiLimit)
	for number := begin / size; number*size < end; number++ {
		rows, err := s.rows(ctx, url.Values{"sort": {q.sort}, "q": {q.name}, "page": {strconv.Itoa(number + 1)}, "limit": {strconv.Itoa(size)}})
		if err != nil {
			return nil, err
		}
		list.add(rows, begin-number*size, end-number*size)
		if (number+1)*size >= rows.Total {
			break
		}
	}
	return list, nil
}

// add appends the rows from index begin to end, as far as they exist. It records the number of all
// matches, too.
func (l *assetList) add(rows *rows, begin, end int) {
	l.GrandTotal = &rows.Total
	for i := max(begin, 0); i < min(end, len(rows.Items)); i++ {
		l.Items = append(l.Items, rows.Items[i].asset())
	}
}
