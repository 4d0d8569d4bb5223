package registry

import "strings"

// URIPattern is IsURI as an RE2 expression: the projector's SQL says by it what IsURI says here,
// and a property test holds the two equal.
const URIPattern = `^[A-Za-z][A-Za-z0-9+.-]*:(//\[[0-9A-Fa-f:.]+\])?([A-Za-z0-9._~:/?@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*(#([A-Za-z0-9._~:/?@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)?$`

// IsURI says whether text can be a URI of RFC 3986: a scheme, and only characters that may stand
// there. It asks for no particular scheme and not whether anybody answers. What the chain or a
// document says is kept as a fact in any case; a field that is a URI by the specification shows
// nothing else.
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

// afterAddress cuts off a leading IPv6 address, the one place where brackets may stand: "//[::1]".
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

// EncodeURI percent-encodes what may not stand in a URI, as browsers do with what they are given:
// spaces, quotes, letters beyond ASCII. A percent sign stays where two hexadecimal digits follow.
// What has no scheme is none after this either.
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

// uriCharacters may stand anywhere behind the scheme.
var uriCharacters = func() (table [256]bool) {
	for c := range table {
		table[c] = isLetter(byte(c)) || isDigit(byte(c)) || c < 0x80 && strings.IndexByte("._~:/?@!$&'()*+,;=-", byte(c)) >= 0
	}
	return table
}()

// uriOrNone is text where it can be a URI, else nothing.
func uriOrNone(text string) string {
	if IsURI(text) {
		return text
	}
	return ""
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isHex(c byte) bool    { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }
