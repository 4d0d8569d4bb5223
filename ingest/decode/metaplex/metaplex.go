// Package metaplex decodes the Metaplex Token Metadata program.
//
// In: one invocation. Out: metadata_set events. Guarantees: texts are the instruction's bytes,
// unchanged. Numbers, Borsh layouts and account orders are those of
// metaplex-foundation/mpl-token-metadata, programs/token-metadata/program/src/instruction. An event
// has only what the instruction states. It lacks what the program adds by itself, such as the data
// that an edition takes over, or the standard that SetTokenStandard finds. An exception is the
// token standard that CreateMetadataAccountV2 and V3 derive from the decimals, if the transaction
// tells the decimals.
package metaplex

import (
	"github.com/mintlake/mintlake/ingest/decode/instruction"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/borsh"
)

// Instruction numbers, the first byte of the data: the order of the MetadataInstruction
// enumeration.
const (
	createMetadataAccount    = 0
	updateMetadataAccount    = 1
	updatePrimarySale        = 4
	createMasterEdition      = 10
	mintNewEdition           = 11
	mintNewEditionVaultProxy = 13
	updateMetadataAccountV2  = 15
	createMetadataAccountV2  = 16
	createMasterEditionV3    = 17
	createMetadataAccountV3  = 33
	setTokenStandard         = 35
	create                   = 42
	migrate                  = 48
	update                   = 50
	verify                   = 52
	unverify                 = 53
	printEdition             = 55
)

// Values of the TokenStandard enumeration that instructions imply. standards is the number of all
// values.
const (
	standardNonFungible        = 0
	standardFungibleAsset      = 1
	standardFungible           = 2
	standardNonFungibleEdition = 3
	standardProgrammable       = 4
	standards                  = 6
)

// prints is how many versions of PrintArgs there are.
const prints = 2

// maxCreators is the program's MAX_CREATOR_LIMIT.
const maxCreators = 5

// Decode decodes one instruction.
func Decode(v instruction.View) (instruction.Outcome, error) {
	data := v.Data()
	if len(data) == 0 {
		return instruction.Outcome{}, borsh.ErrTruncated
	}
	c := borsh.NewReader(data[1:])
	switch data[0] {
	case createMetadataAccount:
		return decodeCreateAccount(v, c, "CreateMetadataAccount", dataV1)
	case createMetadataAccountV2:
		return decodeCreateAccount(v, c, "CreateMetadataAccountV2", dataV2)
	case createMetadataAccountV3:
		return decodeCreateAccount(v, c, "CreateMetadataAccountV3", dataV2)
	case create:
		return decodeCreate(v, c)
	case updateMetadataAccount:
		return decodeUpdateAccount(v, c, "UpdateMetadataAccount", dataV1)
	case updateMetadataAccountV2:
		return decodeUpdateAccount(v, c, "UpdateMetadataAccountV2", dataV2)
	case update:
		return decodeUpdate(v, c)
	case updatePrimarySale:
		return decodeUpdatePrimarySale(v)
	case createMasterEdition:
		return decodeStandard(v, "CreateMasterEdition", 1, 5, standardNonFungible, false)
	case createMasterEditionV3:
		return decodeStandard(v, "CreateMasterEditionV3", 1, 5, standardNonFungible, false)
	case mintNewEdition:
		return decodeStandard(v, "MintNewEditionFromMasterEditionViaToken", 3, 0, standardNonFungibleEdition, true)
	case mintNewEditionVaultProxy:
		return decodeStandard(v, "MintNewEditionFromMasterEditionViaVaultProxy", 3, 0, standardNonFungibleEdition, true)
	case migrate:
		return decodeStandard(v, "Migrate", 4, 0, standardProgrammable, false)
	case verify:
		return decodeVerify(v, c, "Verify", true)
	case unverify:
		return decodeVerify(v, c, "Unverify", false)
	case printEdition:
		if c.U8() >= prints || c.Err() != nil {
			return instruction.Outcome{}, instruction.ErrUnknown
		}
		return decodeUntold(v, "Print", 2, 0, true)
	case setTokenStandard:
		return decodeUntold(v, "SetTokenStandard", 2, 0, false)
	}
	if what, ok := verifications[data[0]]; ok {
		return decodeVerification(v, what)
	}
	if reason, ok := ignored[data[0]]; ok {
		if known, versioned := versions[data[0]]; versioned {
			if version := c.U8(); c.Err() != nil || version >= known {
				return instruction.Outcome{}, instruction.ErrUnknown
			}
		}
		return instruction.Ignore(reason)
	}
	return instruction.Outcome{}, instruction.ErrUnknown
}

