package registry

import "strings"

// Text makes a string of the chain fit to show: invalid UTF-8 becomes U+FFFD, and NUL and space
// padding around it goes.
func Text(raw []byte) string {
	return strings.Trim(strings.ToValidUTF8(string(raw), "\uFFFD"), "\x00 \t\r\n")
}
