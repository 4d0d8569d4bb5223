package schemas

import (
	"maps"
	"slices"

	"github.com/mintlake/mintlake/schemas/eventspb"
)

// Kind is the value of token_events.kind: what an event did to its mint.
type Kind string

// Kinds of token events. KindSighting comes from a token balance, not from an instruction, and is
// not in token_events.
const (
	KindInitializeMint         Kind = "initialize_mint"
	KindMintTo                 Kind = "mint_to"
	KindBurn                   Kind = "burn"
	KindSetAuthority           Kind = "set_authority"
	KindMetadataSet            Kind = "metadata_set"
	KindExtensionSet           Kind = "extension_set"
	KindCloseMint              Kind = "close_mint"
	KindFreezeAccount          Kind = "freeze_account"
	KindThawAccount            Kind = "thaw_account"
	KindWithdrawExcessLamports Kind = "withdraw_excess_lamports"
	KindRaw                    Kind = "raw"
	KindLaunch                 Kind = "launch"
	KindGraduate               Kind = "graduate"
	KindSighting               Kind = "sighting"
	// KindUnknown is an event of a newer writer that this binary has no name for.
	KindUnknown Kind = "unknown"
)

// Kinds returns all kinds of token events.
func Kinds() []Kind {
	return []Kind{
		KindInitializeMint, KindMintTo, KindBurn, KindSetAuthority, KindMetadataSet, KindExtensionSet, KindCloseMint, KindFreezeAccount,
		KindThawAccount, KindWithdrawExcessLamports, KindRaw, KindLaunch, KindGraduate, KindSighting, KindUnknown,
	}
}

// KindOf returns the kind of the event's payload.
func KindOf(event *eventspb.TokenEvent) Kind {
	switch event.GetPayload().(type) {
	case *eventspb.TokenEvent_InitializeMint:
		return KindInitializeMint
	case *eventspb.TokenEvent_MintTo:
		return KindMintTo
	case *eventspb.TokenEvent_Burn:
		return KindBurn
	case *eventspb.TokenEvent_SetAuthority:
		return KindSetAuthority
	case *eventspb.TokenEvent_MetadataSet:
		return KindMetadataSet
	case *eventspb.TokenEvent_ExtensionSet:
		return KindExtensionSet
	case *eventspb.TokenEvent_CloseMint:
		return KindCloseMint
	case *eventspb.TokenEvent_FreezeAccount:
		return KindFreezeAccount
	case *eventspb.TokenEvent_ThawAccount:
		return KindThawAccount
	case *eventspb.TokenEvent_WithdrawExcessLamports:
		return KindWithdrawExcessLamports
	case *eventspb.TokenEvent_Raw:
		return KindRaw
	case *eventspb.TokenEvent_Launch:
		return KindLaunch
	case *eventspb.TokenEvent_Graduate:
		return KindGraduate
	case *eventspb.TokenEvent_Sighting:
		return KindSighting
	default:
		return KindUnknown
	}
}

// transferKinds has the names that kinds of transfers have in ClickHouse and in the API.
var transferKinds = map[eventspb.TransferKind]string{
	eventspb.TransferKind_TRANSFER_KIND_MOVE:              "transfer",
	eventspb.TransferKind_TRANSFER_KIND_MINT:              "mint",
	eventspb.TransferKind_TRANSFER_KIND_BURN:              "burn",
	eventspb.TransferKind_TRANSFER_KIND_OPEN:              "open_native",
	eventspb.TransferKind_TRANSFER_KIND_SYNC:              "sync_native",
	eventspb.TransferKind_TRANSFER_KIND_UNWRAP:            "unwrap_lamports",
	eventspb.TransferKind_TRANSFER_KIND_CLOSE:             "close_account",
	eventspb.TransferKind_TRANSFER_KIND_HARVEST:           "harvest_withheld",
	eventspb.TransferKind_TRANSFER_KIND_WITHDRAW_WITHHELD: "withdraw_withheld",
	eventspb.TransferKind_TRANSFER_KIND_DEPOSIT:           "confidential_deposit",
	eventspb.TransferKind_TRANSFER_KIND_WITHDRAW:          "confidential_withdraw",
}

// TransferKind returns the name of a kind of transfers; "unknown" if this version does not know the
// kind.
func TransferKind(kind eventspb.TransferKind) string {
	if name, ok := transferKinds[kind]; ok {
		return name
	}
	return "unknown"
}

// TransferKinds returns the names of all kinds of transfers, sorted.
func TransferKinds() []string { return slices.Sorted(maps.Values(transferKinds)) }
