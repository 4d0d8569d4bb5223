package token2022

import (
	"slices"
	"strings"

	"github.com/mintlake/mintlake/ingest/decode/instruction"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/borsh"
)

// extensionKey is an instruction number and the extension's own number after it.
type extensionKey struct{ number, sub uint8 }

// noSubNumber is the second number of an instruction that has none.
const noSubNumber = 255

// extensionSet is an instruction that initialises or changes a mint extension.
type extensionSet struct {
	// instruction is the published name, with the extension's name added if it is not part of it.
	instruction string
	// extension is the extension's name: ExtensionType in snake case.
	extension string
	// mintAt is the mint's place among the accounts.
	mintAt int
	// fields are in the order of the data. They have the names of the extension's own fields in the
	// account.
	fields []field
	// fixed are attributes that follow from the instruction itself. An instruction that changes the
	// extension without saying how has neither fields nor fixed.
	fixed []fixed
}

// fixed is an attribute whose value is always the same.
type fixed struct{ name, value string }

// extensions are all instructions that set a mint extension.
var extensions = map[extensionKey]extensionSet{
	{mintCloseAuthority, noSubNumber}: {
		instruction: "InitializeMintCloseAuthority", extension: "mint_close_authority",
		fields: []field{{name: "close_authority", read: optionKey}},
	},
	{nonTransferable, noSubNumber}: {instruction: "InitializeNonTransferableMint", extension: "non_transferable"},
	{permanentDelegate, noSubNumber}: {
		instruction: "InitializePermanentDelegate", extension: "permanent_delegate",
		fields: []field{{name: "delegate", read: nonZeroKey}},
	},
	{transferFee, 0}: {
		instruction: "InitializeTransferFeeConfig", extension: "transfer_fee_config",
		fields: []field{
			{name: "transfer_fee_config_authority", read: optionKey}, {name: "withdraw_withheld_authority", read: optionKey},
			{name: "newer_transfer_fee_basis_points", read: decimalU16, also: "older_transfer_fee_basis_points"},
			{name: "newer_transfer_fee_maximum_fee", read: decimalU64, also: "older_transfer_fee_maximum_fee"},
		},
		fixed: []fixed{{"withheld_amount", "0"}},
	},
	{transferFee, 2}: {
		instruction: "WithdrawWithheldTokensFromMint", extension: "transfer_fee_config", fixed: []fixed{{"withheld_amount", "0"}},
	},
	{transferFee, 4}: {instruction: "HarvestWithheldTokensToMint", extension: "transfer_fee_config"},
	{transferFee, 5}: {
		instruction: "SetTransferFee", extension: "transfer_fee_config",
		fields: []field{
			{name: "newer_transfer_fee_basis_points", read: decimalU16}, {name: "newer_transfer_fee_maximum_fee", read: decimalU64},
		},
	},
	{defaultAccountState, 0}: {
		instruction: "InitializeDefaultAccountState", extension: "default_account_state",
		fields: []field{{name: "state", read: accountState}},
	},
	{defaultAccountState, 1}: {
		instruction: "UpdateDefaultAccountState", extension: "default_account_state",
		fields: []field{{name: "state", read: accountState}},
	},
	{interestBearing, 0}: {
		instruction: "InitializeInterestBearingMint", extension: "interest_bearing_config",
		fields: []field{
			{name: "rate_authority", read: nonZeroKey}, {name: "current_rate", read: decimalI16, also: "pre_update_average_rate"},
		},
	},
	{interestBearing, 1}: {
		instruction: "UpdateRateInterestBearingMint", extension: "interest_bearing_config",
		fields: []field{{name: "current_rate", read: decimalI16}},
	},
	{transferHook, 0}: {
		instruction: "InitializeTransferHook", extension: "transfer_hook",
		fields: []field{{name: "authority", read: nonZeroKey}, {name: "program_id", read: nonZeroKey}},
	},
	{transferHook, 1}: {
		instruction: "UpdateTransferHook", extension: "transfer_hook", fields: []field{{name: "program_id", read: nonZeroKey}},
	},
	{metadataPointer, 0}: {
		instruction: "InitializeMetadataPointer", extension: "metadata_pointer",
		fields: []field{{name: "authority", read: nonZeroKey}, {name: "metadata_address", read: nonZeroKey}},
	},
	{metadataPointer, 1}: {
		instruction: "UpdateMetadataPointer", extension: "metadata_pointer",
		fields: []field{{name: "metadata_address", read: nonZeroKey}},
	},
	{groupPointer, 0}: {
		instruction: "InitializeGroupPointer", extension: "group_pointer",
		fields: []field{{name: "authority", read: nonZeroKey}, {name: "group_address", read: nonZeroKey}},
	},
	{groupPointer, 1}: {
		instruction: "UpdateGroupPointer", extension: "group_pointer", fields: []field{{name: "group_address", read: nonZeroKey}},
	},
	{groupMemberPointer, 0}: {
		instruction: "InitializeGroupMemberPointer", extension: "group_member_pointer",
		fields: []field{{name: "authority", read: nonZeroKey}, {name: "member_address", read: nonZeroKey}},
	},
	{groupMemberPointer, 1}: {
		instruction: "UpdateGroupMemberPointer", extension: "group_member_pointer",
		fields: []field{{name: "member_address", read: nonZeroKey}},
	},
	{scaledUIAmount, 0}: {
		instruction: "InitializeScaledUiAmountMint", extension: "scaled_ui_amount",
		fields: []field{{name: "authority", read: nonZeroKey}, {name: "multiplier", read: decimalF64, also: "new_multiplier"}},
		fixed:  []fixed{{"new_multiplier_effective_timestamp", "0"}},
	},
	{scaledUIAmount, 1}: {
		instruction: "UpdateMultiplierScaledUiMint", extension: "scaled_ui_amount",
		fields: []field{
			{name: "new_multiplier", read: decimalF64}, {name: "new_multiplier_effective_timestamp", read: timestamp},
		},
	},
	{pausable, 0}: {
		instruction: "InitializePausable", extension: "pausable",
		fields: []field{{name: "authority", read: nonZeroKey}}, fixed: []fixed{{"paused", "false"}},
	},
	{pausable, 1}: {instruction: "Pause", extension: "pausable", fixed: []fixed{{"paused", "true"}}},
	{pausable, 2}: {instruction: "Resume", extension: "pausable", fixed: []fixed{{"paused", "false"}}},
	{permissionedBurn, 0}: {
		instruction: "InitializePermissionedBurn", extension: "permissioned_burn",
		fields: []field{{name: "authority", read: nonZeroKey}},
	},
}

