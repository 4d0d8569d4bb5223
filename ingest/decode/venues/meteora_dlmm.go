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
	return swap.Venue{
		Name: "meteora_dlmm", Program: "LBUZKhRxPF3XUpBCjp4YzTKgLccjZhTSDM9YuVaPwxo", Events: swap.Anywhere, Event: meteoraDLMMEvent,
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
