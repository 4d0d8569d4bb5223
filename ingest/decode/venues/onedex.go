package venues

import "github.com/mintlake/mintlake/ingest/decode/swap"

// oneDEX reads 1DEX.
//
// Layouts: seen in mainnet transactions: state, pool, the pool's authority, vaults in and out,
// user, the user's accounts, fee accounts. Amounts: transfers into and out of the vaults; checked
// by balances. A leg's amount_in is all that the input vault received. It includes the fees, which
// leave that vault again.
func oneDEX() swap.Venue {
	return swap.Venue{
		Name: "onedex", Program: "DEXYosS6oEGvk8uCDayvwEZz4qEyDJRf9nFgYCaqPMTm",
		Instructions: []swap.Instruction{
			swap.Anchor("swap_exact_amount_in", 11, swap.Shape{Pool: 1, VaultA: 3, VaultB: 4, Owner: 5, MintA: swap.None, MintB: swap.None}),
		},
	}
}
