package tokenaccount

import (
	"fmt"

	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/borsh"
)

// Constants of Metaplex Token Metadata's account (mpl-token-metadata, state/metadata.rs).
const (
	// keyMetadataV1 is the account's first byte.
	keyMetadataV1 = 4
	// maxCreators is well above the program's MAX_CREATOR_LIMIT, which is 5.
	maxCreators = 32
	// maxTokenStandard is the highest variant of TokenStandard: ProgrammableNonFungibleEdition.
	maxTokenStandard = 5
	// maxUseMethod is the highest variant of UseMethod: Single.
	maxUseMethod = 2
)

// MetaplexMetadata is a Metaplex metadata account. Text is as on the chain, NUL padding included.
type MetaplexMetadata struct {
	UpdateAuthority      pubkey.Key
	Mint                 pubkey.Key
	Name                 []byte
	Symbol               []byte
	URI                  []byte
	SellerFeeBasisPoints uint16
	Creators             []Creator
	PrimarySaleHappened  bool
	IsMutable            bool
	// EditionNonce, TokenStandard, Collection, Uses and RuleSet are nil if they are absent. Older
	// accounts end before them.
	EditionNonce  *uint8
	TokenStandard *uint8
	Collection    *Collection
	Uses          *Uses
	// CollectionSize is set for a sized collection's own metadata.
	CollectionSize *uint64
	// RuleSet is that of the programmable configuration.
	RuleSet *pubkey.Key
}

// Creator is one of the creators of a token.
type Creator struct {
	Address  pubkey.Key
	Verified bool
	Share    uint8
}

// Collection is the collection that a token names; it counts only when verified.
type Collection struct {
	Verified bool
	Key      pubkey.Key
}

// Uses limits how often a token may be used.
type Uses struct {
	Method    uint8
	Remaining uint64
	Total     uint64
}

// ParseMetaplex reads a metadata account in every version of its layout. The account's length does
// not tell the version: accounts have 679, 607 or fewer bytes, and after the last field there are
// zeros or the remains of an earlier, longer value. So the trailing fields are read as the program
// itself reads them. Errors wrap ErrMalformed, or ErrOtherKind if the program uses the account for
// something else than metadata.
func ParseMetaplex(data []byte) (MetaplexMetadata, error) {
	r := borsh.NewReader(data)
	if key := r.U8(); r.Err() != nil || key != keyMetadataV1 {
		return MetaplexMetadata{}, fmt.Errorf("%w: Metaplex key %d", ErrOtherKind, key)
	}
	metadata := MetaplexMetadata{
		UpdateAuthority: r.Key(), Mint: r.Key(), Name: r.String(), Symbol: r.String(), URI: r.String(),
	}
	metadata.SellerFeeBasisPoints = r.U16()
	if r.Bool() {
		count := r.U32()
		if r.Err() != nil || count > maxCreators {
			return MetaplexMetadata{}, fmt.Errorf("%w: Metaplex creators", ErrMalformed)
		}
		for range count {
			metadata.Creators = append(metadata.Creators, Creator{Address: r.Key(), Verified: r.Bool(), Share: r.U8()})
		}
	}
	metadata.PrimarySaleHappened = r.Bool()
	metadata.IsMutable = r.Bool()
	if r.Err() != nil {
		return MetaplexMetadata{}, fmt.Errorf("%w: Metaplex metadata", ErrMalformed)
	}
	metadata.readTrailer(r)
	return metadata, nil
}

// readTrailer reads the fields that later versions added. It is as lenient as the program's own
// reader: bytes that are not a valid field are the remains of an earlier value, and the field is
// absent.
func (m *MetaplexMetadata) readTrailer(r *borsh.Reader) {
	if nonce := option(r, (*borsh.Reader).U8); r.Err() == nil {
		m.EditionNonce = nonce
	}
	if r.Err() != nil {
		return
	}
	standard := option(r, tokenStandard)
	collection := option(r, func(r *borsh.Reader) Collection { return Collection{Verified: r.Bool(), Key: r.Key()} })
	uses := option(r, func(r *borsh.Reader) Uses { return Uses{Method: useMethod(r), Remaining: r.U64(), Total: r.U64()} })
	if r.Err() != nil {
		// If one of the three fails, all are absent: the bytes are most likely the remains of
		// another field.
		return
	}
	m.TokenStandard, m.Collection, m.Uses = standard, collection, uses
	m.CollectionSize = option(r, func(r *borsh.Reader) uint64 {
		// Variant V1 has a size; V2 has only 8 bytes of padding, so its size is 0.
		if version := r.U8(); version > 1 {
			r.Fail(borsh.ErrValue)
		} else if version == 1 {
			r.Skip(8)
			return 0
		}
		return r.U64()
	})
	if r.Err() != nil {
		m.CollectionSize = nil
		return
	}
	m.readRuleSet(r)
}

// readRuleSet reads the programmable configuration. Its only known variant is 0, named V1, which
// has a rule set.
func (m *MetaplexMetadata) readRuleSet(r *borsh.Reader) {
	if !r.Bool() || r.U8() != 0 {
		return
	}
	ruleSet := option(r, (*borsh.Reader).Key)
	if r.Err() == nil {
		m.RuleSet = ruleSet
	}
}

func tokenStandard(r *borsh.Reader) uint8 {
	standard := r.U8()
	if standard > maxTokenStandard {
		r.Fail(borsh.ErrValue)
	}
	return standard
}

func useMethod(r *borsh.Reader) uint8 {
	method := r.U8()
	if method > maxUseMethod {
		r.Fail(borsh.ErrValue)
	}
	return method
}

// option reads a Borsh Option. It returns nil if the option is none or the value is malformed.
func option[T any](r *borsh.Reader, read func(*borsh.Reader) T) *T {
	if !r.Bool() {
		return nil
	}
	value := read(r)
	if r.Err() != nil {
		return nil
	}
	return &value
}

// Fact converts the account to a MetaplexAccount fact. In MetadataSet an absent field means "left
// as it was", so fields that are empty in the account are set to empty values. address is the
// account's own address.
func (m *MetaplexMetadata) Fact(address pubkey.Key) *eventspb.MetaplexAccount {
	fee, mutable, sold := uint32(m.SellerFeeBasisPoints), m.IsMutable, m.PrimarySaleHappened
	set := &eventspb.MetadataSet{
		MetadataProgram:      eventspb.MetadataProgram_METADATA_PROGRAM_METAPLEX,
		MetadataAccount:      address.Bytes(),
		Name:                 present(m.Name),
		Symbol:               present(m.Symbol),
		Uri:                  present(m.URI),
		UpdateAuthority:      m.UpdateAuthority.Bytes(),
		SellerFeeBasisPoints: &fee,
		IsMutable:            &mutable,
		PrimarySaleHappened:  &sold,
		SetsCreators:         true,
		Collection:           []byte{},
	}
	if m.TokenStandard != nil {
		standard := uint32(*m.TokenStandard)
		set.TokenStandard = &standard
	}
	if m.Collection != nil {
		verified := m.Collection.Verified
		set.Collection, set.CollectionVerified = m.Collection.Key.Bytes(), &verified
	}
	for _, creator := range m.Creators {
		set.Creators = append(set.Creators, &eventspb.Creator{
			Address: creator.Address.Bytes(), Verified: creator.Verified, Share: uint32(creator.Share),
		})
	}
	return &eventspb.MetaplexAccount{Metadata: set}
}
