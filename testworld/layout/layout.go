// Package layout has the bytes of the test world: the data of accounts and of instructions, as the
// programs of mainnet have them.
//
// In: what an account or an instruction says. Out: its bytes. Guarantees: equal values give equal
// bytes. It imports no decoder of the product, so each proves the other.
package layout

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Key is an account's address.
type Key = pubkey.Key

// AppendU64 appends a little-endian number, as borsh does.
func AppendU64(b []byte, n uint64) []byte { return binary.LittleEndian.AppendUint64(b, n) }

// AppendString appends a borsh string: its length in four bytes, then the bytes.
func AppendString(b []byte, s string) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(s)))
	return append(b, s...)
}

// appendPadded appends a borsh string that NULs fill up to n bytes.
func appendPadded(b []byte, s string, n int) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(n))
	b = append(b, s...)
	return append(b, make([]byte, n-len(s))...)
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// Discriminator is the first eight bytes of sha256("namespace:name"), with which data of Anchor
// programs begins.
func Discriminator(name string) [8]byte {
	sum := sha256.Sum256([]byte(name))
	return [8]byte(sum[:8])
}
