// Package spltoken decodes the SPL Token program, both the classic one and p-token, and what
// Token-2022 shares with it.
//
// In: one invocation. Out: mint_to, burn, initialize_mint, set_authority, freeze_account,
// thaw_account and withdraw_excess_lamports events. Guarantees: numbers, layouts and account orders
// are those of the program's published interface (solana-program/token,
// interface/src/instruction.rs and pinocchio/interface/src/instruction.rs).
package spltoken

import (
	"github.com/mintlake/mintlake/ingest/decode/instruction"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/borsh"
)

// Instruction numbers, the first byte of the data.
const (
	initializeMint         = 0
	initializeAccount      = 1
	initializeMultisig     = 2
	transfer               = 3
	approve                = 4
	revoke                 = 5
	setAuthority           = 6
	mintTo                 = 7
	burn                   = 8
	closeAccount           = 9
	freezeAccount          = 10
	thawAccount            = 11
	transferChecked        = 12
	approveChecked         = 13
	mintToChecked          = 14
	burnChecked            = 15
	initializeAccount2     = 16
	syncNative             = 17
	initializeAccount3     = 18
	initializeMultisig2    = 19
	initializeMint2        = 20
	getAccountDataSize     = 21
	initializeImmutable    = 22
	amountToUIAmount       = 23
	uiAmountToAmount       = 24
	withdrawExcessLamports = 38
	unwrapLamports         = 45
)

// Decode decodes one instruction of SPL Token, or one that Token-2022 shares with it. The caller
// takes a Batch apart with SplitBatch. An unknown instruction number gives instruction.ErrUnknown.
func Decode(v instruction.View) (instruction.Outcome, error) {
	data := v.Data()
	if len(data) == 0 {
		return instruction.Outcome{}, borsh.ErrTruncated
	}
	c := borsh.NewReader(data[1:])
	switch data[0] {
	case initializeMint:
		return decodeInitializeMint(v, c, "InitializeMint")
	case initializeMint2:
		return decodeInitializeMint(v, c, "InitializeMint2")
	case mintTo:
		return decodeMintTo(v, c, "MintTo", false)
	case mintToChecked:
		return decodeMintTo(v, c, "MintToChecked", true)
	case burn:
		return decodeBurn(v, c, "Burn", false)
	case burnChecked:
		return decodeBurn(v, c, "BurnChecked", true)
	case setAuthority:
		return decodeSetAuthority(v, c)
	case closeAccount:
		// A mint cannot be closed: the program reads the account as a token account
		// (process_close_account).
		return instruction.Ignore(instruction.IgnoredTokenAccount)
	case freezeAccount, thawAccount:
		return decodeFreeze(v, data[0] == freezeAccount)
	case withdrawExcessLamports:
		return decodeWithdrawExcessLamports(v)
	case initializeAccount, initializeAccount2, initializeAccount3, initializeMultisig, initializeMultisig2:
		if account, err := v.Account(0); err == nil {
			v.Mints.InitializedOther(account)
		}
		return instruction.Ignore(instruction.IgnoredTokenAccount)
	case transfer, transferChecked, approve, approveChecked, revoke, syncNative, initializeImmutable, unwrapLamports:
		return instruction.Ignore(instruction.IgnoredTokenAccount)
	case getAccountDataSize, amountToUIAmount, uiAmountToAmount:
		return instruction.Ignore(instruction.IgnoredReadOnly)
	default:
		return instruction.Outcome{}, instruction.ErrUnknown
	}
}

func decodeInitializeMint(v instruction.View, c *borsh.Reader, name string) (instruction.Outcome, error) {
	mint, err := v.Account(0)
	if err != nil {
		return instruction.Outcome{}, err
	}
	decimals, mintAuthority, freezeAuthority := c.U8(), c.Key(), c.OptionKey()
	if c.Err() != nil {
		return instruction.Outcome{}, c.Err()
	}
	v.Mints.Initialized(mint, decimals)
	return instruction.Fact(mint, name, &eventspb.TokenEvent{Payload: &eventspb.TokenEvent_InitializeMint{
		InitializeMint: &eventspb.InitializeMint{
			Decimals:        uint32(decimals),
			MintAuthority:   mintAuthority.Bytes(),
			FreezeAuthority: instruction.OptionalBytes(freezeAuthority),
		},
	}})
}

