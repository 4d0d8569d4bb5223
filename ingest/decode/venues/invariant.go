package venues

import "github.com/mintlake/mintlake/ingest/decode/swap"

// invariant reads Invariant's concentrated pools.
//
// Layouts: invariant-labs/protocol programs/invariant/src/instructions/swap.rs. Amounts: transfers
// into and out of the vaults; checked by balances.
func invariant() swap.Venue {
	return swap.Venue{
		Name: "invariant", Program: "HyaB3W9q6XdA5xwpU4XnSZV94htfmbmqJXZcEbRaJutt",
		Instructions: []swap.Instruction{
			swap.Anchor("swap", 10, swap.Shape{Pool: 1, VaultA: 5, VaultB: 6, Owner: 7, MintA: swap.None, MintB: swap.None}),
		},
	}
}
