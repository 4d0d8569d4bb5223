package framing

import "strings"

// Coded reports whether a body with this Content-Encoding must be decoded before it can be read. No
// API here decodes one: a few hundred bytes can decode to a gigabyte.
func Coded(contentEncoding string) bool {
	return contentEncoding != "" && !strings.EqualFold(contentEncoding, "identity")
}
