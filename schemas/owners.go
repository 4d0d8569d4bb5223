package schemas

// Kinds of owners of token accounts, as the API names them.
const (
	// OwnerWallet is a point of the curve: somebody may sign for it.
	OwnerWallet = "wallet"
	// OwnerPool holds the reserves of pools.
	OwnerPool = "pool"
	// OwnerCurve holds what launchpads have not sold yet.
	OwnerCurve = "curve"
	// OwnerBurn is an address of BurnAddresses.
	OwnerBurn = "burn"
	// OwnerProgram is an address of a program: no point of the curve, and none of the kinds above.
	OwnerProgram = "program"
	// OwnerUnknown is an owner of zeros in our tables: one that the source did not tell, or the
	// system program.
	OwnerUnknown = "unknown"
)

// OwnerKinds returns all kinds of owners.
func OwnerKinds() []string {
	return []string{OwnerWallet, OwnerPool, OwnerCurve, OwnerBurn, OwnerProgram, OwnerUnknown}
}

// VaultAuthorities are the owners of the vaults of all pools of a venue, by address, with their
// kind. The vaults of other venues belong to the pool itself, or to an address of their own.
func VaultAuthorities() map[string]string {
	return map[string]string{
		"5Q544fKrFoe6tsEbD7S8EmxGTJYAKtTVhAW5Q5pge4j1": OwnerPool,  // raydium_amm_v4
		"GpMZbSM2GgvTKHJirzeGfMFoaZ8UR2X7F4v8vHTvxFbL": OwnerPool,  // raydium_cpmm
		"HLnpSz9h2S4hiLQ43rnSD9XkcUThA7B8hQMKmDaiTLcC": OwnerPool,  // meteora_damm_v2
		"WLHv2UAZm6z4KyaaELi5pjdbJh6RESMva1Rnn8pJVVh":  OwnerCurve, // raydium_launchlab
		"FhVo3mqL8PW5pH5U2CN4XE33DokiyZnUwuGpH2hmHLuM": OwnerCurve, // meteora_dbc
	}
}

// CurveVenues are the venues on which launchpads sell new tokens.
func CurveVenues() []string { return []string{"meteora_dbc", "pump_curve", "raydium_launchlab"} }
