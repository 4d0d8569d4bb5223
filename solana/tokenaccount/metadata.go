package tokenaccount

import (
	"fmt"
	"strconv"

	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/borsh"
)

// maxAdditionalFields bounds the additional fields of one mint. More do not fit: an extension has
// at most 65,535 bytes, and a field at least 8, for two lengths.
const maxAdditionalFields = 65535 / 8

// TokenMetadata is the value of Token-2022's token_metadata extension. Text is as on the chain:
// nothing is trimmed.
type TokenMetadata struct {
	// UpdateAuthority is nil if nobody may change the metadata.
	UpdateAuthority *pubkey.Key
	// Mint is the mint that the metadata names.
	Mint   pubkey.Key
	Name   []byte
	Symbol []byte
	URI    []byte
	// AdditionalFields are in account order.
	AdditionalFields []AdditionalField
}

// AdditionalField is one key and value of token metadata.
type AdditionalField struct {
	Key   []byte
	Value []byte
}

// ParseTokenMetadata decodes TokenMetadata of spl-token-metadata-interface, which is Borsh. Bytes
// after it are ignored, as in the program. Errors wrap ErrMalformed.
func ParseTokenMetadata(value []byte) (TokenMetadata, error) {
	r := borsh.NewReader(value)
	var metadata TokenMetadata
	if authority := r.Key(); !authority.IsZero() {
		metadata.UpdateAuthority = &authority
	}
	metadata.Mint = r.Key()
	metadata.Name = r.String()
	metadata.Symbol = r.String()
	metadata.URI = r.String()
	count := r.U32()
	if r.Err() != nil || count > maxAdditionalFields {
		return TokenMetadata{}, fmt.Errorf("%w: token metadata", ErrMalformed)
	}
	for range count {
		metadata.AdditionalFields = append(metadata.AdditionalFields, AdditionalField{Key: r.String(), Value: r.String()})
		if r.Err() != nil {
			return TokenMetadata{}, fmt.Errorf("%w: token metadata's additional fields", ErrMalformed)
		}
	}
	return metadata, nil
}

// attributes returns the attributes of the extension's entry in Mint.Extensions. Name, symbol, URI
// and the additional fields are only in TokenMetadata, since they can have 64 KiB.
func (t *TokenMetadata) attributes() []Attribute {
	authority := ""
	if t.UpdateAuthority != nil {
		authority = t.UpdateAuthority.String()
	}
	return []Attribute{
		{Name: "additional_fields", Value: strconv.Itoa(len(t.AdditionalFields))},
		{Name: "mint", Value: t.Mint.String()},
		{Name: "update_authority", Value: authority},
	}
}

func (t *TokenMetadata) event(account pubkey.Key) *eventspb.MetadataSet {
	set := &eventspb.MetadataSet{
		MetadataProgram: eventspb.MetadataProgram_METADATA_PROGRAM_TOKEN_2022,
		MetadataAccount: account.Bytes(),
		Name:            present(t.Name),
		Symbol:          present(t.Symbol),
		Uri:             present(t.URI),
		UpdateAuthority: present(optionalBytes(t.UpdateAuthority)),
	}
	for _, field := range t.AdditionalFields {
		set.AdditionalFields = append(set.AdditionalFields, &eventspb.AdditionalField{Key: field.Key, Value: field.Value})
	}
	return set
}

// present turns nil into an empty value: in MetadataSet an absent field means "left as it was".
func present(value []byte) []byte {
	if value == nil {
		return []byte{}
	}
	return value
}
