package api

import (
	"strconv"

	"github.com/mintlake/mintlake/api/encode"
	"github.com/mintlake/mintlake/registry"
)

// listsSize is a guess at how many bytes the lists of a row take: most are on none or one.
const listsSize = 256

// appendLists writes which token lists hold a token.
func appendLists(dst []byte, lists []registry.Listing) []byte {
	dst = append(dst, '[')
	for i := range lists {
		if i > 0 {
			dst = append(dst, ',')
		}
		l := &lists[i]
		dst = encode.String(append(dst, `{"list":`...), l.List)
		dst = strconv.AppendInt(append(dst, `,"as_of":`...), l.AsOf, 10)
		dst = encode.Strings(append(dst, `,"tags":`...), l.Tags)
		for _, text := range []struct {
			name  string
			value *string
		}{{`,"sha256":`, l.SHA256}, {`,"signer":`, l.Signer}, {`,"signature":`, l.Signature}} {
			if dst = append(dst, text.name...); text.value == nil {
				dst = append(dst, "null"...)
			} else {
				dst = encode.String(dst, *text.value)
			}
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}
