package spltoken

import (
	"github.com/mintlake/mintlake/ingest/decode/instruction"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/solana/borsh"
)

// Numbers of AuthorityType that are about token accounts.
const (
	authorityAccountOwner = 2
	authorityCloseAccount = 3
)

// authorityNames is AuthorityType in snake case:
// spl_token_2022_interface::instruction::AuthorityType, of which SPL Token has the first four.
var authorityNames = [...]string{
	"mint_tokens",
	"freeze_account",
	"account_owner",
	"close_account",
	"transfer_fee_config",
	"withheld_withdraw",
	"close_mint",
	"interest_rate",
	"permanent_delegate",
	"confidential_transfer_mint",
	"transfer_hook_program_id",
	"confidential_transfer_fee_config",
	"metadata_pointer",
	"group_pointer",
	"group_member_pointer",
	"scaled_ui_amount",
	"pause",
	"permissioned_burn",
}

// decodeSetAuthority returns an event if the authority is a mint's. The event's old authority is
// the account that the instruction names as the current authority. If a multisignature signs, that
// is the multisignature's account.
func decodeSetAuthority(v instruction.View, c *borsh.Reader) (instruction.Outcome, error) {
	kind, next := c.U8(), c.OptionKey()
	if c.Err() != nil {
		return instruction.Outcome{}, c.Err()
	}
	if int(kind) >= len(authorityNames) {
		return instruction.Outcome{}, borsh.ErrValue
	}
	if kind == authorityAccountOwner || kind == authorityCloseAccount {
		return instruction.Ignore(instruction.IgnoredTokenAccount)
	}
	mint, err := v.Account(0)
	if err != nil {
		return instruction.Outcome{}, err
	}
	old, err := v.Account(1)
	if err != nil {
		return instruction.Outcome{}, err
	}
	return instruction.Fact(mint, "SetAuthority", &eventspb.TokenEvent{Payload: &eventspb.TokenEvent_SetAuthority{
		SetAuthority: &eventspb.SetAuthority{
			AuthorityType: authorityNames[kind],
			OldAuthority:  old.Bytes(),
			NewAuthority:  instruction.OptionalBytes(next),
		},
	}})
}
