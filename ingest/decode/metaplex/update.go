package metaplex

import (
	"github.com/mintlake/mintlake/ingest/decode/instruction"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/solana/borsh"
)

// decodeUpdateAccount decodes UpdateMetadataAccount and its V2. Accounts are metadata and update
// authority. The mint is not among them, see mintOf.
func decodeUpdateAccount(v instruction.View, c *borsh.Reader, name string, version dataVersion) (instruction.Outcome, error) {
	metadata, err := v.Account(0)
	if err != nil {
		return instruction.Outcome{}, err
	}
	set := newSet(metadata)
	if c.Bool() {
		readData(c, set, version)
	}
	set.UpdateAuthority = readOptionalKey(c)
	set.PrimarySaleHappened = readOptionalBool(c)
	if version == dataV2 {
		set.IsMutable = readOptionalBool(c)
	}
	if c.Err() != nil {
		return instruction.Outcome{}, c.Err()
	}
	return factOfAccount(v, metadata, name, set)
}

// Versions of UpdateArgs.
const (
	updateV1 = iota
	updateAsUpdateAuthority
	updateAsAuthorityItemDelegate
	updateAsCollectionDelegate
	updateAsDataDelegate
	updateAsProgrammableConfigDelegate
	updateAsDataItemDelegate
	updateAsCollectionItemDelegate
	updateAsProgrammableConfigItemDelegate
)

// decodeUpdate decodes the unified Update. Accounts are authority, delegate record, token, mint,
// metadata.
func decodeUpdate(v instruction.View, c *borsh.Reader) (instruction.Outcome, error) {
	mint, err := v.Account(3)
	if err != nil {
		return instruction.Outcome{}, err
	}
	metadata, err := v.Account(4)
	if err != nil {
		return instruction.Outcome{}, err
	}
	set := newSet(metadata)
	switch version := c.U8(); version {
	case updateV1, updateAsUpdateAuthority:
		readFullUpdate(c, set, version == updateAsUpdateAuthority)
	case updateAsAuthorityItemDelegate:
		set.UpdateAuthority = readOptionalKey(c)
		set.PrimarySaleHappened = readOptionalBool(c)
		set.IsMutable = readOptionalBool(c)
		set.TokenStandard = readOptionalStandard(c)
	case updateAsCollectionDelegate, updateAsCollectionItemDelegate:
		readCollectionToggle(c, set)
	case updateAsDataDelegate, updateAsDataItemDelegate:
		if c.Bool() {
			readData(c, set, dataV1)
		}
	case updateAsProgrammableConfigDelegate, updateAsProgrammableConfigItemDelegate:
		return instruction.Ignore(instruction.IgnoredNonFungible) // sets a rule set, nothing else
	default:
		c.Fail(borsh.ErrValue)
	}
	if c.Err() != nil {
		return instruction.Outcome{}, c.Err()
	}
	return fact(mint, "Update", set)
}

// readFullUpdate reads UpdateArgs::V1 and AsUpdateAuthorityV2. Both have the same fields, but only
// the latter has a token standard at the end. To reach it, the fields that events do not carry are
// skipped.
func readFullUpdate(c *borsh.Reader, set *eventspb.MetadataSet, withStandard bool) {
	set.UpdateAuthority = readOptionalKey(c)
	if c.Bool() {
		readData(c, set, dataV1)
	}
	set.PrimarySaleHappened = readOptionalBool(c)
	set.IsMutable = readOptionalBool(c)
	readCollectionToggle(c, set)
	if !withStandard {
		return
	}
	skipToggle(c, skipCollectionDetails)
	skipToggle(c, func(c *borsh.Reader) { c.Skip(usesLength) })
	skipToggle(c, func(c *borsh.Reader) { c.Key() }) // rule set
	set.TokenStandard = readOptionalStandard(c)
}

// readOptionalKey reads an optional key; nil means that the instruction leaves the value as it is.
func readOptionalKey(c *borsh.Reader) []byte {
	key := c.OptionKey()
	if key == nil {
		return nil
	}
	return key.Bytes()
}

// readOptionalBool reads an optional flag; nil means that the instruction leaves the value as it
// is.
func readOptionalBool(c *borsh.Reader) *bool {
	if !c.Bool() {
		return nil
	}
	value := c.Bool()
	return &value
}

// readOptionalStandard reads an optional token standard; nil means that the instruction leaves the
// value as it is.
func readOptionalStandard(c *borsh.Reader) *uint32 {
	if !c.Bool() {
		return nil
	}
	return readStandard(c)
}

// Values of the toggles: leave the value, clear it, set it.
const (
	toggleNone  = 0
	toggleClear = 1
	toggleSet   = 2
)

// readCollectionToggle reads a collection's toggle. The collection stays nil if the instruction
// leaves it as it is, and becomes empty if the instruction clears it.
func readCollectionToggle(c *borsh.Reader, set *eventspb.MetadataSet) {
	switch c.U8() {
	case toggleNone:
	case toggleClear:
		set.Collection = []byte{}
	case toggleSet:
		readCollection(c, set)
	default:
		c.Fail(borsh.ErrValue)
	}
}

// skipToggle passes over a toggle. skipValue passes over the value, if the toggle sets one.
func skipToggle(c *borsh.Reader, skipValue func(*borsh.Reader)) {
	switch c.U8() {
	case toggleNone, toggleClear:
	case toggleSet:
		skipValue(c)
	default:
		c.Fail(borsh.ErrValue)
	}
}

// skipCollectionDetails passes over CollectionDetails: a byte for one of two versions, and then
// eight bytes.
func skipCollectionDetails(c *borsh.Reader) {
	if c.U8() > 1 {
		c.Fail(borsh.ErrValue)
	}
	c.Skip(8)
}
