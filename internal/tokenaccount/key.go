package tokenaccount

import (
	"crypto/sha256"
	"errors"

	"filippo.io/edwards25519"
	"github.com/mr-tron/base58"

	"github.com/mintlake/mintlake/schemas"
)

// Key is a 32-byte account address.
type Key [32]byte

// String is the key in base58.
func (k Key) String() string { return base58.Encode(k[:]) }

// IsZero reports the all-zero key: the program's "none" inside extensions, and the system program's
// address elsewhere.
func (k Key) IsZero() bool { return k == Key{} }

// ParseKey reads a base58 key of exactly 32 bytes.
func ParseKey(text string) (Key, error) {
	raw, err := base58.Decode(text)
	if err != nil || len(raw) != len(Key{}) {
		return Key{}, errors.New("not a 32-byte base58 key")
	}
	return Key(raw), nil
}

// Addresses of the programs that own the accounts of this package.
var (
	ProgramToken     = mustKey(schemas.ProgramToken)
	ProgramToken2022 = mustKey(schemas.ProgramToken2022)
	ProgramMetaplex  = mustKey(schemas.ProgramMetaplex)
)

func mustKey(text string) Key {
	key, err := ParseKey(text)
	if err != nil {
		panic("tokenaccount: " + text + ": " + err.Error())
	}
	return key
}

// pdaMarker closes the preimage of every program derived address (solana-sdk, PDA_MARKER).
const pdaMarker = "ProgramDerivedAddress"

// MetaplexAddress is the address of a mint's Metaplex metadata account: the program derived address
// of ["metadata", program, mint] (mpl-token-metadata, Metadata::find_pda). It costs one SHA-256 and
// one curve check for each bump tried, two on average. ok is false when no bump gives an address
// off the curve, which happens once in 2^256 mints.
func MetaplexAddress(mint Key) (address Key, ok bool) {
	seeds := make([]byte, 0, len("metadata")+2*32+1+32+len(pdaMarker))
	seeds = append(seeds, "metadata"...)
	seeds = append(seeds, ProgramMetaplex[:]...)
	seeds = append(seeds, mint[:]...)
	bumpAt := len(seeds)
	seeds = append(seeds, 0)
	seeds = append(seeds, ProgramMetaplex[:]...)
	seeds = append(seeds, pdaMarker...)
	for bump := 255; bump >= 0; bump-- {
		seeds[bumpAt] = byte(bump)
		candidate := Key(sha256.Sum256(seeds))
		if _, err := new(edwards25519.Point).SetBytes(candidate[:]); err != nil {
			return candidate, true
		}
	}
	return Key{}, false
}
