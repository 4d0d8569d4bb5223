// Package token2022 decodes the Token-2022 program: SPL Token's instructions, the mint extensions,
// and the interfaces for metadata and groups that are stored in mints.
//
// In: one invocation. Out: the events of spltoken and tokenmetadata, and extension_set events.
// Guarantees: numbers, layouts and account orders are those of the published interface
// (solana-program/token-2022, interface/src).
package token2022

import (
	"github.com/mintlake/mintlake/ingest/decode/instruction"
	"github.com/mintlake/mintlake/ingest/decode/spltoken"
	"github.com/mintlake/mintlake/ingest/decode/tokenmetadata"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/solana/borsh"
)

// Numbers of instructions that Token-2022 has and SPL Token does not. Most are prefixes: the second
// byte is the extension's own number.
const (
	closeAccount            = 9 // SPL Token has it too, but only Token-2022 closes mints with it
	mintCloseAuthority      = 25
	transferFee             = 26
	confidentialTransfer    = 27
	defaultAccountState     = 28
	reallocate              = 29
	memoTransfer            = 30
	createNativeMint        = 31
	nonTransferable         = 32
	interestBearing         = 33
	cpiGuard                = 34
	permanentDelegate       = 35
	transferHook            = 36
	confidentialTransferFee = 37
	metadataPointer         = 39
	groupPointer            = 40
	groupMemberPointer      = 41
	confidentialMintBurn    = 42
	scaledUIAmount          = 43
	pausable                = 44
	permissionedBurn        = 46
)

// nativeMintDecimals are those of SOL: spl_token_2022_interface::native_mint::DECIMALS.
const nativeMintDecimals = 9

// Decode decodes one instruction of Token-2022. The parts of a Batch are decoded one by one, see
// spltoken.SplitBatch.
func Decode(v instruction.View) (instruction.Outcome, error) {
	data := v.Data()
	if len(data) == 0 {
		return instruction.Outcome{}, borsh.ErrTruncated
	}
	switch data[0] {
	case closeAccount:
		return decodeCloseAccount(v)
	case mintCloseAuthority, nonTransferable, permanentDelegate:
		return decodeExtension(v, extensionKey{data[0], noSubNumber}, data[1:])
	case transferFee, confidentialTransfer, defaultAccountState, interestBearing, transferHook, confidentialTransferFee,
		metadataPointer, groupPointer, groupMemberPointer, confidentialMintBurn, scaledUIAmount, pausable, permissionedBurn,
		memoTransfer, cpiGuard:
		return decodePrefixed(v)
	case reallocate:
		return instruction.Ignore(instruction.IgnoredTokenAccount)
	case createNativeMint:
		return decodeCreateNativeMint(v)
	}
	outcome, err := spltoken.Decode(v)
	if err != instruction.ErrUnknown { //nolint:errorlint // compared with the very value that spltoken returns
		return outcome, err
	}
	// As in the program, the discriminators of the interfaces come after the program's own numbers.
	if outcome, ok, err := tokenmetadata.Decode(v); ok {
		return outcome, err
	}
	return decodeGroup(v)
}

// decodePrefixed decodes an instruction whose second byte is the extension's own number.
func decodePrefixed(v instruction.View) (instruction.Outcome, error) {
	data := v.Data()
	if len(data) < 2 {
		return instruction.Outcome{}, borsh.ErrTruncated
	}
	key := extensionKey{data[0], data[1]}
	if data[0] == permissionedBurn && (data[1] == permissionedBurnBurn || data[1] == permissionedBurnChecked) {
		return decodePermissionedBurn(v, data[1] == permissionedBurnChecked)
	}
	if reason, ok := ignoredExtensions[key]; ok {
		return instruction.Ignore(reason)
	}
	return decodeExtension(v, key, data[2:])
}

// Numbers of PermissionedBurnInstruction that change the supply.
const (
	permissionedBurnBurn    = 1
	permissionedBurnChecked = 2
)

// decodePermissionedBurn decodes a burn whose owner is the fourth account, after the permissioned
// burn authority.
func decodePermissionedBurn(v instruction.View, checked bool) (instruction.Outcome, error) {
	account, mint, owner, err := v.Accounts(0, 1, 3)
	if err != nil {
		return instruction.Outcome{}, instruction.ErrAccounts
	}
	change, err := spltoken.Amount(borsh.NewReader(v.Data()[2:]), account, owner, checked)
	if err != nil {
		return instruction.Outcome{}, err
	}
	name := "PermissionedBurn"
	if checked {
		name = "PermissionedBurnChecked"
	}
	return instruction.Fact(mint, name, &eventspb.TokenEvent{Payload: &eventspb.TokenEvent_Burn{Burn: change}})
}

// decodeCloseAccount returns an event if a mint is closed, which Token-2022 allows for mints
// without supply. The instruction also closes token accounts, which Mints.IsOther recognises. A
// token account whose mint was closed earlier looks like a mint here. That does no harm, because
// the registry has no mint with the address of a token account.
func decodeCloseAccount(v instruction.View) (instruction.Outcome, error) {
	account, destination, authority, err := v.Accounts(0, 1, 2)
	if err != nil {
		return instruction.Outcome{}, instruction.ErrAccounts
	}
	if !v.Mints.IsMint(account) && v.Mints.IsOther(account) {
		return instruction.Ignore(instruction.IgnoredTokenAccount)
	}
	return instruction.Fact(account, "CloseAccount", &eventspb.TokenEvent{Payload: &eventspb.TokenEvent_CloseMint{
		CloseMint: &eventspb.CloseMint{
			Destination: destination.Bytes(),
			Authority:   authority.Bytes(),
		},
	}})
}

func decodeCreateNativeMint(v instruction.View) (instruction.Outcome, error) {
	mint, err := v.Account(1)
	if err != nil {
		return instruction.Outcome{}, err
	}
	v.Mints.Initialized(mint, nativeMintDecimals)
	return instruction.Fact(mint, "CreateNativeMint", &eventspb.TokenEvent{
		Payload: &eventspb.TokenEvent_InitializeMint{InitializeMint: &eventspb.InitializeMint{
			Decimals: nativeMintDecimals, MintAuthority: []byte{}, FreezeAuthority: []byte{},
		}},
	})
}
