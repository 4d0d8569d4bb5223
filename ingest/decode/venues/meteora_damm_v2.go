package venues

import (
	"github.com/mintlake/mintlake/ingest/decode/instruction"
	"github.com/mintlake/mintlake/ingest/decode/swap"
)

// meteoraDAMMv2 reads Meteora's DAMM v2 (cp-amm).
//
// Layouts: the program's IDL 0.2.0 (MeteoraAg/damm-v2 idl). Amounts: transfers into and out of the
// vaults; checked by the program's EvtSwap or EvtSwap2, calls to itself, and by balances.
func meteoraDAMMv2() swap.Venue {
	trade := swap.Shape{Pool: 1, VaultA: 4, VaultB: 5, Owner: 8, MintA: 6, MintB: 7}
	removed := swap.Shape{Pool: 1, VaultA: 5, VaultB: 6, Owner: 10, MintA: 7, MintB: 8}
	return swap.Venue{
		Name: "meteora_damm_v2", Program: "cpamdpZCGKUy5JxQXB4dcpGPiikHawvSWAd6mEn1sGG", Events: swap.SelfCall, Event: meteoraDAMMv2Event, Change: meteoraDAMMv2Change,
		Instructions: []swap.Instruction{
			swap.Anchor("swap", 14, trade),
			swap.Anchor("swap2", 14, trade),
			swap.AnchorLiquidity("add_liquidity", swap.Add, 14, 0, swap.Shape{Pool: 0, VaultA: 4, VaultB: 5, Owner: 9, MintA: 6, MintB: 7}),
			swap.AnchorLiquidity("remove_liquidity", swap.Remove, 15, 0, removed),
			swap.AnchorLiquidity("remove_all_liquidity", swap.Remove, 15, 0, removed),
			swap.Funded("initialize_pool", 20, 0, swap.Shape{Pool: 6, VaultA: 10, VaultB: 11, Owner: 0, MintA: 8, MintB: 9}),
			swap.Funded("initialize_customizable_pool", 19, 0, swap.Shape{Pool: 5, VaultA: 9, VaultB: 10, Owner: 0, MintA: 7, MintB: 8}),
			swap.Funded("initialize_pool_with_dynamic_config", 21, 0, swap.Shape{Pool: 7, VaultA: 11, VaultB: 12, Owner: 0, MintA: 9, MintB: 10}),
		},
	}
}

// meteoraDAMMv2Event reads EvtSwap (pool, direction, referral, parameters, result, amount in) and
// EvtSwap2 (pool, direction, fee mode, referral, parameters, result, amounts with and without
// Token-2022 fees).
func meteoraDAMMv2Event(data []byte, e *swap.Event) bool {
	const (
		first  = "\x1b\x3c\x15\xd5\x8a\xaa\xbb\x93"
		second = "\xbd\x42\x33\xa8\x26\x50\x75\x99"
		// EvtSwap: tag, pool, two bytes, amount_in, minimum_amount_out; output_amount, next price
		// u128, four fees; actual amount in, time.
		out1 = 8 + 32 + 2 + 16
		in1  = out1 + 8 + 16 + 4*8
		// EvtSwap2: tag, pool, three bytes, two amounts and a mode; included and excluded fee
		// input, amount left, output amount, next price, four fees.
		out2 = 8 + 32 + 3 + 17 + 3*8
		in2  = out2 + 8 + 16 + 4*8
	)
	switch {
	case instruction.HasTag(data, first) && len(data) >= in1+8:
		e.In, _ = swap.U64(data, in1)
		e.Out, _ = swap.U64(data, out1)
	case instruction.HasTag(data, second) && len(data) >= in2+3*8:
		// included_transfer_fee_amount_in; what follows is the amount out with its fee
		e.In, _ = swap.U64(data, in2)
		e.Out, _ = swap.U64(data, in2+8)
	default:
		return false
	}
	e.Pool, e.HasOut = swap.Key(data, 8), true
	return true
}

// meteoraDAMMv2Change reads EvtLiquidityChange (pool, position, owner, amounts without and with
// Token-2022 fees, reserves, liquidity, thresholds, and what was done: 0 is an addition) and the
// events before it, EvtAddLiquidity and EvtRemoveLiquidity (pool, position, owner, parameters,
// amounts).
func meteoraDAMMv2Change(data []byte, c *swap.Change) bool {
	const (
		changed = "\xc5\xab\x4e\x7f\xe0\xd3\x57\x0d"
		added   = "\xaf\xf2\x08\x9d\x1e\xf7\xb9\xa9"
		removed = "\x57\x2e\x58\x62\xaf\x60\x22\x5b"
		whole   = 8 + 3*32 + 2*8
		kind    = whole + 4*8 + 16 + 2*8
		amounts = 8 + 3*32 + 16 + 2*8
	)
	at := amounts
	switch {
	case instruction.HasTag(data, changed) && len(data) > kind:
		at, c.Added = whole, data[kind] == 0
	case instruction.HasTag(data, added) && len(data) >= amounts+2*8:
		c.Added = true
	case instruction.HasTag(data, removed) && len(data) >= amounts+2*8:
	default:
		return false
	}
	c.Pool = swap.Key(data, 8)
	c.A, _ = swap.U64(data, at)
	c.B, _ = swap.U64(data, at+8)
	return true
}
