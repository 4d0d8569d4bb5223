package registry

import (
	"crypto/sha256"
	"strconv"

	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Membership holds all that decides whether a mint is in the registry. Member is the only rule for
// that: the fold and the root call it, and the projector's SQL repeats it. It gives the same answer
// whether a node saw the mint's instructions or read its accounts.
type Membership struct {
	Mint pubkey.Key
	// Program is empty if no source has named the mint's token program.
	Program string
	Closed  bool
	// The fields ...Known report which of Decimals, TokenStandard, MintAuthority and Supply below
	// are known. Without known decimals the mint is not a member. If another one is unknown, it
	// does not keep the mint out. A known but empty MintAuthority means that nobody can mint.
	DecimalsKnown, StandardKnown, AuthorityKnown, SupplyKnown bool

	Decimals      uint8
	TokenStandard int64
	MintAuthority string
	// Supply matters only if Decimals is 0.
	Supply uint64
}

// Member reports whether the mint is in the registry: the program and the decimals are known, the
// mint is not closed, and it is not known to be non-fungible.
func (m *Membership) Member() bool {
	return m.DecimalsKnown && m.Program != "" && !m.Closed && !m.nonFungible()
}

// nonFungible reports whether the token standard is a non-fungible one, or at most one indivisible
// unit exists and nobody can mint more. Nobody can if there is no mint authority, or if it is the
// edition account, see IsEdition. TokenStandard: 0 NonFungible, 1 FungibleAsset, 2 Fungible, 3
// NonFungibleEdition, 4 ProgrammableNonFungible, 5 ProgrammableNonFungibleEdition.
func (m *Membership) nonFungible() bool {
	if m.StandardKnown && (m.TokenStandard == 0 || m.TokenStandard >= 3 && m.TokenStandard <= 5) {
		return true
	}
	return m.Decimals == 0 && m.SupplyKnown && m.Supply <= 1 && m.AuthorityKnown && (m.MintAuthority == "" || IsEdition(m.Mint, m.MintAuthority))
}

// IsEdition tries the bumps in this range, from the highest down. A program address has the highest
// bump whose hash is not a point of the Ed25519 curve, and about half of all hashes are points. So
// 32 bumps miss one of four billion mints.
const (
	EditionBumpFrom = 224
	EditionBumpTo   = 255
)

// IsEdition reports whether an address is the Metaplex edition account of a mint. The metadata
// program makes this account the mint authority of a non-fungible token and never mints more. It
// stays the authority after the token is burned and its metadata account, which holds the token
// standard, is gone. The result is false if address is not a 32-byte key.
func IsEdition(mint pubkey.Key, address string) bool {
	want, err := pubkey.Parse(address)
	if err != nil {
		return false
	}
	seeds := make([]byte, 0, 136) // 133 are used
	seeds = append(seeds, "metadata"...)
	seeds = append(seeds, metadataProgram[:]...)
	seeds = append(seeds, mint[:]...)
	seeds = append(seeds, "edition"...)
	bumpAt := len(seeds)
	seeds = append(seeds, 0)
	seeds = append(seeds, metadataProgram[:]...)
	seeds = append(seeds, "ProgramDerivedAddress"...)
	for bump := EditionBumpTo; bump >= EditionBumpFrom; bump-- {
		seeds[bumpAt] = byte(bump)
		if sha256.Sum256(seeds) == want {
			return true
		}
	}
	return false
}

// WrappedSOL is the mint of wrapped SOL, which has no supply of its own.
func WrappedSOL() pubkey.Key { return wrappedSOL }

// MetadataProgram is the key of the Metaplex metadata program.
func MetadataProgram() pubkey.Key { return metadataProgram }

var (
	metadataProgram = pubkey.MustParse(schemas.ProgramMetaplex)
	wrappedSOL      = pubkey.MustParse(schemas.MintWrappedSOL)
)

// Member returns Token's second result at a small part of Token's cost. Supply and mint authority
// decide only if the decimals are 0, so it reads them only then.
func (s *State) Member(mint pubkey.Key) bool {
	decimals, err := strconv.ParseUint(s.value(RegisterDecimals), 10, 8)
	if err != nil {
		return false
	}
	m := Membership{Mint: mint, Program: s.value(RegisterProgram), Closed: s.value(RegisterClosed) == "true", DecimalsKnown: true, Decimals: uint8(decimals)}
	m.TokenStandard, m.StandardKnown = s.integer(RegisterTokenStandard)
	if authority, known := s.fact(RegisterMintAuthority); known && decimals == 0 && mint != wrappedSOL {
		m.AuthorityKnown, m.MintAuthority = true, authority.Value
		m.Supply, m.SupplyKnown = s.supply()
	}
	return m.Member()
}
