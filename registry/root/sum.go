package root

import (
	"errors"

	"github.com/mr-tron/base58"
)

// Sum is a SHA-256 digest, shown in base58 as Solana shows its own.
type Sum [32]byte

// String is the sum in base58.
func (s Sum) String() string { return base58.Encode(s[:]) }

// MarshalText is String.
func (s Sum) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// errSum means that the text is not a Sum.
var errSum = errors.New("root: not 32 bytes in base58")

// UnmarshalText reads what String writes.
func (s *Sum) UnmarshalText(text []byte) error {
	raw, err := base58.Decode(string(text))
	if err != nil || len(raw) != len(s) {
		return errSum
	}
	*s = Sum(raw)
	return nil
}
