package venues

import (
	"github.com/mintlake/mintlake/ingest/decode/instruction"
	"github.com/mintlake/mintlake/ingest/decode/swap"
)

// meteoraDBC reads Meteora's dynamic bonding curve.
//
// Layouts: the program's IDL (MeteoraAg/dynamic-bonding-curve). Amounts: transfers into and out of
// the vaults; checked by the program's EvtSwap or EvtSwap2, calls to itself, and by balances.
func meteoraDBC() swap.Venue {
	trade := swap.Shape{Pool: 2, VaultA: 5, VaultB: 6, Owner: 9, MintA: 7, MintB: 8}
	create := swap.Shape{Pool: 5, VaultA: 6, VaultB: 7, Owner: 2, MintA: 3, MintB: 4}
	// All instructions that create a pool have the same first accounts. Of later versions, not all
	// accounts are published, so these instructions need only the accounts that are read.
	const read = 8
	return swap.Venue{
		Name: "meteora_dbc", Program: "dbcij3LWUppWqq96dh6gJWwBifmcGfLSB5D4DuSMaqN", Events: swap.SelfCall, Event: meteoraDBCEvent,
		Instructions: []swap.Instruction{
			swap.Anchor("swap", 15, trade),
			swap.Anchor("swap2", 15, trade),
			swap.AnchorCreate("initialize_virtual_pool_with_spl_token", 16, create),
			swap.AnchorCreate("initialize_virtual_pool_with_token2022", 14, create),
			swap.AnchorCreate("initialize_virtual_pool_with_spl_token2", read, create),
			swap.AnchorCreate("initialize_virtual_pool_with_token2022_2", read, create),
			swap.AnchorCreate("initialize_virtual_pool_with_token2022_transfer_hook", read, create),
			swap.AnchorCreate("initialize_virtual_pool_with_token2022_transfer_hook2", read, create),
		},
	}
}

// meteoraDBCEvent reads EvtSwap (pool, config, direction, referral, parameters, result, amount in)
// and EvtSwap2 (pool, config, direction, referral, parameters, result).
func meteoraDBCEvent(data []byte, e *swap.Event) bool {
	const (
		first  = "\x1b\x3c\x15\xd5\x8a\xaa\xbb\x93"
		second = "\xbd\x42\x33\xa8\x26\x50\x75\x99"
		// EvtSwap: tag, pool, config, two bytes, amount_in, minimum_amount_out; actual input,
		// output, next price u128, three fees; amount in.
		out1 = 8 + 64 + 2 + 16 + 8
		in1  = out1 + 8 + 16 + 3*8
		// EvtSwap2: the parameters have a mode; included fee input, excluded fee input, amount
		// left, output.
		in2  = 8 + 64 + 2 + 17
		out2 = in2 + 3*8
	)
	switch {
	case instruction.HasTag(data, first) && len(data) >= in1+8:
		e.In, _ = swap.U64(data, in1)
		e.Out, _ = swap.U64(data, out1)
	case instruction.HasTag(data, second) && len(data) >= out2+8:
		e.In, _ = swap.U64(data, in2)
		e.Out, _ = swap.U64(data, out2)
	default:
		return false
	}
	e.Pool, e.HasOut = swap.Key(data, 8), true
	return true
}
