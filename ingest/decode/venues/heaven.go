package venues

import "github.com/mintlake/mintlake/ingest/decode/swap"

// heaven reads Heaven's curves, whose both sides are token accounts.
//
// Layouts: the program's IDL (sevenlabs-hq/carbon heaven-decoder): four programs, pool, user,
// mints, the user's accounts, vaults. Amounts: transfers into and out of the vaults; checked by
// balances.
// Its tokens' transfer fees are withdrawn to where they came from inside the swap. The vaults hold
// many pools' tokens, so that legs carry no reserves.
func heaven() swap.Venue {
	trade := swap.Shape{Pool: 4, VaultA: 10, VaultB: 11, Owner: 5, MintA: 6, MintB: 7}
	return swap.Venue{
		Name: "heaven", Program: "HEAVENoP2qxoeuF8Dj2oT1GHEnu49U5mJYkdeC8BAX2o", SharedVaults: true,
		Instructions: []swap.Instruction{swap.Anchor("buy", 14, trade), swap.Anchor("sell", 14, trade)},
	}
}