// ignored are the instructions that set nothing that the registry shows of a fungible token.
var ignored = map[uint8]instruction.Ignored{
	2:  instruction.IgnoredNonFungible, // DeprecatedCreateMasterEdition
	3:  instruction.IgnoredNonFungible, // DeprecatedMintNewEditionFromMasterEditionViaPrintingToken
	5:  instruction.IgnoredNonFungible, // DeprecatedSetReservationList
	6:  instruction.IgnoredNonFungible, // DeprecatedCreateReservationList
	8:  instruction.IgnoredNonFungible, // DeprecatedMintPrintingTokensViaToken
	9:  instruction.IgnoredNonFungible, // DeprecatedMintPrintingTokens
	12: instruction.IgnoredNonFungible, // ConvertMasterEditionV1ToV2
	14: instruction.IgnoredReadOnly,    // PuffMetadata: pads the strings, which the fold trims
	19: instruction.IgnoredDelegation,  // Utilize
	20: instruction.IgnoredDelegation,  // ApproveUseAuthority
	21: instruction.IgnoredDelegation,  // RevokeUseAuthority
	23: instruction.IgnoredDelegation,  // ApproveCollectionAuthority
	24: instruction.IgnoredDelegation,  // RevokeCollectionAuthority
	26: instruction.IgnoredInner,       // FreezeDelegatedAccount
	27: instruction.IgnoredInner,       // ThawDelegatedAccount
	29: instruction.IgnoredInner,       // BurnNft
	34: instruction.IgnoredNonFungible, // SetCollectionSize
	36: instruction.IgnoredNonFungible, // BubblegumSetCollectionSize
	37: instruction.IgnoredInner,       // BurnEditionNft
	38: instruction.IgnoredNonFungible, // CreateEscrowAccount
	39: instruction.IgnoredNonFungible, // CloseEscrowAccount
	40: instruction.IgnoredInner,       // TransferOutOfEscrow
	41: instruction.IgnoredInner,       // Burn
	43: instruction.IgnoredInner,       // Mint
	44: instruction.IgnoredDelegation,  // Delegate
	45: instruction.IgnoredDelegation,  // Revoke
	46: instruction.IgnoredInner,       // Lock
	47: instruction.IgnoredInner,       // Unlock
	49: instruction.IgnoredInner,       // Transfer
	51: instruction.IgnoredDelegation,  // Use
	54: instruction.IgnoredReadOnly,    // Collect
	56: instruction.IgnoredReadOnly,    // Resize
	57: instruction.IgnoredNonFungible, // CloseAccounts
}

// versions has, for those ignored instructions whose second byte is a version, how many versions
// are known. A later version is not ignored, because it might change something.
var versions = map[uint8]uint8{
	41: 1,  // Burn
	43: 1,  // Mint
	44: 14, // Delegate
	45: 15, // Revoke
	46: 1,  // Lock
	47: 1,  // Unlock
	49: 1,  // Transfer
	51: 1,  // Use
}

// decodeStandard decodes an instruction that states only the mint's new token standard. mintAt and
// metadataAt are places among the accounts. creates means that the instruction makes the metadata
// account.
func decodeStandard(v instruction.View, name string, mintAt, metadataAt int, standard uint32, creates bool) (instruction.Outcome, error) {
	mint, err := v.Account(mintAt)
	if err != nil {
		return instruction.Outcome{}, err
	}
	metadata, err := v.Account(metadataAt)
	if err != nil {
		return instruction.Outcome{}, err
	}
	set := newSet(metadata)
	set.TokenStandard, set.Creates = &standard, creates
	return fact(mint, name, set)
}

// decodeUpdatePrimarySale decodes UpdatePrimarySaleHappenedViaToken. Accounts are metadata, owner,
// token account.
func decodeUpdatePrimarySale(v instruction.View) (instruction.Outcome, error) {
	metadata, err := v.Account(0)
	if err != nil {
		return instruction.Outcome{}, err
	}
	set, happened := newSet(metadata), true
	set.PrimarySaleHappened = &happened
	return factOfAccount(v, metadata, "UpdatePrimarySaleHappenedViaToken", set)
}

// decodeUntold decodes an instruction that changes metadata without stating the new content. Only a
// read of the account shows the new content. Print takes over the master edition's data, and the
// standard of the new edition depends on the master's. SetTokenStandard derives the standard from
// the mint.
func decodeUntold(v instruction.View, name string, mintAt, metadataAt int, creates bool) (instruction.Outcome, error) {
	mint, err := v.Account(mintAt)
	if err != nil {
		return instruction.Outcome{}, err
	}
	metadata, err := v.Account(metadataAt)
	if err != nil {
		return instruction.Outcome{}, err
	}
	set := newSet(metadata)
	set.Creates = creates
	return fact(mint, name, set)
}

func newSet(account pubkey.Key) *eventspb.MetadataSet {
	return &eventspb.MetadataSet{
		MetadataProgram: eventspb.MetadataProgram_METADATA_PROGRAM_METAPLEX,
		MetadataAccount: account.Bytes(),
	}
}

func fact(mint pubkey.Key, name string, set *eventspb.MetadataSet) (instruction.Outcome, error) {
	return instruction.Fact(mint, name, &eventspb.TokenEvent{Payload: &eventspb.TokenEvent_MetadataSet{MetadataSet: set}})
}

// factOfAccount returns the fact of an instruction that names the metadata account and not its
// mint. The fact has the mint if the transaction names it somewhere.
func factOfAccount(v instruction.View, metadata pubkey.Key, name string, set *eventspb.MetadataSet) (instruction.Outcome, error) {
	if mint, ok := mintOf(v, metadata); ok {
		return fact(mint, name, set)
	}
	return instruction.FactWithoutMint(name, &eventspb.TokenEvent{
		Payload: &eventspb.TokenEvent_MetadataSet{MetadataSet: set},
	})
}
