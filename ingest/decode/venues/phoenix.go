package venues

import "github.com/mintlake/mintlake/ingest/decode/swap"

// phoenix reads Phoenix, an order book.
//
// Layouts: Ellipsis-Labs/phoenix-v1 src/program/instruction.rs. Amounts: transfers into and out of
// the market's vaults by Swap, the taker's instruction; checked by balances. The program's events
// count in lots, and only the market's account has their size. Limit orders and swaps with
// deposited funds give no legs: they move nothing through the vaults, or something that looks like
// a deposit.
func phoenix() swap.Venue {
	return swap.Venue{
		Name: "phoenix", Program: "PhoeNiXZ8ByJGLkxNfZRnkUfjvmuYqLR89jjFHGqdXY",
		Instructions: []swap.Instruction{
			{Name: "swap", Tag: swap.Tag("00"), MinAccounts: 9, Shapes: []swap.Shape{
				{Pool: 2, VaultA: 6, VaultB: 7, Owner: 3, MintA: swap.None, MintB: swap.None},
			}},
			{Name: "initialize_market", Kind: swap.Create, Tag: swap.Tag("64"), MinAccounts: 10, Shapes: []swap.Shape{
				{Pool: 2, VaultA: 6, VaultB: 7, Owner: 3, MintA: 4, MintB: 5},
			}},
		},
	}
}
