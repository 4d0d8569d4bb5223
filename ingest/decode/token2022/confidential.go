package token2022

import "strings"

// noCiphertext is ElGamal's encryption of zero without randomness: 64 zero bytes. The program
// clears a ciphertext with it.
var noCiphertext = strings.Repeat("00", 64)

// confidentialExtensions are the instructions that set an extension of confidential transfers.
// Ciphertexts are in hexadecimal. No instruction contains what the program adds to a ciphertext of
// the mint (the supply, burns and fees not yet applied): only a read of the account shows it.
var confidentialExtensions = map[extensionKey]extensionSet{
	{confidentialTransfer, 0}: {
		instruction: "InitializeConfidentialTransferMint", extension: "confidential_transfer_mint",
		fields: []field{
			{name: "authority", read: nonZeroKey}, {name: "auto_approve_new_accounts", read: boolean},
			{name: "auditor_elgamal_pubkey", read: nonZeroKey},
		},
	},
	{confidentialTransfer, 1}: {
		instruction: "UpdateConfidentialTransferMint", extension: "confidential_transfer_mint",
		fields: []field{{name: "auto_approve_new_accounts", read: boolean}, {name: "auditor_elgamal_pubkey", read: nonZeroKey}},
	},
	{confidentialTransferFee, 0}: {
		instruction: "InitializeConfidentialTransferFeeConfig", extension: "confidential_transfer_fee_config",
		fields: []field{
			{name: "authority", read: nonZeroKey}, {name: "withdraw_withheld_authority_elgamal_pubkey", read: nonZeroKey},
		},
		fixed: []fixed{{"harvest_to_mint_enabled", "true"}, {"withheld_amount", noCiphertext}},
	},
	{confidentialTransferFee, 1}: {
		instruction: "WithdrawWithheldTokensFromMintForConfidentialTransferFee", extension: "confidential_transfer_fee_config",
		fixed: []fixed{{"withheld_amount", noCiphertext}},
	},
	{confidentialTransferFee, 3}: {
		instruction: "HarvestWithheldTokensToMintForConfidentialTransferFee", extension: "confidential_transfer_fee_config",
	},
	{confidentialTransferFee, 4}: {
		instruction: "EnableHarvestToMint", extension: "confidential_transfer_fee_config",
		fixed: []fixed{{"harvest_to_mint_enabled", "true"}},
	},
	{confidentialTransferFee, 5}: {
		instruction: "DisableHarvestToMint", extension: "confidential_transfer_fee_config",
		fixed: []fixed{{"harvest_to_mint_enabled", "false"}},
	},
	{confidentialMintBurn, 0}: {
		instruction: "InitializeConfidentialMintBurn", extension: "confidential_mint_burn",
		fields: []field{{name: "supply_elgamal_pubkey", read: nonZeroKey}, {name: "decryptable_supply", read: cipher36}},
		fixed:  []fixed{{"confidential_supply", noCiphertext}, {"pending_burn", noCiphertext}},
	},
	{confidentialMintBurn, 1}: {
		instruction: "RotateSupplyElGamalPubkey", extension: "confidential_mint_burn",
		fields: []field{{name: "supply_elgamal_pubkey", read: nonZeroKey}},
	},
	{confidentialMintBurn, 2}: {
		instruction: "UpdateDecryptableSupply", extension: "confidential_mint_burn",
		fields: []field{{name: "decryptable_supply", read: cipher36}},
	},
	{confidentialMintBurn, 3}: {
		instruction: "ConfidentialMint", extension: "confidential_mint_burn", mintAt: 1,
		fields: []field{{name: "decryptable_supply", read: cipher36}},
	},
	{confidentialMintBurn, 4}: {instruction: "ConfidentialBurn", extension: "confidential_mint_burn", mintAt: 1},
	{confidentialMintBurn, 5}: {
		instruction: "ApplyPendingBurn", extension: "confidential_mint_burn", fixed: []fixed{{"pending_burn", noCiphertext}},
	},
	{permissionedBurn, 3}: {instruction: "PermissionedConfidentialBurn", extension: "confidential_mint_burn", mintAt: 1},
}
