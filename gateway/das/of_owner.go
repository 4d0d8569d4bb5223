package das

import (
	"encoding/json"
	"maps"
	"math"
	"slices"

	"github.com/mintlake/mintlake/gateway/jsonrpc"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// ownerQuery has the parameters of a call about what an owner has.
type ownerQuery struct {
	owner pubkey.Key
	// mint selects the accounts of one mint; nil selects all.
	mint        *pubkey.Key
	limit, page int
	// after is the cursor: the last key of the previous page, by which the list is sorted. It is
	// nil if the page is found by its number.
	after *pubkey.Key
	// withEmpty asks for empty accounts, too. grandTotal asks for the number of all items, not only
	// those of the page.
	withEmpty, grandTotal bool
}

// parseOwner reads the parameters of a call about an owner. ownerName is the name of the parameter
// that holds the owner: ownerAddress or, for getTokenAccounts, owner. unknown is the name of a
// parameter that is not supported, if there is one. Then err is nil, even if another parameter is
// wrong.
func parseOwner(members map[string]json.RawMessage, ownerName string) (q ownerQuery, unknown string, err error) {
	q.limit, q.page = maxLimit, 1
	for _, name := range slices.Sorted(maps.Keys(members)) {
		known, wrong := q.set(name, members[name], ownerName)
		if !known {
			return q, name, nil
		}
		if err == nil {
			err = wrong
		}
	}
	if err == nil && ownerName == "ownerAddress" && members[ownerName] == nil {
		err = jsonrpc.InvalidParams("ownerAddress is required")
	}
	if err == nil && members["page"] != nil && q.after != nil {
		err = jsonrpc.InvalidParams("give one of page and cursor")
	}
	return q, "", err
}

// set reads the parameter name. known is false if the method does not support the parameter.
func (q *ownerQuery) set(name string, raw json.RawMessage, ownerName string) (known bool, err error) {
	var key pubkey.Key
	switch name {
	case ownerName:
		q.owner, err = addressOf(raw, name)
	case "tokenType": // checked by the caller; getTokenAccounts does not have it
		return ownerName == "ownerAddress", nil
	case "mint": // only getTokenAccounts has it
		key, err = addressOf(raw, name)
		q.mint = &key
		return ownerName == "owner", err
	case "limit":
		q.limit, err = numberOf(raw, name, maxLimit)
	case "page":
		q.page, err = numberOf(raw, name, math.MaxInt32/maxLimit)
	case "cursor", "after":
		if string(raw) != `""` {
			key, err = addressOf(raw, name)
			q.after = &key
		}
	case "options", "displayOptions":
		var options struct {
			ShowZeroBalance bool `json:"showZeroBalance"`
			ShowGrandTotal  bool `json:"showGrandTotal"`
		}
		if json.Unmarshal(raw, &options) != nil || raw[0] != '{' {
			err = jsonrpc.InvalidParams("%s must be an object", name)
		}
		q.withEmpty, q.grandTotal = options.ShowZeroBalance, options.ShowGrandTotal
	default:
		// No fungible token is burnt or compressed, so false leaves no token out.
		return slices.Contains([]string{"burnt", "compressed", "compressible", "negate"}, name) && string(raw) == "false", nil
	}
	return true, err
}

// pageNumber returns the number of the page; 0 if the page was found by a cursor.
func (q *ownerQuery) pageNumber() int {
	if q.after != nil {
		return 0
	}
	return q.page
}

// pageOf returns the page of a list that is sorted by key. cursor is that of the next page; empty
// if there is none.
func pageOf[T any](q *ownerQuery, list []T, key func(*T) pubkey.Key) (page []T, cursor string) {
	begin := (q.page - 1) * q.limit
	if q.after != nil {
		begin = 0
		for begin < len(list) && pubkey.Compare(key(&list[begin]), *q.after) <= 0 {
			begin++
		}
	}
	if begin >= len(list) {
		return nil, ""
	}
	end := min(begin+q.limit, len(list))
	if end < len(list) {
		cursor = key(&list[end-1]).String()
	}
	return list[begin:end], cursor
}
