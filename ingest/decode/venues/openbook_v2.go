package venues

import "github.com/mintlake/mintlake/ingest/decode/swap"

// openBookV2 reads OpenBook v2, an order book.
//
// Layouts: openbook-dex/openbook-v2 programs/openbook-v2/src/accounts_ix. Amounts: transfers into
// and out of the market's vaults by place_take_order; checked by balances. Orders of makers are
// settled by transfers that look like deposits and withdrawals, so they give no legs.
func openBookV2() swap.Venue {
	return swap.Venue{
		Name: "openbook_v2", Program: "opnb2LAfJYbRMAHHvqjCwQxanZn7ReEHp1k81EohpZb",
		Instructions: []swap.Instruction{
			swap.Anchor("place_take_order", 15, swap.Shape{Pool: 2, VaultA: 6, VaultB: 7, Owner: 0, MintA: swap.None, MintB: swap.None}),
			swap.AnchorCreate("create_market", 20, swap.Shape{Pool: 0, VaultA: 6, VaultB: 7, Owner: 5, MintA: 8, MintB: 9}),
		},
	}
}
