package metaplex

import (
	"github.com/mintlake/mintlake/ingest/decode/instruction"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/borsh"
)

// dataVersion is one of the program's two Data structures.
type dataVersion int

const (
	// dataV1 is Data: name, symbol, uri, seller fee, creators.
	dataV1 dataVersion = iota
	// dataV2 is DataV2: dataV1, collection, uses.
	dataV2
)

// decodeCreateAccount decodes CreateMetadataAccount, its V2 and its V3. Accounts are metadata,
// mint, mint authority, payer, update authority.
func decodeCreateAccount(v instruction.View, c *borsh.Reader, name string, version dataVersion) (instruction.Outcome, error) {
	metadata, mint, authority, err := v.Accounts(0, 1, 4)
	if err != nil {
		return instruction.Outcome{}, instruction.ErrAccounts
	}
	set := newSet(metadata)
	set.Creates = true
	set.UpdateAuthority = authority.Bytes()
	readData(c, set, version)
	mutable := c.Bool()
	set.IsMutable = &mutable
	seeded(v, 2, set)
	if version == dataV2 {
		set.TokenStandard = inferredStandard(v, mint)
	}
	// V3 ends with the collection's details, which do not matter for a fungible token.
	if c.Err() != nil {
		return instruction.Outcome{}, c.Err()
	}
	return fact(mint, name, set)
}

// inferredStandard returns the token standard that the program derives from the mint's decimals.
// CreateMetadataAccountV2 and V3 have always set it, CreateMetadataAccount never does
// (add_token_standard of process_create_metadata_accounts_logic, since version 1.1.0, which
// introduced standards). It returns nil if nothing in the transaction shows the decimals.
func inferredStandard(v instruction.View, mint pubkey.Key) *uint32 {
	decimals, known := v.Mints.Decimals(mint)
	if !known {
		return nil
	}
	standard := uint32(standardFungible)
	if decimals == 0 {
		standard = standardFungibleAsset
	}
	return &standard
}

// decodeCreate decodes the unified Create. Its only version is CreateArgs::V1. Accounts are
// metadata, master edition, mint, authority, payer, update authority.
func decodeCreate(v instruction.View, c *borsh.Reader) (instruction.Outcome, error) {
	metadata, mint, authority, err := v.Accounts(0, 2, 5)
	if err != nil {
		return instruction.Outcome{}, instruction.ErrAccounts
	}
	if c.U8() != 0 {
		c.Fail(borsh.ErrValue)
	}
	set := newSet(metadata)
	set.Creates = true
	set.UpdateAuthority = authority.Bytes()
	readData(c, set, dataV1)
	sold, mutable := c.Bool(), c.Bool()
	set.PrimarySaleHappened, set.IsMutable = &sold, &mutable
	set.TokenStandard = readStandard(c)
	readOptionalCollection(c, set)
	seeded(v, 3, set)
	// Uses, collection details, rule set, decimals and print supply follow. Events carry none of
	// them. The mint's decimals come from the initialize instruction that the program calls.
	if c.Err() != nil {
		return instruction.Outcome{}, c.Err()
	}
	return fact(mint, "Create", set)
}

// seedAuthority may create the metadata of any mint. The program then makes the mint's own
// authority the update authority, and the metadata mutable (SEED_AUTHORITY in utils/metadata.rs).
// The instruction does not name the mint's authority.
var seedAuthority = pubkey.Key{
	0x92, 0x17, 0x2c, 0xc4, 0x72, 0x5d, 0xc0, 0x41, 0xf9, 0xdd, 0x8c, 0x51, 0x52, 0x60, 0x04, 0x26,
	0x00, 0x93, 0xa3, 0x0b, 0x02, 0x73, 0xdc, 0xfa, 0x74, 0x92, 0x17, 0xfc, 0x94, 0xa2, 0x40, 0x49,
}

// seeded clears update authority and mutability if the instruction names seedAuthority as the mint
// authority, which is the account at authorityAt. The program then ignores the instruction's values
// of both.
func seeded(v instruction.View, authorityAt int, set *eventspb.MetadataSet) {
	if authority, err := v.Account(authorityAt); err == nil && authority == seedAuthority {
		set.UpdateAuthority, set.IsMutable = nil, nil
	}
}

// readData reads Data or DataV2. The instruction sets all fields of it.
func readData(c *borsh.Reader, set *eventspb.MetadataSet, version dataVersion) {
	set.Name, set.Symbol, set.Uri = c.String(), c.String(), c.String()
	fee := uint32(c.U16())
	set.SellerFeeBasisPoints = &fee
	set.SetsCreators = true
	set.Creators = readCreators(c)
	if version == dataV2 {
		readOptionalCollection(c, set)
		skipUses(c)
	}
}

// readCreators reads Option<Vec<Creator>>. More creators than the program allows are malformed:
// such a transaction could not have succeeded.
func readCreators(c *borsh.Reader) []*eventspb.Creator {
	if !c.Bool() {
		return nil
	}
	n := c.U32()
	if n > maxCreators {
		c.Fail(borsh.ErrValue)
		return nil
	}
	creators := make([]*eventspb.Creator, 0, n)
	for range n {
		address, verified, share := c.Key(), c.Bool(), c.U8()
		creators = append(creators, &eventspb.Creator{
			Address: address.Bytes(), Verified: verified, Share: uint32(share),
		})
	}
	return creators
}

// readCollection reads Collection: whether it is verified, and its mint.
func readCollection(c *borsh.Reader, set *eventspb.MetadataSet) {
	verified := c.Bool()
	set.Collection, set.CollectionVerified = c.Key().Bytes(), &verified
}

// readOptionalCollection reads an optional collection. If there is none, it makes the collection
// empty but not nil: nil would mean that the instruction leaves the collection as it is.
func readOptionalCollection(c *borsh.Reader, set *eventspb.MetadataSet) {
	if !c.Bool() {
		set.Collection = []byte{}
		return
	}
	readCollection(c, set)
}

// usesLength is the length of Uses: the method, the remaining uses and the total.
const usesLength = 1 + 8 + 8

func skipUses(c *borsh.Reader) {
	if c.Bool() {
		c.Skip(usesLength)
	}
}

// readStandard reads TokenStandard.
func readStandard(c *borsh.Reader) *uint32 {
	standard := uint32(c.U8())
	if standard >= standards {
		c.Fail(borsh.ErrValue)
	}
	return &standard
}
