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

// MetaplexAddress returns the address of a mint's Metaplex metadata account: the program derived
// address of ["metadata", program, mint] (mpl-token-metadata, Metadata::find_pda). It costs one
// SHA-256 and one curve check for each bump tried, two on average. ok is false if no bump gives an
// address off the curve, which happens for one mint in 2^256.
func MetaplexAddress(mint pubkey.Key) (address pubkey.Key, ok bool) {
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
		candidate := pubkey.Key(sha256.Sum256(seeds))
		if _, err := new(edwards25519.Point).SetBytes(candidate[:]); err != nil {
			return candidate, true
		}
	}
	return pubkey.Key{}, false
}
