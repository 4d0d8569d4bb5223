package das

import (
	"encoding/json"
	"maps"
	"math"
	"slices"

	"github.com/mintlake/mintlake/gateway/jsonrpc"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// ofOwner are the parameters of a call about what an owner has.
type ofOwner struct {
	owner pubkey.Key
	// mint is nil for all.
	mint        *pubkey.Key
	limit, page int
	// after is the cursor: the last key of the page before.
	after *pubkey.Key
	// zero asks for empty accounts too, grand for the number of all.
	zero, grand bool
}

// parseOwner reads them. owner is the name of the parameter with the owner. unknown is a parameter
// that is not supported, if there is one.
func parseOwner(members map[string]json.RawMessage, owner string) (q ofOwner, unknown string, err error) {
	q.limit, q.page = maxLimit, 1
	for _, name := range slices.Sorted(maps.Keys(members)) {
		known, wrong := q.set(name, members[name], owner)
		if !known {
			return q, name, nil
		}
		if err == nil {
			err = wrong
		}
	}
	if err == nil && members["page"] != nil && q.after != nil {
		err = jsonrpc.InvalidParams("give one of page and cursor")
	}
	return q, "", err
}

// set reads one parameter; known is false if it is not supported.
func (q *ofOwner) set(name string, raw json.RawMessage, owner string) (known bool, err error) {
	var key pubkey.Key
	switch name {
	case owner:
		q.owner, err = mintOf(raw, name)
	case "tokenType": // checked by the caller
		return owner == "ownerAddress", nil
	case "mint":
		key, err = mintOf(raw, name)
		q.mint = &key
		return owner == "owner", err
	case "limit":
		q.limit, err = numberOf(raw, name, maxLimit)
	case "page":
		q.page, err = numberOf(raw, name, math.MaxInt32/maxLimit)
	case "cursor", "after":
		if string(raw) != `""` {
			key, err = mintOf(raw, name)
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
		q.zero, q.grand = options.ShowZeroBalance, options.ShowGrandTotal
	default:
		// No fungible token is burnt or compressed: false leaves none out.
		return slices.Contains([]string{"burnt", "compressed", "compressible", "negate"}, name) && string(raw) == "false", nil
	}
	return true, err
}

// numbered returns the page's number; 0 if it was found by a cursor.
func (q *ofOwner) numbered() int {
	if q.after != nil {
		return 0
	}
	return q.page
}

// cut returns the page of a list that is sorted by key, and the cursor of the next page.
func cut[T any](q *ofOwner, list []T, key func(*T) pubkey.Key) (page []T, cursor string) {
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
