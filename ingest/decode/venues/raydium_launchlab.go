package venues

import (
	"github.com/mintlake/mintlake/ingest/decode/instruction"
	"github.com/mintlake/mintlake/ingest/decode/swap"
)

// raydiumLaunchLab reads Raydium's LaunchLab, a bonding curve. Both sides of a curve are token
// accounts.
//
// Layouts: the program's IDL (raydium-io/raydium-idl raydium_launchpad). Amounts: transfers into
// and out of the vaults; checked by balances and by the program's TradeEvent, a call to itself. The
// fees of a sale leave the quote vault in addition to the amount. The fees of a purchase may stay
// in the vault, or not pass through it.
func raydiumLaunchLab() swap.Venue {
	trade := []swap.Shape{{Pool: 4, VaultA: 7, VaultB: 8, Owner: 0, MintA: 9, MintB: 10}}
	create := []swap.Shape{{Pool: 5, VaultA: 8, VaultB: 9, Owner: 1, MintA: 6, MintB: 7}}
	return swap.Venue{
		Name: "raydium_launchlab", Program: "LanMV9sAd7wArD4vJFi2qDdfnVhFxYSUg6eADduJ3uj", Events: swap.SelfCall, Event: raydiumLaunchLabEvent,
		Instructions: []swap.Instruction{
			swap.Anchor("buy_exact_in", 15, trade...),
			swap.Anchor("buy_exact_out", 15, trade...),
			swap.Anchor("sell_exact_in", 15, trade...),
			swap.Anchor("sell_exact_out", 15, trade...),
			swap.AnchorCreate("initialize", 18, create...),
			swap.AnchorCreate("initialize_v2", 18, create...),
			swap.AnchorCreate("initialize_with_token_2022", 15, create...),
		},
	}
}

// raydiumLaunchLabEvent reads TradeEvent: pool, seven numbers about the curve, amounts in and out,
// four fees.
func raydiumLaunchLabEvent(data []byte, e *swap.Event) bool {
	const (
		tag     = "\xbd\xdb\x7f\xd3\x4e\xe6\x61\xee"
		amounts = 8 + 32 + 7*8
	)
	if !instruction.HasTag(data, tag) || len(data) < amounts+2*8 {
		return false
	}
	e.Pool, e.HasOut = swap.Key(data, 8), true
	e.In, _ = swap.U64(data, amounts)
	e.Out, _ = swap.U64(data, amounts+8)
	fees := uint64(0)
	// The protocol's fee comes first and stays in the vault. The shares of the platform, the
	// creator and the referrer follow.
	for i := 1; i < 4; i++ {
		fee, _ := swap.U64(data, amounts+16+8*i)
		fees += fee
	}
	e.InFee, e.OutFee = fees, fees
	return true
}
