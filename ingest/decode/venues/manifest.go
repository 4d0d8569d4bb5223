package venues

import "github.com/mintlake/mintlake/ingest/decode/swap"

// manifest reads Manifest, an order book.
//
// Layouts: CKS-Systems/manifest programs/manifest/src/program/instruction.rs. Amounts: transfers
// into and out of the market's vaults by Swap and SwapV2; checked by balances. Orders of makers
// give no legs.
func manifest() swap.Venue {
	const none = swap.None
	return swap.Venue{
		Name: "manifest", Program: "MNFSTqtC93rEfYHB6hF82sKdZpUDFWkViLByLd1k1Ms",
		Instructions: []swap.Instruction{
			{Name: "swap", Tag: swap.Tag("04"), MinAccounts: 8, Shapes: []swap.Shape{
				{Pool: 1, VaultA: 5, VaultB: 6, Owner: 0, MintA: none, MintB: none},
			}},
			{Name: "swap_v2", Tag: swap.Tag("0d"), MinAccounts: 9, Shapes: []swap.Shape{
				{Pool: 2, VaultA: 6, VaultB: 7, Owner: 1, MintA: none, MintB: none},
			}},
			{Name: "create_market", Kind: swap.Create, Tag: swap.Tag("00"), MinAccounts: 8, Shapes: []swap.Shape{
				{Pool: 1, VaultA: 5, VaultB: 6, Owner: 0, MintA: 3, MintB: 4},
			}},
		},
	}
}