func decodeMintTo(v instruction.View, c *borsh.Reader, name string, checked bool) (instruction.Outcome, error) {
	mint, account, authority, err := v.Accounts(0, 1, 2)
	if err != nil {
		return instruction.Outcome{}, instruction.ErrAccounts
	}
	change, err := Amount(c, account, authority, checked)
	if err != nil {
		return instruction.Outcome{}, err
	}
	return instruction.Fact(mint, name, &eventspb.TokenEvent{Payload: &eventspb.TokenEvent_MintTo{MintTo: change}})
}

func decodeBurn(v instruction.View, c *borsh.Reader, name string, checked bool) (instruction.Outcome, error) {
	account, mint, authority, err := v.Accounts(0, 1, 2)
	if err != nil {
		return instruction.Outcome{}, instruction.ErrAccounts
	}
	change, err := Amount(c, account, authority, checked)
	if err != nil {
		return instruction.Outcome{}, err
	}
	return instruction.Fact(mint, name, &eventspb.TokenEvent{Payload: &eventspb.TokenEvent_Burn{Burn: change}})
}

// Amount reads the amount of a mint or burn, and the decimals if the instruction is of the checked
// form.
func Amount(c *borsh.Reader, account, authority pubkey.Key, checked bool) (*eventspb.AmountChange, error) {
	change := &eventspb.AmountChange{
		Amount:       c.U64(),
		TokenAccount: account.Bytes(),
		Authority:    authority.Bytes(),
	}
	if checked {
		decimals := uint32(c.U8())
		change.Decimals = &decimals
	}
	return change, c.Err()
}

func decodeFreeze(v instruction.View, freeze bool) (instruction.Outcome, error) {
	account, mint, authority, err := v.Accounts(0, 1, 2)
	if err != nil {
		return instruction.Outcome{}, instruction.ErrAccounts
	}
	payload := &eventspb.AccountFreeze{
		TokenAccount: account.Bytes(),
		Authority:    authority.Bytes(),
	}
	if freeze {
		return instruction.Fact(mint, "FreezeAccount", &eventspb.TokenEvent{
			Payload: &eventspb.TokenEvent_FreezeAccount{FreezeAccount: payload},
		})
	}
	return instruction.Fact(mint, "ThawAccount", &eventspb.TokenEvent{
		Payload: &eventspb.TokenEvent_ThawAccount{ThawAccount: payload},
	})
}

// decodeWithdrawExcessLamports returns an event if the source is a mint. The source may also be a
// token account, see Mints.IsOther, or a multisignature. A multisignature is its own authority, and
// its signers follow among the accounts. If nothing shows what the source is, it is taken for a
// mint.
func decodeWithdrawExcessLamports(v instruction.View) (instruction.Outcome, error) {
	source, destination, authority, err := v.Accounts(0, 1, 2)
	if err != nil {
		return instruction.Outcome{}, instruction.ErrAccounts
	}
	multisig := source == authority && v.AccountCount() > 3
	if !v.Mints.IsMint(source) && (multisig || v.Mints.IsOther(source)) {
		return instruction.Ignore(instruction.IgnoredTokenAccount)
	}
	return instruction.Fact(source, "WithdrawExcessLamports", &eventspb.TokenEvent{
		Payload: &eventspb.TokenEvent_WithdrawExcessLamports{
			WithdrawExcessLamports: &eventspb.WithdrawExcessLamports{
				Source:      source.Bytes(),
				Destination: destination.Bytes(),
				Authority:   authority.Bytes(),
			},
		},
	})
}
