package venues

import (
	"github.com/mintlake/mintlake/ingest/decode/instruction"
	"github.com/mintlake/mintlake/ingest/decode/swap"
)

// whirlpool reads Orca's Whirlpools.
//
// Layouts: orca-so/whirlpools programs/whirlpool/src/instructions (accounts), events.rs (Traded,
// LiquidityIncreased, LiquidityDecreased). Amounts: transfers into and out of the vaults; checked
// by balances and by the event in the log, which older builds do not write and a node may have cut
// off. A two-hop swap is two legs.
func whirlpool() []swap.Venue {
	return []swap.Venue{
		whirlpoolVenue("orca_whirlpool", "whirLbMiicVdio4qvUfM5KAg6Ct8VwpYzGff3uctyCc"),
		whirlpoolVenue("orca_whirlpool_immutable", "iwhrLHdsgrvmnwU8GF2FSmyabSMjfHwFGJAX2ufJ3ZN"),
	}
}

func whirlpoolVenue(name, program string) swap.Venue {
	const none = swap.None
	position := swap.Shape{Pool: 0, VaultA: 7, VaultB: 8, Owner: 2, MintA: none, MintB: none}
	second := swap.Shape{Pool: 0, VaultA: 11, VaultB: 12, Owner: 4, MintA: 7, MintB: 8}
	return swap.Venue{
		Name: name, Program: program, Events: swap.ProgramData, Event: whirlpoolEvent, Change: whirlpoolChange,
		Instructions: []swap.Instruction{
			swap.Anchor("swap", 11, swap.Shape{Pool: 2, VaultA: 4, VaultB: 6, Owner: 1, MintA: none, MintB: none}),
			swap.Anchor("swap_v2", 15, swap.Shape{Pool: 4, VaultA: 8, VaultB: 10, Owner: 3, MintA: 5, MintB: 6}),
			swap.Anchor("two_hop_swap", 20,
				swap.Shape{Pool: 2, VaultA: 5, VaultB: 7, Owner: 1, MintA: none, MintB: none},
				swap.Shape{Pool: 3, VaultA: 9, VaultB: 11, Owner: 1, MintA: none, MintB: none},
			),
			swap.Anchor("two_hop_swap_v2", 24,
				swap.Shape{Pool: 0, VaultA: 9, VaultB: 10, Owner: 14, MintA: 2, MintB: 3},
				swap.Shape{Pool: 1, VaultA: 11, VaultB: 12, Owner: 14, MintA: 3, MintB: 4},
			),
			swap.AnchorLiquidity("increase_liquidity", swap.Add, 11, 0, position),
			swap.AnchorLiquidity("decrease_liquidity", swap.Remove, 11, 0, position),
			swap.AnchorLiquidity("increase_liquidity_v2", swap.Add, 15, 0, second),
			swap.AnchorLiquidity("increase_liquidity_by_token_amounts_v2", swap.Add, 15, 0, second),
			swap.AnchorLiquidity("decrease_liquidity_v2", swap.Remove, 15, 0, second),
			swap.AnchorLiquidity("reposition_liquidity_v2", swap.Rebalance, 19, 0,
				swap.Shape{Pool: 0, VaultA: 12, VaultB: 13, Owner: 4, MintA: 8, MintB: 9}),
			swap.AnchorCreate("initialize_pool", 11, swap.Shape{Pool: 4, VaultA: 5, VaultB: 6, Owner: 3, MintA: 1, MintB: 2}),
			swap.AnchorCreate("initialize_pool_v2", 14, swap.Shape{Pool: 6, VaultA: 7, VaultB: 8, Owner: 5, MintA: 1, MintB: 2}),
			swap.AnchorCreate("initialize_pool_with_adaptive_fee", 16, swap.Shape{Pool: 7, VaultA: 9, VaultB: 10, Owner: 5, MintA: 1, MintB: 2}),
		},
	}
}

// whirlpoolEvent reads Traded: pool, direction, two square roots of prices, amounts, Token-2022
// fees, other fees.
func whirlpoolEvent(data []byte, e *swap.Event) bool {
	const (
		tag     = "\xe1\xca\x49\xaf\x93\x2b\xa0\x96"
		amounts = 8 + 32 + 1 + 2*16
	)
	if !instruction.HasTag(data, tag) || len(data) < amounts+4*8 {
		return false
	}
	e.Pool, e.HasOut = swap.Key(data, 8), true
	e.In, _ = swap.U64(data, amounts)
	e.Out, _ = swap.U64(data, amounts+8)
	e.InFee, _ = swap.U64(data, amounts+16)
	e.OutFee, _ = swap.U64(data, amounts+24)
	return true
}

// whirlpoolChange reads LiquidityIncreased and LiquidityDecreased: pool, position, two ticks,
// liquidity, amounts, Token-2022 fees.
func whirlpoolChange(data []byte, c *swap.Change) bool {
	const (
		increased = "\x1e\x07\x90\xb5\x66\xfe\x9b\xa1"
		decreased = "\xa6\x01\x24\x47\x70\xca\xb5\xab"
		amounts   = 8 + 2*32 + 2*4 + 16
	)
	if c.Added = instruction.HasTag(data, increased); !c.Added && !instruction.HasTag(data, decreased) || len(data) < amounts+4*8 {
		return false
	}
	c.Pool = swap.Key(data, 8)
	c.A, _ = swap.U64(data, amounts)
	c.B, _ = swap.U64(data, amounts+8)
	c.TaxA, _ = swap.U64(data, amounts+16)
	c.TaxB, _ = swap.U64(data, amounts+24)
	return true
}
