package api

import (
	"encoding/json"
	"fmt"

	"github.com/mintlake/mintlake/registry"
)

// listsSize estimates how many bytes the lists of a row take: most tokens are on none or one.
const listsSize = 256

// appendLists writes the token lists that hold a token.
func appendLists(dst []byte, lists []registry.Listing) []byte {
	if lists == nil {
		return append(dst, "[]"...)
	}
	encoded, err := json.Marshal(lists)
	if err != nil {
		panic(fmt.Sprintf("encode lists: %v", err)) // texts and numbers always encode
	}
	return append(dst, encoded...)
}
