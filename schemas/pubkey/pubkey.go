// Package pubkey has the type of the 32 bytes that identify an account on the chain: a mint, a
// wallet, a program. It imports no other package of Mintlake, so every package can use it.
//
// In: base58 from outside, or 32 bytes. Out: Key. Guarantees: a key has exactly one text; the time
// to parse is bounded for every text.
package pubkey

import (
	"bytes"
	"errors"

	"github.com/mr-tron/base58"
)

// Size is how many bytes a key has.
const Size = 32

// The shortest and the longest text of a key. Texts of other lengths are refused before they are
// decoded.
const (
	MinText = 32
	MaxText = 44
)

// Key is a public key, or other 32 bytes that Solana shows in the same way, such as a blockhash.
// Mints have this form in memory. JSON, SQL, URLs and Kafka keys have base58.
type Key [Size]byte

// ErrText is returned by Parse for a text that is no key.
var ErrText = errors.New("not a 32-byte base58 key")

// Parse reads base58 of exactly 32 bytes. The error is ErrText.
func Parse[T string | []byte](text T) (Key, error) {
	if len(text) < MinText || len(text) > MaxText {
		return Key{}, ErrText
	}
	key, err := base58.Decode(string(text))
	if err != nil || len(key) != Size {
		return Key{}, ErrText
	}
	return Key(key), nil
}

// MustParse is like Parse, for constants: it panics if the text is no key.
func MustParse(text string) Key {
	key, err := Parse(text)
	if err != nil {
		panic("pubkey: " + text + ": " + err.Error())
	}
	return key
}

// String returns the key in base58.
func (k Key) String() string { return base58.Encode(k[:]) }

// Append appends the key in base58.
func (k Key) Append(dst []byte) []byte { return append(dst, k.String()...) }

// Bytes returns a copy of the key, for a protobuf message.
func (k Key) Bytes() []byte { return bytes.Clone(k[:]) }

// IsZero reports whether all bytes are zero. That is the address of the system program, and many
// programs store it for "none".
func (k Key) IsZero() bool { return k == Key{} }

// MarshalText returns the key in base58, as JSON has it. It never fails.
func (k Key) MarshalText() ([]byte, error) { return k.Append(nil), nil }

// UnmarshalText sets the key to what Parse reads from text.
func (k *Key) UnmarshalText(text []byte) (err error) {
	*k, err = Parse(text)
	return err
}
