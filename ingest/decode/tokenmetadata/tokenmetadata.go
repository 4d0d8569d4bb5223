// Package tokenmetadata decodes the SPL Token Metadata interface as Token-2022 implements it:
// metadata that is stored in the mint.
//
// In: one invocation of Token-2022. Out: metadata_set events. Guarantees: texts are the
// instruction's bytes, unchanged. Layouts are those of the published interface
// (solana-program/token-metadata, interface/src/instruction.rs).
package tokenmetadata

import (
	"github.com/mintlake/mintlake/ingest/decode/instruction"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/borsh"
)

// Discriminators: the first eight bytes of SHA-256 of "spl_token_metadata_interface:" and
// initialize_account, updating_field, remove_key_ix, update_the_authority, emitter.
var (
	initialize      = [8]byte{210, 225, 30, 162, 88, 184, 77, 141}
	updateField     = [8]byte{221, 233, 49, 45, 181, 202, 220, 200}
	removeKey       = [8]byte{234, 18, 32, 56, 89, 141, 37, 181}
	updateAuthority = [8]byte{215, 228, 166, 228, 84, 100, 86, 123}
	emit            = [8]byte{250, 166, 180, 250, 13, 12, 184, 70}
)

const discriminatorLength = 8

// Decode decodes an instruction of the interface. It returns false if the instruction is not of the
// interface.
func Decode(v instruction.View) (instruction.Outcome, bool, error) {
	data := v.Data()
	var decode func(instruction.View, *borsh.Reader) (instruction.Outcome, error)
	switch {
	case instruction.HasPrefix(data, initialize):
		decode = decodeInitialize
	case instruction.HasPrefix(data, updateField):
		decode = decodeUpdateField
	case instruction.HasPrefix(data, removeKey):
		decode = decodeRemoveKey
	case instruction.HasPrefix(data, updateAuthority):
		decode = decodeUpdateAuthority
	case instruction.HasPrefix(data, emit):
		return instruction.Outcome{Ignored: instruction.IgnoredReadOnly}, true, nil
	default:
		return instruction.Outcome{}, false, nil
	}
	outcome, err := decode(v, borsh.NewReader(data[discriminatorLength:]))
	return outcome, true, err
}

// decodeInitialize decodes Initialize. Accounts are metadata, update authority, mint, mint
// authority.
func decodeInitialize(v instruction.View, c *borsh.Reader) (instruction.Outcome, error) {
	metadata, authority, mint, err := v.Accounts(0, 1, 2)
	if err != nil {
		return instruction.Outcome{}, instruction.ErrAccounts
	}
	set := newSet(metadata)
	set.Creates = true
	set.Name, set.Symbol, set.Uri = c.String(), c.String(), c.String()
	set.UpdateAuthority = authority.Bytes()
	return fact(c, mint, "MetadataInitialize", set)
}

// Numbers of the Field enumeration.
const (
	fieldName   = 0
	fieldSymbol = 1
	fieldURI    = 2
	fieldKey    = 3
)

// decodeUpdateField decodes UpdateField. The metadata account is the mint, since Token-2022 stores
// metadata nowhere else.
func decodeUpdateField(v instruction.View, c *borsh.Reader) (instruction.Outcome, error) {
	mint, err := v.Account(0)
	if err != nil {
		return instruction.Outcome{}, err
	}
	set := newSet(mint)
	switch c.U8() {
	case fieldName:
		set.Name = c.String()
	case fieldSymbol:
		set.Symbol = c.String()
	case fieldURI:
		set.Uri = c.String()
	case fieldKey:
		key, value := c.String(), c.String()
		set.AdditionalFields = []*eventspb.AdditionalField{{Key: key, Value: value}}
	default:
		c.Fail(borsh.ErrValue)
	}
	return fact(c, mint, "MetadataUpdateField", set)
}

func decodeRemoveKey(v instruction.View, c *borsh.Reader) (instruction.Outcome, error) {
	mint, err := v.Account(0)
	if err != nil {
		return instruction.Outcome{}, err
	}
	c.Bool() // idempotent: whether a missing key is an error
	set := newSet(mint)
	set.AdditionalFields = []*eventspb.AdditionalField{{Key: c.String(), Removed: true}}
	return fact(c, mint, "MetadataRemoveKey", set)
}

func decodeUpdateAuthority(v instruction.View, c *borsh.Reader) (instruction.Outcome, error) {
	mint, err := v.Account(0)
	if err != nil {
		return instruction.Outcome{}, err
	}
	set := newSet(mint)
	set.UpdateAuthority = instruction.NonZeroBytes(c.Key())
	return fact(c, mint, "MetadataUpdateAuthority", set)
}

func newSet(account pubkey.Key) *eventspb.MetadataSet {
	return &eventspb.MetadataSet{
		MetadataProgram: eventspb.MetadataProgram_METADATA_PROGRAM_TOKEN_2022,
		MetadataAccount: account.Bytes(),
	}
}

func fact(c *borsh.Reader, mint pubkey.Key, name string, set *eventspb.MetadataSet) (instruction.Outcome, error) {
	if c.Err() != nil {
		return instruction.Outcome{}, c.Err()
	}
	return instruction.Fact(mint, name, &eventspb.TokenEvent{Payload: &eventspb.TokenEvent_MetadataSet{MetadataSet: set}})
}
