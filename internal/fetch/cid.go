package fetch

import (
	"encoding/base32"
	"strings"
)

// maxCIDLength bounds the text taken for a content identifier; identity CIDs can be any length.
const maxCIDLength = 128

var base32Lower = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// validCID says that text is an IPFS content identifier: version 0 (a base58 SHA-256 multihash,
// Qm…) or version 1 in base32 (b…), base58btc (z…) or hexadecimal (f…).
// https://github.com/multiformats/cid
func validCID(text string) bool {
	raw, ok := decodeCID(text)
	if !ok {
		return false
	}
	if len(text) == 46 && strings.HasPrefix(text, "Qm") {
		return len(raw) == 34 && raw[0] == hashSHA256 && raw[1] == 32
	}
	// Version, codec, hash code, hash length: the shortest is four bytes and a digest.
	return len(raw) >= 8 && raw[0] == 1
}

// validArweaveID says that text is an Arweave transaction id: 32 bytes in unpadded base64url.
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
