package venues

import "github.com/mintlake/mintlake/ingest/decode/swap"

// heaven reads Heaven's curves. Both sides of a curve are token accounts.
//
// Layouts: the program's IDL (sevenlabs-hq/carbon heaven-decoder): four programs, pool, user,
// mints, the user's accounts, vaults. Amounts: transfers into and out of the vaults; checked by
// balances.
//
// Inside the swap, the program withdraws the withheld transfer fees of a token account into the
// same account. The vaults hold the tokens of many pools, so legs have no reserves.
func heaven() swap.Venue {
	trade := swap.Shape{Pool: 4, VaultA: 10, VaultB: 11, Owner: 5, MintA: 6, MintB: 7}
	return swap.Venue{
		Name: "heaven", Program: "HEAVENoP2qxoeuF8Dj2oT1GHEnu49U5mJYkdeC8BAX2o", SharedVaults: true,
		Instructions: []swap.Instruction{swap.Anchor("buy", 14, trade), swap.Anchor("sell", 14, trade)},
	}
}
