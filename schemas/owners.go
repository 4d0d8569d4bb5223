package schemas

// Kinds of owners of token accounts, as the API names them.
const (
	// OwnerWallet is an address on the ed25519 curve: somebody may have its secret key.
	OwnerWallet = "wallet"
	// OwnerPool holds the reserves of pools.
	OwnerPool = "pool"
	// OwnerCurve holds what launchpads have not sold yet.
	OwnerCurve = "curve"
	// OwnerBurn is an address of BurnAddresses.
	OwnerBurn = "burn"
	// OwnerProgram is any other address off the ed25519 curve: only a program can sign for it.
	OwnerProgram = "program"
	// OwnerUnknown is an owner whose 32 bytes are all zero in our tables. Either the source did not
	// tell the owner, or it is the system program.
	OwnerUnknown = "unknown"
)

// OwnerKinds returns all kinds of owners.
func OwnerKinds() []string {
	return []string{OwnerWallet, OwnerPool, OwnerCurve, OwnerBurn, OwnerProgram, OwnerUnknown}
}

// VaultAuthorities returns addresses and their kind of owner. Each address owns the vaults of all
// pools of one venue. On other venues, a vault belongs to the pool itself, or to an address of its
// own.
func VaultAuthorities() map[string]string {
	return map[string]string{
		"5Q544fKrFoe6tsEbD7S8EmxGTJYAKtTVhAW5Q5pge4j1": OwnerPool,  // raydium_amm_v4
		"GpMZbSM2GgvTKHJirzeGfMFoaZ8UR2X7F4v8vHTvxFbL": OwnerPool,  // raydium_cpmm
		"HLnpSz9h2S4hiLQ43rnSD9XkcUThA7B8hQMKmDaiTLcC": OwnerPool,  // meteora_damm_v2
		"WLHv2UAZm6z4KyaaELi5pjdbJh6RESMva1Rnn8pJVVh":  OwnerCurve, // raydium_launchlab
		"FhVo3mqL8PW5pH5U2CN4XE33DokiyZnUwuGpH2hmHLuM": OwnerCurve, // meteora_dbc
	}
}

// CurveVenues returns the venues on which launchpads sell new tokens.
func CurveVenues() []string { return []string{"meteora_dbc", "pump_curve", "raydium_launchlab"} }
