// Package pubkey is the 32 bytes that name an account on the chain: a mint, a wallet, a program. It
// lies below schemas/, since registry/ and every room use it.
//
// In: base58 from outside, or 32 bytes. Out: Key. Guarantees: a key has exactly one text; parsing
// takes bounded time whatever the text.
package pubkey

import (
	"bytes"
	"errors"

	"github.com/mr-tron/base58"
)

// Size is how many bytes a key has.
const Size = 32

// The shortest and the longest text of a key. Base58 takes time that grows with the square of the
// length, so a length outside is refused before anything is decoded.
const (
	MinText = 32
	MaxText = 44
)

// Key is a public key, or another 32 bytes that Solana shows in the same way, such as a blockhash.
// Memory holds mints in this form; base58 is for JSON, SQL, URLs and Kafka keys.
type Key [Size]byte

// ErrText is what Parse says of anything that is no key.
var ErrText = errors.New("not a 32-byte base58 key")

// Parse reads base58 of exactly 32 bytes. The error is ErrText.
func Parse[T string | []byte](text T) (Key, error) {
	if len(text) < MinText || len(text) > MaxText {
		return Key{}, ErrText
	}
	raw, err := base58.Decode(string(text))
	if err != nil || len(raw) != Size {
		return Key{}, ErrText
	}
	return Key(raw), nil
}

// MustParse is Parse for constants: it panics on anything that is no key.
func MustParse(text string) Key {
	key, err := Parse(text)
	if err != nil {
		panic("pubkey: " + text + ": " + err.Error())
	}
	return key
}

// String is the key in base58.
func (k Key) String() string { return base58.Encode(k[:]) }

// Append appends the key in base58.
func (k Key) Append(dst []byte) []byte { return append(dst, k.String()...) }

// Bytes is a copy of the key, for a message.
func (k Key) Bytes() []byte { return bytes.Clone(k[:]) }

// IsZero reports the all-zero key: the address of the system program, and what many programs store
// for "none".
func (k Key) IsZero() bool { return k == Key{} }
