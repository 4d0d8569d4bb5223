package registry

// computed are the attributes that an instruction changes and does not state, because the program
// computes them from the account, the clock or the epoch. What was known of them does not hold
// behind the instruction: they are unknown (empty) until the account is read. By instruction, after
// the program's processors (spl-token-2022 src/extension/*/processor.rs).
var computed = map[string][]string{
	// The newer fee becomes the older one only if its epoch has come; the new one holds from two
	// epochs later.
	"SetTransferFee": {
		"transfer_fee_config.older_transfer_fee_epoch", "transfer_fee_config.older_transfer_fee_basis_points",
		"transfer_fee_config.older_transfer_fee_maximum_fee", "transfer_fee_config.newer_transfer_fee_epoch",
	},
	// Added up from token accounts.
	"HarvestWithheldTokensToMint":                           {"transfer_fee_config.withheld_amount"},
	"HarvestWithheldTokensToMintForConfidentialTransferFee": {"confidential_transfer_fee_config.withheld_amount"},
	// An average over the time since the initialisation, and the clock.
	"UpdateRateInterestBearingMint": {"interest_bearing_config.pre_update_average_rate", "interest_bearing_config.last_update_timestamp"},
	// The new multiplier, at once or when its time has come.
	"UpdateMultiplierScaledUiMint": {"scaled_ui_amount.multiplier"},
	// Sums of ciphertexts, and the supply under another key.
	"RotateSupplyElGamalPubkey":    {"confidential_mint_burn.confidential_supply"},
	"ConfidentialMint":             {"confidential_mint_burn.confidential_supply"},
	"ConfidentialBurn":             {"confidential_mint_burn.pending_burn"},
	"PermissionedConfidentialBurn": {"confidential_mint_burn.pending_burn"},
	"ApplyPendingBurn":             {"confidential_mint_burn.confidential_supply"},
}

// itemGroupSize is how many members a group has. Instructions state it once, as 0, and each new
// member, whose event is about the member's mint, adds one: only an account's word counts.
const itemGroupSize = "token_group.size"

// forget empties what the instruction changed without saying to what.
func (l *factList) forget(instruction string) {
	for _, item := range computed[instruction] {
		l.setItem(RegisterExtension, item, "")
	}
}
