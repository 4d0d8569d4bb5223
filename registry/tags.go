package registry

import "slices"

// reservedTags are tags that wallets and other software trust as a curator's judgement. Only token
// lists can give them: a token's creator writes the document at the metadata URI, and can write
// anything there.
var reservedTags = []string{"lst", "strict", "verified"}

// ReservedTags are the tags that only token lists can give, sorted.
func ReservedTags() []string { return slices.Clone(reservedTags) }

// IsReservedTag reports whether a tag reads like a reserved one. It ignores case and every
// character that is not an ASCII letter or digit. projector/tokens.sql has the same rule in SQL.
func IsReservedTag(tag string) bool {
	read := make([]byte, 0, len(tag))
	for i := range len(tag) {
		switch c := tag[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			read = append(read, c)
		case c >= 'A' && c <= 'Z':
			read = append(read, c-'A'+'a')
		}
	}
	return slices.Contains(reservedTags, string(read))
}

// appendTags appends the tags of more that are not in tags yet.
func appendTags(tags, more []string) []string {
	for _, tag := range more {
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return tags
}
