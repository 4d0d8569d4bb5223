package venues

import (
	"github.com/mintlake/mintlake/ingest/decode/instruction"
	"github.com/mintlake/mintlake/ingest/decode/swap"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// raydiumCLMM reads Raydium's CLMM and the programs forked from it: PancakeSwap and Byreal.
//
// Layouts: raydium-io/raydium-clmm programs/amm/src/instructions (accounts), states/pool.rs
// (SwapEvent). Amounts: transfers into and out of the vaults; checked by balances and by the event
// in the log, which a node may have cut off. swap_router_base_in gives a leg for each of its pools.
func raydiumCLMM() []swap.Venue {
	return []swap.Venue{
		raydiumCLMMVenue("raydium_clmm", "CAMMCzo5YL8w4VFF8KVHrK22GGUsp5VTaW7grrKgrWqK"),
		raydiumCLMMVenue("pancakeswap_clmm", "HpNfyc2Saw7RKkQd8nEL4khUcuPhQ7WwY1B2qjx8jxFq"),
		raydiumCLMMVenue("byreal_clmm", "REALQqNEomY6cQGZJUGwywTBD2UmDT32rZcNnfxQ5N2"),
	}
}

func raydiumCLMMVenue(name, program string) swap.Venue {
	create := swap.Shape{Pool: 2, VaultA: 5, VaultB: 6, Owner: 0, MintA: 3, MintB: 4}
	router := swap.Anchor("swap_router_base_in", 13)
	router.Find = raydiumCLMMHops
	return swap.Venue{
		Name: name, Program: program, Events: swap.ProgramData, Event: raydiumCLMMEvent,
		Instructions: []swap.Instruction{
			swap.Anchor("swap_v2", 13, swap.Shape{Pool: 2, VaultA: 5, VaultB: 6, Owner: 0, MintA: 11, MintB: 12}),
			swap.Anchor("swap", 10, swap.Shape{Pool: 2, VaultA: 5, VaultB: 6, Owner: 0, MintA: swap.None, MintB: swap.None}),
			router,
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
