package chain

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
