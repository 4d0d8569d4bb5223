// Package internaltoken distinguishes requests of Mintlake's own rooms from those of the public.
//
// In: a token that both rooms are configured with, or that one process generates for its rooms.
// Out: whether a request carries it. Guarantees: the comparison takes the same time whatever is
// presented; without a configured token nothing is admitted.
package internaltoken

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"strings"
)

// Header is the HTTP header that carries the token.
const Header = "X-Mintlake-Internal"

// MinLength is the least length of a configured token, in characters.
const MinLength = 16

// Generate makes a token of 130 bits for the rooms of one process.
func Generate() string { return rand.Text() }

// Valid reports whether a text may be a token: visible ASCII characters, at least MinLength.
func Valid(token string) bool {
	return len(token) >= MinLength && !strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })
}

// Check compares tokens with the right one. The zero Check admits nothing.
type Check struct {
	hash [sha256.Size]byte
	set  bool
}

// NewCheck makes the check of a token; an empty one admits nothing.
func NewCheck(token string) Check {
	return Check{sha256.Sum256([]byte(token)), token != ""}
}

// Admits reports whether presented is the token.
func (c Check) Admits(presented string) bool {
	if !c.set || presented == "" {
		return false
	}
	hash := sha256.Sum256([]byte(presented))
	return subtle.ConstantTimeCompare(hash[:], c.hash[:]) == 1
}
