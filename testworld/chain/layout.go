package chain

// Offsets in a mint (spl-token, state.rs). An optional key has a tag of four bytes before it.
const (
	mintSupplyAt      = 36
	mintDecimalsAt    = 44
	mintInitializedAt = 45
	mintFreezeAt      = 46
)

// Offsets in a token account; the mint is at 0.
const (
	accountOwnerAt           = 32
	accountAmountAt          = 64
	accountDelegateAt        = 72
	accountStateAt           = 108
	accountNativeAt          = 109
	accountReserveAt         = 113 // the rent of a native account
	accountDelegatedAmountAt = 121
	accountCloseAuthorityAt  = 129
)

// States of a token account.
const (
	stateInitialized = 1
	stateFrozen      = 2
)

// Account types: the byte of Token-2022 after the first 165.
const (
	typeMint    = 1
	typeAccount = 2
)

// Instructions of the token programs (spl-token and spl-token-2022, instruction.rs; p-token for the
// last three of SPL Token: withdraw excess, unwrap, batch).
const (
	tagInitializeMint     = 0
	tagTransfer           = 3
	tagApprove            = 4
	tagRevoke             = 5
	tagSetAuthority       = 6
	tagMintTo             = 7
	tagBurn               = 8
	tagCloseAccount       = 9
	tagFreezeAccount      = 10
	tagThawAccount        = 11
	tagTransferChecked    = 12
	tagMintToChecked      = 14
	tagBurnChecked        = 15
	tagSyncNative         = 17
	tagInitializeAccount3 = 18
	tagInitializeMint2    = 20
	tagAccountDataSize    = 21
	tagImmutableOwner     = 22
	tagMintCloseAuthority = 25
	tagTransferFee        = 26
	tagWithdrawExcess     = 38
	tagMetadataPointer    = 39
	tagUnwrap             = 45
	tagBatch              = 255
)

// Instructions of the transfer fee extension: the second byte after tagTransferFee.
const (
	feeTagInitialize     = 0
	feeTagTransfer       = 1
	feeTagWithdraw       = 2
	feeTagHarvest        = 4
	pointerTagInitialize = 0 // the same of the metadata pointer extension
)

// Error codes of Anchor (anchor-lang, error.rs).
const (
	anchorInstructionMissing = 100
	anchorFallbackNotFound   = 101
	anchorNotDeserialized    = 102
	anchorConstraintRaw      = 2003
	anchorConstraintSeeds    = 2006
	anchorConstraintAddress  = 2012
	anchorNotEnoughKeys      = 3005
	anchorWrongOwner         = 3007
	anchorNotSigner          = 3010
)

// Error codes of the token metadata interface (spl-token-metadata-interface, error.rs).
const (
	tmIncorrectMintAuthority   = 1_901_614_561
	tmIncorrectUpdateAuthority = 1_901_614_564
	tmImmutableMetadata        = 1_901_614_565
)
