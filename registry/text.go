package registry

import "strings"

// Text makes a string of the chain fit to show. It replaces invalid UTF-8 by U+FFFD, and trims NUL
// and white space at both ends.
func Text(raw []byte) string {
	return strings.Trim(strings.ToValidUTF8(string(raw), "\uFFFD"), "\x00 \t\r\n")
}
