package venues

import "github.com/mintlake/mintlake/ingest/decode/swap"

// lifinity reads Lifinity v2.
//
// Layouts: sevenlabs-hq/carbon lifinity-amm-v2-decoder (the program's IDL). Amounts: transfers into
// and out of the vaults; checked by balances. The program emits no events.
func lifinity() swap.Venue {
	return swap.Venue{
		Name: "lifinity_v2", Program: "2wT8Yq49kHgDzXuPxZSaeLaH1qbmGXtEyPy64bL7aD3c",
		Instructions: []swap.Instruction{
			swap.Anchor("swap", 10, swap.Shape{Pool: 1, VaultA: 5, VaultB: 6, Owner: 2, MintA: swap.None, MintB: swap.None}),
		},
	}
}
