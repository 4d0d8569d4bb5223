package registry

import "strings"

// URIPattern is the rule of IsURI as an RE2 regular expression, for the projector's SQL. A property
// test holds the two equal.
const URIPattern = `^[A-Za-z][A-Za-z0-9+.-]*:(//\[[0-9A-Fa-f:.]+\])?([A-Za-z0-9._~:/?@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*(#([A-Za-z0-9._~:/?@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)?$`

// IsURI reports whether text can be a URI of RFC 3986: a scheme, then only characters that a URI
// may contain. Any scheme will do, and nothing is fetched. A field that the specification calls a
// URI shows only such texts. Facts keep every text.
func IsURI(text string) bool {
	colon := strings.IndexByte(text, ':')
	if colon < 1 || !isLetter(text[0]) {
		return false
	}
	for i := 1; i < colon; i++ {
		if c := text[i]; !isLetter(c) && !isDigit(c) && c != '+' && c != '.' && c != '-' {
			return false
		}
	}
	fragment := false
	for rest := afterAddress(text[colon+1:]); rest != ""; {
		switch c := rest[0]; {
		case uriCharacters[c]:
		case c == '#' && !fragment:
			fragment = true
		case c == '%' && len(rest) > 2 && isHex(rest[1]) && isHex(rest[2]):
			rest = rest[2:]
		default:
			return false
		}
		rest = rest[1:]
	}
	return true
}

// afterAddress cuts off a leading IPv6 address such as "//[::1]", the only place where a URI may
// have brackets.
func afterAddress(text string) string {
	inside, found := strings.CutPrefix(text, "//[")
	if !found {
		return text
	}
	address, rest, closed := strings.Cut(inside, "]")
	for i := range len(address) {
		if !isHex(address[i]) && address[i] != ':' && address[i] != '.' {
			return text
		}
	}
	if !closed || address == "" {
		return text
	}
	return rest
}

// EncodeURI percent-encodes the characters that a URI may not contain, such as spaces, quotes and
// letters beyond ASCII, as browsers do. A percent sign before two hexadecimal digits stays. A text
// without a scheme does not become a URI.
func EncodeURI(text string) string {
	if IsURI(text) {
		return text
	}
	const digits = "0123456789ABCDEF"
	var out strings.Builder
	fragment := false
	colon := strings.IndexByte(text, ':') + 1
	rest := afterAddress(text[colon:])
	out.WriteString(text[:len(text)-len(rest)])
	for i := range len(rest) {
		c := rest[i]
		switch {
		case uriCharacters[c], c == '%' && len(rest) > i+2 && isHex(rest[i+1]) && isHex(rest[i+2]):
			out.WriteByte(c)
		case c == '#' && !fragment:
			fragment = true
			out.WriteByte(c)
		default:
			out.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
	return out.String()
}

// uriCharacters are the characters that may stand anywhere after the scheme.
var uriCharacters = func() (table [256]bool) {
	for c := range table {
		table[c] = isLetter(byte(c)) || isDigit(byte(c)) || c < 0x80 && strings.IndexByte("._~:/?@!$&'()*+,;=-", byte(c)) >= 0
	}
	return table
}()

// uriOrNone returns text if it can be a URI, else the empty string.
func uriOrNone(text string) string {
	if IsURI(text) {
		return text
	}
	return ""
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isHex(c byte) bool    { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }
