package registry

import "slices"

// reservedTags are tags that software takes for a curator's word. Only token lists can give them: a
// token's creator writes the document behind the metadata's URI, and can write anything there.
var reservedTags = []string{"lst", "strict", "verified"}

// ReservedTags are the tags that only token lists can give, sorted.
func ReservedTags() []string { return slices.Clone(reservedTags) }

// IsReservedTag says whether a tag reads like a reserved one: whatever is no ASCII letter or digit
// is passed over, as is case. projector/tokens.sql says the same in SQL.
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

// appendTags appends the tags that are not there yet.
func appendTags(tags, more []string) []string {
	for _, tag := range more {
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return tags
}
