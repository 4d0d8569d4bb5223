package registry

import (
	"crypto/sha256"
	"slices"
	"strconv"

	"github.com/mr-tron/base58"

	"github.com/mintlake/mintlake/schemas"
)

// Membership is all that decides whether a mint is in the registry. Member is the one rule: the
// fold, the root and, in SQL, the projector's rows follow it, whether a node heard of the mint from
// its instructions or read its accounts.
type Membership struct {
	// Mint is base58.
	Mint string
	// Program is empty while no source said which token program the mint belongs to.
	Program string
	Closed  bool
	// Decimals, TokenStandard, MintAuthority and Supply count only where they are known. An
	// authority that is known and empty is none.
	DecimalsKnown, StandardKnown, AuthorityKnown, SupplyKnown bool

	Decimals      uint8
	TokenStandard int64
	MintAuthority string
	// Supply is looked at only where Decimals is 0.
	Supply uint64
}

// Member says whether the mint is in the registry: the program and the decimals are known, the mint
// is not closed, and it is not known to be non-fungible.
func (m *Membership) Member() bool {
	return m.DecimalsKnown && m.Program != "" && !m.Closed && !m.nonFungible()
}

// nonFungible: the metadata program says so, or there is at most one indivisible unit that nobody
// can mint more of. TokenStandard: 0 NonFungible, 1 FungibleAsset, 2 Fungible, 3
// NonFungibleEdition, 4 ProgrammableNonFungible, 5 ProgrammableNonFungibleEdition.
func (m *Membership) nonFungible() bool {
	if m.StandardKnown && (m.TokenStandard == 0 || m.TokenStandard >= 3 && m.TokenStandard <= 5) {
		return true
	}
	return m.Decimals == 0 && m.SupplyKnown && m.Supply <= 1 && m.AuthorityKnown && (m.MintAuthority == "" || IsEdition(m.Mint, m.MintAuthority))
}

// Bumps of an edition account's address that IsEdition tries. An address begins at bump 255 and
// goes down one for each hash that is a point of the curve, which is one of two: 32 of them do for
// all but one of four billion mints.
const (
	EditionBumpFrom = 224
	EditionBumpTo   = 255
)

// IsEdition says whether an address is the Metaplex edition account of a mint. The metadata program
// makes it the mint authority of a non-fungible token and never mints more. That stays so when the
// token is burned and its metadata account, which says the token standard, is gone. Texts that are
// no keys are none.
func IsEdition(mint, address string) bool {
	key, err := base58.Decode(mint)
	want, wantErr := base58.Decode(address)
	if err != nil || wantErr != nil || len(key) != 32 || len(want) != 32 {
		return false
	}
	seeds := make([]byte, 0, 136)
	seeds = append(seeds, "metadata"...)
	seeds = append(seeds, metadataProgram...)
	seeds = append(seeds, key...)
	seeds = append(seeds, "edition"...)
	bumpAt := len(seeds)
	seeds = append(seeds, 0)
	seeds = append(seeds, metadataProgram...)
	seeds = append(seeds, "ProgramDerivedAddress"...)
	for bump := EditionBumpTo; bump >= EditionBumpFrom; bump-- {
		seeds[bumpAt] = byte(bump)
		if sha256.Sum256(seeds) == [32]byte(want) {
			return true
		}
	}
	return false
}

// MetadataProgram is the key of the Metaplex metadata program.
func MetadataProgram() []byte { return slices.Clone(metadataProgram) }

var metadataProgram = func() []byte {
	key, err := base58.Decode(schemas.ProgramMetaplex)
	if err != nil {
		panic(err) // a constant of the contract
	}
	return key
}()

// Member is Token's second result, for a small part of what Token costs.
func (s *State) Member(mint string) bool {
	decimals, err := strconv.ParseUint(s.value(RegisterDecimals), 10, 8)
	if err != nil {
		return false
	}
	m := Membership{Mint: mint, Program: s.value(RegisterProgram), Closed: s.value(RegisterClosed) == "true", DecimalsKnown: true, Decimals: uint8(decimals)}
	m.TokenStandard, m.StandardKnown = s.integer(RegisterTokenStandard)
	if authority, known := s.fact(RegisterMintAuthority); known && decimals == 0 && mint != schemas.MintWrappedSOL {
		m.AuthorityKnown, m.MintAuthority = true, authority.Value
		m.Supply, m.SupplyKnown = s.supply()
	}
	return m.Member()
}
