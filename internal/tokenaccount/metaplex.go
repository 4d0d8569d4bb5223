package tokenaccount

import (
	"bytes"
	"fmt"

	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
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
// itself reads them. Errors wrap ErrMalformed, or ErrOtherKind if the account is another kind of
// the program's.
func ParseMetaplex(data []byte) (MetaplexMetadata, error) {
	r := reader{data: data}
	if key := r.u8(); r.failed || key != keyMetadataV1 {
		return MetaplexMetadata{}, fmt.Errorf("%w: Metaplex key %d", ErrOtherKind, key)
	}
	metadata := MetaplexMetadata{
		UpdateAuthority: r.key(), Mint: r.key(), Name: r.bytes(), Symbol: r.bytes(), URI: r.bytes(),
	}
	metadata.SellerFeeBasisPoints = r.u16()
	if r.strictBool() {
		count := r.u32()
		if r.failed || count > maxCreators {
			return MetaplexMetadata{}, fmt.Errorf("%w: Metaplex creators", ErrMalformed)
		}
		for range count {
			metadata.Creators = append(metadata.Creators, Creator{Address: r.key(), Verified: r.strictBool(), Share: r.u8()})
		}
	}
	metadata.PrimarySaleHappened = r.strictBool()
	metadata.IsMutable = r.strictBool()
	if r.failed {
		return MetaplexMetadata{}, fmt.Errorf("%w: Metaplex metadata", ErrMalformed)
	}
	metadata.readTrailer(&r)
	return metadata, nil
}

// readTrailer reads the fields that later versions added. It is as lenient as the program's own
// reader: bytes that are not a valid field are the remains of an earlier value, and the field is
// absent.
func (m *MetaplexMetadata) readTrailer(r *reader) {
	if nonce := option(r, (*reader).u8); !r.failed {
		m.EditionNonce = nonce
	}
	if r.failed {
		return
	}
	standard := option(r, (*reader).tokenStandard)
	collection := option(r, func(r *reader) Collection { return Collection{Verified: r.strictBool(), Key: r.key()} })
	uses := option(r, func(r *reader) Uses { return Uses{Method: r.useMethod(), Remaining: r.u64(), Total: r.u64()} })
	if r.failed {
		// If one of the three fails, all are absent: the bytes are most likely the remains of
		// another field.
		return
	}
	m.TokenStandard, m.Collection, m.Uses = standard, collection, uses
	m.CollectionSize = option(r, func(r *reader) uint64 {
		// Variant V1 has a size; V2 has only 8 bytes of padding, so its size is 0.
		if version := r.u8(); version > 1 {
			r.failed = true
		} else if version == 1 {
			r.take(8)
			return 0
		}
		return r.u64()
	})
	if r.failed {
		m.CollectionSize = nil
		return
	}
	m.readRuleSet(r)
}

func (m *MetaplexMetadata) readRuleSet(r *reader) {
	if !r.strictBool() || r.u8() != 0 {
		return
	}
	ruleSet := option(r, (*reader).key)
	if !r.failed {
		m.RuleSet = ruleSet
	}
}

func (r *reader) tokenStandard() uint8 {
	standard := r.u8()
	if standard > maxTokenStandard {
		r.failed = true
	}
	return standard
}

func (r *reader) useMethod() uint8 {
	method := r.u8()
	if method > maxUseMethod {
		r.failed = true
	}
	return method
}

// option reads a Borsh Option. It returns nil if the option is none or the value is malformed.
func option[T any](r *reader, read func(*reader) T) *T {
	if !r.strictBool() {
		return nil
	}
	value := read(r)
	if r.failed {
		return nil
	}
	return &value
}

// TrimPadding removes at both ends the NULs and white space with which accounts pad text.
func TrimPadding(text []byte) []byte {
	return bytes.Trim(text, "\x00 \t\r\n")
}

// Fact converts the account to a fact for the event. address is the account's own address.
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
