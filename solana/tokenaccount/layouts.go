package tokenaccount

// layouts are the extensions of fixed size that a mint can have, by the number of their type. The
// fields are those of the program's structs, in order and with their names
// (spl-token-2022-interface 3.1.1 src/extension/*, spl-token-group-interface 0.7.2).
var layouts = map[uint16]layout{
	1: {
		{"transfer_fee_config_authority", kindKey}, {"withdraw_withheld_authority", kindKey}, {"withheld_amount", kindU64},
		{"older_transfer_fee_epoch", kindU64}, {"older_transfer_fee_maximum_fee", kindU64}, {"older_transfer_fee_basis_points", kindU16},
		{"newer_transfer_fee_epoch", kindU64}, {"newer_transfer_fee_maximum_fee", kindU64}, {"newer_transfer_fee_basis_points", kindU16},
	},
	3: {{"close_authority", kindKey}},
	4: {{"authority", kindKey}, {"auto_approve_new_accounts", kindBool}, {"auditor_elgamal_pubkey", kindKey}},
	6: {{"state", kindAccountState}},
	9: {},
	10: {
		{"rate_authority", kindKey}, {"initialization_timestamp", kindI64}, {"pre_update_average_rate", kindI16},
		{"last_update_timestamp", kindI64}, {"current_rate", kindI16},
	},
	12: {{"delegate", kindKey}},
	14: {{"authority", kindKey}, {"program_id", kindKey}},
	16: {
		{"authority", kindKey}, {"withdraw_withheld_authority_elgamal_pubkey", kindKey},
		{"harvest_to_mint_enabled", kindBool}, {"withheld_amount", kindCipher64},
	},
	18: {{"authority", kindKey}, {"metadata_address", kindKey}},
	20: {{"authority", kindKey}, {"group_address", kindKey}},
	21: {{"update_authority", kindKey}, {"mint", kindKey}, {"size", kindU64}, {"max_size", kindU64}},
	22: {{"authority", kindKey}, {"member_address", kindKey}},
	23: {{"mint", kindKey}, {"group", kindKey}, {"member_number", kindU64}},
	24: {
		{"confidential_supply", kindCipher64}, {"decryptable_supply", kindCipher36},
		{"supply_elgamal_pubkey", kindKey}, {"pending_burn", kindCipher64},
	},
	25: {
		{"authority", kindKey}, {"multiplier", kindF64}, {"new_multiplier_effective_timestamp", kindI64},
		{"new_multiplier", kindF64},
	},
	26: {{"authority", kindKey}, {"paused", kindBool}},
	28: {{"authority", kindKey}},
}
