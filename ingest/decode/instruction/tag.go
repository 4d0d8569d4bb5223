package instruction

import "crypto/sha256"

// AnchorTag is what a program made with Anchor has before an instruction's data: the first eight
// bytes of SHA-256 of "global:" and its name.
func AnchorTag(name string) string {
	sum := sha256.Sum256([]byte("global:" + name))
	return string(sum[:8])
}

// HasTag says whether data begins with a tag.
func HasTag(data []byte, tag string) bool {
	return len(data) >= len(tag) && string(data[:len(tag)]) == tag
}
