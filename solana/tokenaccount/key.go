package tokenaccount

import (
	"crypto/sha256"

	"filippo.io/edwards25519"

	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Addresses of the programs that own the accounts of this package.
var (
	ProgramToken     = pubkey.MustParse(schemas.ProgramToken)
	ProgramToken2022 = pubkey.MustParse(schemas.ProgramToken2022)
	ProgramMetaplex  = pubkey.MustParse(schemas.ProgramMetaplex)
)

// pdaMarker is the end of what is hashed for every program derived address (solana-sdk,
// PDA_MARKER).
const pdaMarker = "ProgramDerivedAddress"

// seedsCapacity is how many bytes are reserved for seeds: as many as the seeds of a Metaplex
// address have, which is derived most often. Longer seeds make the slice grow.
const seedsCapacity = len("metadata") + 2*32

// MetaplexAddress returns the address of a mint's Metaplex metadata account: the program derived
// address of ["metadata", program, mint] (mpl-token-metadata, Metadata::find_pda). ok is as in
// Derive.
func MetaplexAddress(mint pubkey.Key) (address pubkey.Key, ok bool) {
	return Derive(ProgramMetaplex, []byte("metadata"), ProgramMetaplex[:], mint[:])
}

// Derive returns a program derived address. It costs one SHA-256 and one curve check for each bump
// tried, two on average. ok is false if no bump gives an address off the curve, which happens for
// one list of seeds in 2^256.
func Derive(program pubkey.Key, seeds ...[]byte) (address pubkey.Key, ok bool) {
	hashed := make([]byte, 0, seedsCapacity+1+len(program)+len(pdaMarker))
	for _, seed := range seeds {
		hashed = append(hashed, seed...)
	}
	bumpAt := len(hashed)
	hashed = append(hashed, 0)
	hashed = append(hashed, program[:]...)
	hashed = append(hashed, pdaMarker...)
	for bump := 255; bump >= 0; bump-- {
		hashed[bumpAt] = byte(bump)
		candidate := pubkey.Key(sha256.Sum256(hashed))
		if !OnCurve(candidate) {
			return candidate, true
		}
	}
	return pubkey.Key{}, false
}

// OnCurve reports whether an address is a point of the curve ed25519, so that somebody may have its
// secret key. A program derived address is never on the curve.
func OnCurve(address pubkey.Key) bool {
	_, err := new(edwards25519.Point).SetBytes(address[:])
	return err == nil
}
