package token2022

import (
	"github.com/mintlake/mintlake/ingest/decode/instruction"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/solana/borsh"
)

// Discriminators of the SPL Token Group interface: the first eight bytes of SHA-256 of
// "spl_token_group_interface:" and initialize_token_group, update_group_max_size, update_authority,
// initialize_member (solana-program/token-group).
var (
	initializeGroup      = [8]byte{121, 113, 108, 39, 54, 51, 0, 4}
	updateGroupMaxSize   = [8]byte{108, 37, 171, 143, 248, 30, 18, 110}
	updateGroupAuthority = [8]byte{161, 105, 88, 1, 237, 221, 216, 203}
	initializeMember     = [8]byte{152, 32, 222, 176, 223, 237, 116, 134}
)

const discriminatorLength = 8

// decodeGroup decodes the group interface. In Token-2022 a group is stored in a mint, and so is a
// member.
func decodeGroup(v instruction.View) (instruction.Outcome, error) {
	data := v.Data()
	switch {
	case instruction.HasPrefix(data, initializeGroup):
		return decodeInitializeGroup(v)
	case instruction.HasPrefix(data, updateGroupMaxSize):
		return decodeGroupField(v, "UpdateGroupMaxSize", field{name: "max_size", read: decimalU64})
	case instruction.HasPrefix(data, updateGroupAuthority):
		return decodeGroupField(v, "UpdateGroupAuthority", field{name: "update_authority", read: nonZeroKey})
	case instruction.HasPrefix(data, initializeMember):
		return decodeMember(v)
	default:
		return instruction.Outcome{}, instruction.ErrUnknown
	}
}

// decodeInitializeGroup decodes InitializeGroup. Accounts are group, mint, mint authority. The
// program demands that group and mint are the same.
func decodeInitializeGroup(v instruction.View) (instruction.Outcome, error) {
	mint, err := v.Account(0)
	if err != nil {
		return instruction.Outcome{}, err
	}
	attributes, err := readFields(borsh.NewReader(v.Data()[discriminatorLength:]), []field{
		{name: "update_authority", read: nonZeroKey}, {name: "max_size", read: decimalU64},
	})
	if err != nil {
		return instruction.Outcome{}, err
	}
	return extensionFact(mint, "InitializeGroup", "token_group", append(attributes,
		&eventspb.Attribute{Name: "mint", Value: keyValue(mint)}, &eventspb.Attribute{Name: "size", Value: "0"}))
}

// decodeGroupField decodes an instruction that sets one field of a group.
func decodeGroupField(v instruction.View, name string, set field) (instruction.Outcome, error) {
	mint, err := v.Account(0)
	if err != nil {
		return instruction.Outcome{}, err
	}
	attributes, err := readFields(borsh.NewReader(v.Data()[discriminatorLength:]), []field{set})
	if err != nil {
		return instruction.Outcome{}, err
	}
	return extensionFact(mint, name, "token_group", attributes)
}

// decodeMember decodes InitializeMember. Accounts are member, its mint, the mint's authority, the
// group, the group's update authority. The event is about the member. There is no event about the
// group's size, because the new size depends on the group's account.
func decodeMember(v instruction.View) (instruction.Outcome, error) {
	mint, err := v.Account(1)
	if err != nil {
		return instruction.Outcome{}, err
	}
	group, err := v.Account(3)
	if err != nil {
		return instruction.Outcome{}, err
	}
	return extensionFact(mint, "InitializeMember", "token_group_member",
		[]*eventspb.Attribute{{Name: "group", Value: keyValue(group)}, {Name: "mint", Value: keyValue(mint)}})
}
