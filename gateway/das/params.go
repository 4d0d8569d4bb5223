package das

import (
	"encoding/json"
	"fmt"

	"github.com/mintlake/mintlake/gateway/jsonrpc"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

const (
	// maxIDs and maxLimit are the limits of the reference implementation, for the ids of one call
	// and the items of one page.
	maxIDs   = 1000
	maxLimit = 1000
	// maxName bounds the text of a search in bytes. A token's name on the chain has 32 bytes at
	// most, but a name in off-chain metadata may be longer.
	maxName = 256
)

// positions has the names of the parameters by their position, for calls that give them in an
// array, as Metaplex's own client does. searchAssets, which has many positions, is not supported in
// this form.
var positions = map[string][]string{getAsset: {"id", "options"}, getAssets: {"ids", "options"}, getAssetBatch: {"ids", "options"}}

// isList returns whether the parameters are given by position, in an array.
func isList(params json.RawMessage) bool {
	var list []json.RawMessage
	return json.Unmarshal(params, &list) == nil && list != nil
}

// named returns a method's parameters by name. It leaves out those that are null.
func named(method string, params json.RawMessage) (map[string]json.RawMessage, error) {
	var members map[string]json.RawMessage
	var list []json.RawMessage
	names := positions[method]
	switch {
	case json.Unmarshal(params, &members) == nil && members != nil:
	case json.Unmarshal(params, &list) == nil && len(list) > 0 && len(list) <= len(names):
		members = map[string]json.RawMessage{}
		for i, value := range list {
			members[names[i]] = value
		}
	default:
		return nil, jsonrpc.InvalidParams("must be an object, like {\"id\": \"…\"}")
	}
	for name, value := range members {
		if string(value) == "null" {
			delete(members, name)
		}
	}
	return members, nil
}

// addressOf reads an address in base58. field names the parameter in errors.
func addressOf(raw json.RawMessage, field string) (pubkey.Key, error) {
	var text string
	if raw == nil || json.Unmarshal(raw, &text) != nil {
		return pubkey.Key{}, jsonrpc.InvalidParams("%s must be an address in base58", field)
	}
	address, err := pubkey.Parse(text)
	if err != nil {
		return address, jsonrpc.InvalidParams("%s: %.60q is no address in base58", field, text)
	}
	return address, nil
}

func addressesOf(raw json.RawMessage) ([]pubkey.Key, error) {
	var list []json.RawMessage
	if raw == nil || json.Unmarshal(raw, &list) != nil {
		return nil, jsonrpc.InvalidParams("ids must be an array of addresses")
	}
	if len(list) > maxIDs {
		return nil, jsonrpc.InvalidParams("ids has %d addresses: at most %d", len(list), maxIDs)
	}
	ids := make([]pubkey.Key, len(list))
	for i, element := range list {
		id, err := addressOf(element, fmt.Sprintf("ids[%d]", i))
		if err != nil {
			return nil, err
		}
		ids[i] = id
	}
	return ids, nil
}
