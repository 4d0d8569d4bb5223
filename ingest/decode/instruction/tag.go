package instruction

import (
	"bytes"
	"crypto/sha256"
)

// AnchorTag returns the tag at the start of the data of an Anchor program's instruction: the first
// eight bytes of SHA-256 of "global:" and the instruction's name.
func AnchorTag(name string) string {
	sum := sha256.Sum256([]byte("global:" + name))
	return string(sum[:8])
}

// HasTag reports whether data begins with a tag.
func HasTag(data []byte, tag string) bool {
	return len(data) >= len(tag) && string(data[:len(tag)]) == tag
}

// HasPrefix reports whether data begins with a discriminator of eight bytes.
func HasPrefix(data []byte, prefix [8]byte) bool { return bytes.HasPrefix(data, prefix[:]) }
