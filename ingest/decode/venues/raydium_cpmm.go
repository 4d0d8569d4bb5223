package venues

import (
	"github.com/mintlake/mintlake/ingest/decode/instruction"
	"github.com/mintlake/mintlake/ingest/decode/swap"
)

// raydiumCPMM reads Raydium's CPMM (cp-swap).
//
// Layouts: raydium-io/raydium-cp-swap programs/cp-swap/src/instructions (accounts),
// states/events.rs (SwapEvent, LpChangeEvent). Amounts: transfers into and out of the vaults;
// checked by balances and by the event in the log, which a node may have cut off.
func raydiumCPMM() swap.Venue {
	trade := []swap.Shape{{Pool: 3, VaultA: 6, VaultB: 7, Owner: 0, MintA: 10, MintB: 11}}
	shares := swap.Shape{Pool: 2, VaultA: 6, VaultB: 7, Owner: 0, MintA: 10, MintB: 11}
	return swap.Venue{
		Name: "raydium_cpmm", Program: "CPMMoo8L3F4NbTegBCKVNunggL7H1ZpdTHKxQB5qKP1C", Events: swap.Anywhere, Event: raydiumCPMMEvent, Change: raydiumCPMMChange,
		Instructions: []swap.Instruction{
			swap.Anchor("swap_base_input", 13, trade...),
			swap.Anchor("swap_base_output", 13, trade...),
			swap.AnchorLiquidity("deposit", swap.Add, 13, 12, shares),
			swap.AnchorLiquidity("withdraw", swap.Remove, 14, 12, shares),
			swap.Funded("initialize", 20, 6, swap.Shape{Pool: 3, VaultA: 10, VaultB: 11, Owner: 0, MintA: 4, MintB: 5}),
			swap.Funded("initialize_with_permission", 20, 7, swap.Shape{Pool: 4, VaultA: 11, VaultB: 12, Owner: 1, MintA: 5, MintB: 6}),
		},
	}
}

// raydiumCPMMEvent reads SwapEvent: pool, both vaults before the swap, amounts, Token-2022 fees.
// Newer builds append fields.
func raydiumCPMMEvent(data []byte, e *swap.Event) bool {
	const tag = "\x40\xc6\xcd\xe8\x26\x08\x71\xe2"
	if !instruction.HasTag(data, tag) || len(data) < 8+32+6*8 {
		return false
	}
	e.Pool, e.HasOut = swap.Key(data, 8), true
	e.In, _ = swap.U64(data, 56)
	e.Out, _ = swap.U64(data, 64)
	e.InFee, _ = swap.U64(data, 72)
	e.OutFee, _ = swap.U64(data, 80)
	return true
}

// raydiumCPMMChange reads LpChangeEvent: pool, liquidity tokens, both vaults before, amounts
// without Token-2022 fees, these fees, and what was done: 1 is a withdrawal.
func raydiumCPMMChange(data []byte, c *swap.Change) bool {
	const (
		tag       = "\x79\xa3\xcd\xc9\x39\xda\x75\x3c"
		amounts   = 8 + 32 + 3*8
		withdrawn = 1
	)
	if !instruction.HasTag(data, tag) || len(data) < amounts+4*8+1 {
		return false
	}
	c.Pool, c.Added = swap.Key(data, 8), data[amounts+4*8] != withdrawn
	c.A, _ = swap.U64(data, amounts)
	c.B, _ = swap.U64(data, amounts+8)
	c.TaxA, _ = swap.U64(data, amounts+16)
	c.TaxB, _ = swap.U64(data, amounts+24)
	return true
}