// ignoredExtensions are the extensions' instructions that change nothing that the registry has of a
// mint.
var ignoredExtensions = ignoredTable()

func ignoredTable() map[extensionKey]instruction.Ignored {
	table := make(map[extensionKey]instruction.Ignored)
	ignore := func(reason instruction.Ignored, number uint8, from, to uint8) {
		for sub := from; sub <= to; sub++ {
			table[extensionKey{number, sub}] = reason
		}
	}
	// TransferCheckedWithFee.
	ignore(instruction.IgnoredTokenAccount, transferFee, 1, 1)
	// WithdrawWithheldTokensFromAccounts moves withheld fees from token accounts to one account.
	ignore(instruction.IgnoredTokenAccount, transferFee, 3, 3)
	// All but the first two instructions are about confidential token accounts.
	ignore(instruction.IgnoredConfidential, confidentialTransfer, 2, 14)
	// The confidential form of WithdrawWithheldTokensFromAccounts.
	ignore(instruction.IgnoredConfidential, confidentialTransferFee, 2, 2)
	// Enable and Disable set whether a token account demands a memo with each transfer.
	ignore(instruction.IgnoredTokenAccount, memoTransfer, 0, 1)
	// Enable and Disable set whether a token account forbids some actions to calling programs.
	ignore(instruction.IgnoredTokenAccount, cpiGuard, 0, 1)
	return table
}

// decodeExtension decodes an instruction that is in extensions or confidentialExtensions. data is
// what follows the instruction's numbers.
func decodeExtension(v instruction.View, key extensionKey, data []byte) (instruction.Outcome, error) {
	set, ok := extensions[key]
	if !ok {
		set, ok = confidentialExtensions[key]
	}
	if !ok {
		return instruction.Outcome{}, instruction.ErrUnknown
	}
	mint, err := v.Account(set.mintAt)
	if err != nil {
		return instruction.Outcome{}, err
	}
	attributes, err := readFields(borsh.NewReader(data), set.fields)
	if err != nil {
		return instruction.Outcome{}, err
	}
	for _, f := range set.fixed {
		attributes = append(attributes, &eventspb.Attribute{Name: f.name, Value: f.value})
	}
	return extensionFact(mint, set.instruction, set.extension, attributes)
}

// readFields reads the fields as attributes, each under its name and also under its second name.
func readFields(c *borsh.Reader, fields []field) ([]*eventspb.Attribute, error) {
	attributes := make([]*eventspb.Attribute, 0, len(fields))
	for _, f := range fields {
		value := f.read(c)
		attributes = append(attributes, &eventspb.Attribute{Name: f.name, Value: value})
		if f.also != "" {
			attributes = append(attributes, &eventspb.Attribute{Name: f.also, Value: value})
		}
	}
	return attributes, c.Err()
}

// extensionFact returns an extension_set event whose attributes are sorted by name.
func extensionFact(mint pubkey.Key, name, extension string, attributes []*eventspb.Attribute) (instruction.Outcome, error) {
	slices.SortFunc(attributes, func(a, b *eventspb.Attribute) int { return strings.Compare(a.GetName(), b.GetName()) })
	return instruction.Fact(mint, name, &eventspb.TokenEvent{Payload: &eventspb.TokenEvent_ExtensionSet{
		ExtensionSet: &eventspb.ExtensionSet{Extension: extension, Attributes: attributes},
	}})
}
