package venues

import "github.com/mintlake/mintlake/ingest/decode/swap"

// aldrin reads Aldrin's AMM v2.
//
// Layouts: seen in mainnet transactions: pool, the pool's signer, the pool's mint, base vault,
// quote vault, fee account, user, the user's accounts. Amounts: transfers into and out of the
// vaults; checked by balances.
func aldrin() swap.Venue {
	return swap.Venue{
		Name: "aldrin_v2", Program: "AMM55ShdkoGRB5jVYPjWziwk8m5MpwyDgsMWHaMSQWH6",
		Instructions: []swap.Instruction{
			swap.Anchor("swap", 10, swap.Shape{Pool: 0, VaultA: 3, VaultB: 4, Owner: 6, MintA: swap.None, MintB: swap.None}),
		},
	}
}
