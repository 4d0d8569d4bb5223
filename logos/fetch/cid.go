package fetch

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

// maxCIDLength bounds the text taken for a content identifier; identity CIDs can be any length.
const maxCIDLength = 128

var base32Lower = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// validCID reports whether text is an IPFS content identifier: version 0 (a base58 SHA-256
// multihash, Qm…) or version 1 in base32 (b…), base58btc (z…) or hexadecimal (f…).
// https://github.com/multiformats/cid
func validCID(text string) bool {
	raw, ok := decodeCID(text)
	if !ok {
		return false
	}
	if isV0(text) {
		return len(raw) == 2+sha256.Size && raw[0] == hashSHA256 && raw[1] == sha256.Size
	}
	// Version, codec, hash code and hash length take a byte each at least; the digest follows.
	return len(raw) >= 8 && raw[0] == 1
}

// isV0 reports whether text has the form of a CID of version 0: the base58 text of a SHA-256
// multihash always begins with Qm and has 46 characters.
func isV0(text string) bool { return len(text) == 46 && strings.HasPrefix(text, "Qm") }

// validArweaveID reports whether text is an Arweave transaction id: 32 bytes in unpadded base64url.
func validArweaveID(text string) bool {
	if len(text) != 43 {
		return false
	}
	for i := range len(text) {
		c := text[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}
