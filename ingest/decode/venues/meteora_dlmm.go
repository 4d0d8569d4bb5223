package venues

import (
	"github.com/mintlake/mintlake/ingest/decode/instruction"
	"github.com/mintlake/mintlake/ingest/decode/swap"
)

// meteoraDLMM reads Meteora's DLMM (lb_clmm).
//
// Layouts: the program's IDL 0.12.0 (MeteoraAg/dlmm-sdk idls/dlmm.json). Amounts: transfers into
// and out of the reserves; checked by the program's Swap event, a call to itself, and by balances.
func meteoraDLMM() swap.Venue {
	trade := []swap.Shape{{Pool: 0, VaultA: 2, VaultB: 3, Owner: 10, MintA: 6, MintB: 7}}
	create := []swap.Shape{{Pool: 0, VaultA: 4, VaultB: 5, Owner: 8, MintA: 2, MintB: 3}}
	v := swap.Venue{
		Name: "meteora_dlmm", Program: "LBUZKhRxPF3XUpBCjp4YzTKgLccjZhTSDM9YuVaPwxo", Events: swap.Anywhere, Event: meteoraDLMMEvent, Change: meteoraDLMMChange,
		Instructions: []swap.Instruction{
			swap.Anchor("swap", 15, trade...),
			swap.Anchor("swap2", 16, trade...),
			swap.Anchor("swap_exact_out", 15, trade...),
			swap.Anchor("swap_exact_out2", 16, trade...),
			swap.Anchor("swap_with_price_impact", 15, trade...),
			swap.Anchor("swap_with_price_impact2", 16, trade...),
			swap.AnchorCreate("initialize_lb_pair", 12, create...),
			swap.AnchorCreate("initialize_lb_pair2", 14, create...),
			swap.AnchorCreate("initialize_customizable_permissionless_lb_pair", 12, create...),
			swap.AnchorCreate("initialize_customizable_permissionless_lb_pair2", 15, create...),
			swap.AnchorCreate("initialize_permission_lb_pair", 15, swap.Shape{Pool: 1, VaultA: 5, VaultB: 6, Owner: 8, MintA: 3, MintB: 4}),
		},
	}
	v.Instructions = append(v.Instructions, meteoraDLMMLiquidity()...)
	return v
}

// meteoraDLMMLiquidity returns the instructions that add and remove liquidity. Those without a 2 at
// the end of the name, except rebalance_liquidity, name two arrays of bins before the sender. The
// instructions for one side of a pool name one reserve.
func meteoraDLMMLiquidity() []swap.Instruction {
	both := func(sender int) swap.Shape {
		return swap.Shape{Pool: 1, VaultA: 5, VaultB: 6, Owner: sender, MintA: 7, MintB: 8}
	}
	one := func(sender int) swap.Shape {
		return swap.Shape{Pool: 1, VaultA: 4, VaultB: swap.None, Owner: sender, MintA: 5, MintB: swap.None}
	}
	return []swap.Instruction{
		swap.AnchorLiquidity("add_liquidity", swap.Add, 16, 0, both(11)),
		swap.AnchorLiquidity("add_liquidity_by_strategy", swap.Add, 16, 0, both(11)),
		swap.AnchorLiquidity("add_liquidity_by_weight", swap.Add, 16, 0, both(11)),
		swap.AnchorLiquidity("add_liquidity2", swap.Add, 14, 0, both(9)),
		swap.AnchorLiquidity("add_liquidity_by_strategy2", swap.Add, 14, 0, both(9)),
		swap.AnchorLiquidity("add_liquidity_by_weight2", swap.Add, 14, 0, both(9)),
		swap.AnchorLiquidity("add_liquidity_one_side", swap.Add, 12, 0, one(8)),
		swap.AnchorLiquidity("add_liquidity_by_strategy_one_side", swap.Add, 12, 0, one(8)),
		swap.AnchorLiquidity("add_liquidity_one_side_precise", swap.Add, 12, 0, one(8)),
		swap.AnchorLiquidity("add_liquidity_one_side_precise2", swap.Add, 10, 0, one(6)),
		swap.AnchorLiquidity("remove_liquidity", swap.Remove, 16, 0, both(11)),
		swap.AnchorLiquidity("remove_all_liquidity", swap.Remove, 16, 0, both(11)),
		swap.AnchorLiquidity("remove_liquidity_by_range", swap.Remove, 16, 0, both(11)),
		swap.AnchorLiquidity("remove_liquidity2", swap.Remove, 15, 0, both(9)),
		swap.AnchorLiquidity("remove_liquidity_by_range2", swap.Remove, 15, 0, both(9)),
		swap.AnchorLiquidity("rebalance_liquidity", swap.Rebalance, 17, 0, both(9)),
	}
}

// meteoraDLMMChange reads AddLiquidity and RemoveLiquidity: pair, sender, position, amounts.
func meteoraDLMMChange(data []byte, c *swap.Change) bool {
	const (
		added   = "\x1f\x5e\x7d\x5a\xe3\x34\x3d\xba"
		removed = "\x74\xf4\x61\xe8\x67\x1f\x98\x3a"
		amounts = 8 + 3*32
	)
	if c.Added = instruction.HasTag(data, added); !c.Added && !instruction.HasTag(data, removed) || len(data) < amounts+2*8 {
		return false
	}
	c.Pool = swap.Key(data, 8)
	c.A, _ = swap.U64(data, amounts)
	c.B, _ = swap.U64(data, amounts+8)
	return true
}

// meteoraDLMMEvent reads Swap: pair, trader, first and last bin, then the amounts in and out.
func meteoraDLMMEvent(data []byte, e *swap.Event) bool {
	const (
		tag     = "\x51\x6c\xe3\xbe\xcd\xd0\x0a\xc4"
		amounts = 8 + 2*32 + 2*4
	)
	if !instruction.HasTag(data, tag) || len(data) < amounts+2*8 {
		return false
	}
	e.Pool, e.HasOut = swap.Key(data, 8), true
	e.In, _ = swap.U64(data, amounts)
	e.Out, _ = swap.U64(data, amounts+8)
	return true
}
