package schemas

import "github.com/mintlake/mintlake/schemas/eventspb"

// Kind is the value of token_events.kind: what an event did to its mint.
type Kind string

// Kinds of token events. KindSighting is not of an instruction, and is not in token_events.
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

// Kinds returns all of them.
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
