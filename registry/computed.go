package registry

// computed lists, by instruction, the attributes that the instruction changes without stating the
// new value: the program computes it from the account, the clock or the epoch. After the
// instruction these attributes are unknown (empty) until the account is read. Source: the program's
// processors, spl-token-2022 src/extension/*/processor.rs.
var computed = map[string][]string{
	// The newer fee becomes the older one only if its epoch has come. The new fee holds from two
	// epochs later.
	"SetTransferFee": {
		"transfer_fee_config.older_transfer_fee_epoch", "transfer_fee_config.older_transfer_fee_basis_points",
		"transfer_fee_config.older_transfer_fee_maximum_fee", "transfer_fee_config.newer_transfer_fee_epoch",
	},
	// The program adds up what token accounts withheld.
	"HarvestWithheldTokensToMint":                           {"transfer_fee_config.withheld_amount"},
	"HarvestWithheldTokensToMintForConfidentialTransferFee": {"confidential_transfer_fee_config.withheld_amount"},
	// The program computes the average rate since the initialisation, and reads the clock.
	"UpdateRateInterestBearingMint": {"interest_bearing_config.pre_update_average_rate", "interest_bearing_config.last_update_timestamp"},
	// The new multiplier holds immediately or from a later time.
	"UpdateMultiplierScaledUiMint": {"scaled_ui_amount.multiplier"},
	// The program computes sums of ciphertexts, or encrypts the supply under another key.
	"RotateSupplyElGamalPubkey":    {"confidential_mint_burn.confidential_supply"},
	"ConfidentialMint":             {"confidential_mint_burn.confidential_supply"},
	"ConfidentialBurn":             {"confidential_mint_burn.pending_burn"},
	"PermissionedConfidentialBurn": {"confidential_mint_burn.pending_burn"},
	"ApplyPendingBurn":             {"confidential_mint_burn.confidential_supply"},
}

// itemGroupSize is how many members a token group has. Only the account's value counts.
// Instructions state the size once, as 0; the instruction that adds a member is an event of the
// member's mint, not of the group's.
const itemGroupSize = "token_group.size"

// forget sets to empty the attributes that an instruction changes without stating the new value.
func (l *factList) forget(instruction string) {
	for _, item := range computed[instruction] {
		l.setItem(RegisterExtension, item, "")
	}
}
