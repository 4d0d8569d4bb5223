package venues

import (
	"github.com/mintlake/mintlake/ingest/decode/instruction"
	"github.com/mintlake/mintlake/ingest/decode/swap"
)

// meteoraDAMMv1 reads Meteora's DAMM v1 (dynamic AMM pools over Mercurial vaults).
//
// Layouts: the program's IDL (MeteoraAg/damm-v1-sdk dynamic-amm). Amounts: transfers into and out
// of the token vaults of the vault program, inside the swap's subtree; checked by the event in the
// log, which a node may have cut off, and by balances. Many pools share a token vault, so legs have
// no reserves.
func meteoraDAMMv1() swap.Venue {
	shares := swap.Shape{Pool: 0, VaultA: 9, VaultB: 10, Owner: 13, MintA: swap.None, MintB: swap.None}
	return swap.Venue{
		Name: "meteora_damm_v1", Program: "Eo7WjKq67rjJQSZxS6z3YkapzY3eMj6Xy8X5EQVn5UaB", Events: swap.ProgramData, Event: meteoraDAMMv1Event, Change: meteoraDAMMv1Change, SharedVaults: true,
		Instructions: []swap.Instruction{
			swap.Anchor("swap", 15, swap.Shape{Pool: 0, VaultA: 5, VaultB: 6, Owner: 12, MintA: swap.None, MintB: swap.None}),
			swap.AnchorLiquidity("add_balance_liquidity", swap.Add, 16, 1, shares),
			swap.AnchorLiquidity("add_imbalance_liquidity", swap.Add, 16, 1, shares),
			swap.AnchorLiquidity("bootstrap_liquidity", swap.Add, 16, 1, shares),
			swap.AnchorLiquidity("remove_balance_liquidity", swap.Remove, 16, 1, shares),
			swap.AnchorLiquidity("remove_liquidity_single_side", swap.Remove, 15, 1,
				swap.Shape{Pool: 0, VaultA: 9, VaultB: 10, Owner: 12, MintA: swap.None, MintB: swap.None}),
			meteoraDAMMv1Create("initialize_permissionless_pool", 26, 2, 6, 17),
			meteoraDAMMv1Create("initialize_permissionless_pool_with_fee_tier", 26, 2, 6, 17),
			meteoraDAMMv1Create("initialize_permissionless_constant_product_pool_with_config", 26, 3, 7, 18),
			meteoraDAMMv1Create("initialize_permissionless_constant_product_pool_with_config2", 26, 3, 7, 18),
			meteoraDAMMv1Create("initialize_customizable_permissionless_constant_product_pool", 25, 2, 6, 17),
			swap.AnchorCreate("initialize_permissioned_pool", 24,
				swap.Shape{Pool: 0, VaultA: swap.None, VaultB: swap.None, Owner: 15, MintA: 2, MintB: 3}),
		},
	}
}

// meteoraDAMMv1Create returns an instruction that creates a pool and puts in the first liquidity.
// mint is the place of the first of the pool's two mints, and vault that of the first of its two
// vaults. The mint of the liquidity tokens is one place before mint.
func meteoraDAMMv1Create(name string, accounts, mint, vault, payer int) swap.Instruction {
	return swap.Funded(name, accounts, mint-1, swap.Shape{Pool: 0, VaultA: vault, VaultB: vault + 1, Owner: payer, MintA: mint, MintB: mint + 1})
}

// meteoraDAMMv1Event reads Swap: amounts in and out, then the trade, protocol and host fees. The
// event names no pool. The protocol's fee does not pass through the vault. The event counts in
// shares of the vaults, which are rounded, so its amounts are only near to what moved.
func meteoraDAMMv1Event(data []byte, e *swap.Event) bool {
	const tag = "\x51\x6c\xe3\xbe\xcd\xd0\x0a\xc4"
	if !instruction.HasTag(data, tag) || len(data) < 8+5*8 {
		return false
	}
	e.HasOut, e.Near = true, true
	e.In, _ = swap.U64(data, 8)
	e.Out, _ = swap.U64(data, 16)
	e.InFee, _ = swap.U64(data, 32)
	return true
}

// meteoraDAMMv1Change reads AddLiquidity, RemoveLiquidity and BootstrapLiquidity: liquidity tokens,
// amounts. As in Swap, the amounts are only near to what moved.
func meteoraDAMMv1Change(data []byte, c *swap.Change) bool {
	const (
		added        = "\x1f\x5e\x7d\x5a\xe3\x34\x3d\xba"
		removed      = "\x74\xf4\x61\xe8\x67\x1f\x98\x3a"
		bootstrapped = "\x79\x7f\x26\x88\x5c\x37\x0e\xf7"
	)
	if len(data) < 8+3*8 {
		return false
	}
	switch {
	case instruction.HasTag(data, added), instruction.HasTag(data, bootstrapped):
		c.Added = true
	case instruction.HasTag(data, removed):
	default:
		return false
	}
	c.Near = true
	c.A, _ = swap.U64(data, 16)
	c.B, _ = swap.U64(data, 24)
	return true
}
