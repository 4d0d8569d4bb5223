package venues

import (
	"github.com/mintlake/mintlake/ingest/decode/instruction"
	"github.com/mintlake/mintlake/ingest/decode/swap"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// raydiumCLMM reads Raydium's CLMM and the programs forked from it: PancakeSwap and Byreal.
//
// Layouts: raydium-io/raydium-clmm programs/amm/src/instructions (accounts), states/pool.rs
// (SwapEvent), states/personal_position.rs (events of positions). Amounts: transfers into and out
// of the vaults; checked by balances and by the event in the log, which a node may have cut off.
// swap_router_base_in gives a leg for each of its pools.
func raydiumCLMM() []swap.Venue {
	return []swap.Venue{
		raydiumCLMMVenue("raydium_clmm", "CAMMCzo5YL8w4VFF8KVHrK22GGUsp5VTaW7grrKgrWqK"),
		raydiumCLMMVenue("pancakeswap_clmm", "HpNfyc2Saw7RKkQd8nEL4khUcuPhQ7WwY1B2qjx8jxFq"),
		raydiumCLMMVenue("byreal_clmm", "REALQqNEomY6cQGZJUGwywTBD2UmDT32rZcNnfxQ5N2"),
	}
}

func raydiumCLMMVenue(name, program string) swap.Venue {
	const none = swap.None
	create := swap.Shape{Pool: 2, VaultA: 5, VaultB: 6, Owner: 0, MintA: 3, MintB: 4}
	router := swap.Anchor("swap_router_base_in", 13)
	router.Find = raydiumCLMMHops
	return swap.Venue{
		Name: name, Program: program, Events: swap.ProgramData, Event: raydiumCLMMEvent, Change: raydiumCLMMChange,
		Instructions: []swap.Instruction{
			swap.Anchor("swap_v2", 13, swap.Shape{Pool: 2, VaultA: 5, VaultB: 6, Owner: 0, MintA: 11, MintB: 12}),
			swap.Anchor("swap", 10, swap.Shape{Pool: 2, VaultA: 5, VaultB: 6, Owner: 0, MintA: swap.None, MintB: swap.None}),
			router,
			swap.AnchorLiquidity("open_position", swap.Add, 19, 0, swap.Shape{Pool: 5, VaultA: 12, VaultB: 13, Owner: 0, MintA: none, MintB: none}),
			swap.AnchorLiquidity("open_position_v2", swap.Add, 22, 0, swap.Shape{Pool: 5, VaultA: 12, VaultB: 13, Owner: 0, MintA: 20, MintB: 21}),
			swap.AnchorLiquidity("open_position_with_token22_nft", swap.Add, 20, 0, swap.Shape{Pool: 4, VaultA: 11, VaultB: 12, Owner: 0, MintA: 18, MintB: 19}),
			swap.AnchorLiquidity("increase_liquidity", swap.Add, 12, 0, swap.Shape{Pool: 2, VaultA: 9, VaultB: 10, Owner: 0, MintA: none, MintB: none}),
			swap.AnchorLiquidity("increase_liquidity_v2", swap.Add, 15, 0, swap.Shape{Pool: 2, VaultA: 9, VaultB: 10, Owner: 0, MintA: 13, MintB: 14}),
			raydiumCLMMRemove("decrease_liquidity", 12, swap.Shape{Pool: 3, VaultA: 5, VaultB: 6, Owner: 0, MintA: none, MintB: none}),
			raydiumCLMMRemove("decrease_liquidity_v2", 16, swap.Shape{Pool: 3, VaultA: 5, VaultB: 6, Owner: 0, MintA: 14, MintB: 15}),
			swap.AnchorCreate("create_pool", 13, create),
			swap.AnchorCreate("create_customizable_pool", 13, create),
		},
	}
}

// raydiumCLMMHops finds the pools of swap_router_base_in. After six fixed accounts, each pool has:
// config, pool, the user's account, input and output vault, output mint, observation, and any
// number of tick arrays. The vaults show where a pool begins: the pool owns both.
func raydiumCLMMHops(in *swap.Input, shapes []swap.Shape) []swap.Shape {
	const first, group = 6, 7
	for i := first; i+group <= in.Accounts(); i++ {
		pool := in.Key(i + 1)
		if pool == (pubkey.Key{}) || in.Owner(i+3) != pool || in.Owner(i+4) != pool {
			continue
		}
		shapes = append(shapes, swap.Shape{Pool: i + 1, VaultA: i + 3, VaultB: i + 4, Owner: 0, MintA: swap.None, MintB: i + 5})
		i += group - 1
	}
	return shapes
}

// raydiumCLMMEvent reads SwapEvent. amount_0 and transfer_fee_0 belong to the vault of mint 0;
// zero_for_one means that mint 0 came in.
func raydiumCLMMEvent(data []byte, e *swap.Event) bool {
	const (
		tag     = "\x40\xc6\xcd\xe8\x26\x08\x71\xe2"
		amounts = 8 + 4*32
	)
	if !instruction.HasTag(data, tag) || len(data) < amounts+4*8+1 {
		return false
	}
	e.Pool, e.HasOut = swap.Key(data, 8), true
	e.In, _ = swap.U64(data, amounts)
	e.InFee, _ = swap.U64(data, amounts+8)
	e.Out, _ = swap.U64(data, amounts+16)
	e.OutFee, _ = swap.U64(data, amounts+24)
	if data[amounts+32] == 0 {
		e.In, e.Out, e.InFee, e.OutFee = e.Out, e.In, e.OutFee, e.InFee
	}
	return true
}

// raydiumCLMMRemove returns an instruction that removes liquidity. If its data says to remove no
// liquidity, the instruction only collects the position's fees, and is idle.
func raydiumCLMMRemove(name string, accounts int, shape swap.Shape) swap.Instruction {
	ins := swap.AnchorLiquidity(name, swap.Remove, accounts, 0, shape)
	ins.Idle = func(data []byte) bool {
		low, _ := swap.U64(data, 8) // liquidity: u128
		high, whole := swap.U64(data, 16)
		return whole && low|high == 0
	}
	return ins
}

// raydiumCLMMChange reads CreatePersonalPositionEvent (pool, minter, owner, two ticks, liquidity,
// amounts, Token-2022 fees), IncreaseLiquidityEvent (position, liquidity, amounts, Token-2022 fees)
// and DecreaseLiquidityEvent (position, liquidity, amounts, swap fees, three rewards, Token-2022
// fees).
func raydiumCLMMChange(data []byte, c *swap.Change) bool {
	const (
		opened    = "\x64\x1e\x57\xf9\xc4\xdf\x9a\xce"
		increased = "\x31\x4f\x69\xd4\x20\x22\x1e\x54"
		decreased = "\x3a\xde\x56\x3a\x44\x32\x55\x38"
		openedAt  = 8 + 3*32 + 2*4 + 16
		changedAt = 8 + 32 + 16
	)
	at, tax := changedAt, changedAt+16
	switch {
	case instruction.HasTag(data, opened) && len(data) >= openedAt+4*8:
		at, tax, c.Pool, c.Added = openedAt, openedAt+16, swap.Key(data, 8), true
	case instruction.HasTag(data, increased) && len(data) >= changedAt+4*8:
		c.Added = true
	case instruction.HasTag(data, decreased) && len(data) >= changedAt+9*8:
		tax, c.HasFees = changedAt+7*8, true
		c.FeesA, _ = swap.U64(data, changedAt+16)
		c.FeesB, _ = swap.U64(data, changedAt+24)
	default:
		return false
	}
	c.A, _ = swap.U64(data, at)
	c.B, _ = swap.U64(data, at+8)
	c.TaxA, _ = swap.U64(data, tax)
	c.TaxB, _ = swap.U64(data, tax+8)
	return true
}
