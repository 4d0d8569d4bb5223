package venues

import (
	"encoding/binary"

	"github.com/mintlake/mintlake/ingest/decode/instruction"
	"github.com/mintlake/mintlake/ingest/decode/swap"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

const pumpSwapName = "pumpswap"

// pumpSwap reads PumpSwap (pump_amm).
//
// Layouts: pump-fun/pump-public-docs idl/pump_amm.json, docs/instructions/PUMP_SWAP_TRADE_V2.md and
// MULTI_HOP_SWAP.md (October 2026). Amounts: transfers into and out of the pool's vaults; checked
// by balances and by the program's BuyEvent and SellEvent, which are calls to itself. On a sale all
// fees leave the quote vault. On a purchase the buyer pays all fees directly, except in version 2,
// which keeps the protocol's and the creator's fee in the vault.
func pumpSwap() swap.Venue {
	trade := swap.Shape{Pool: 0, VaultA: 7, VaultB: 8, Owner: 1, MintA: 3, MintB: 4}
	shares := swap.Shape{Pool: 0, VaultA: 9, VaultB: 10, Owner: 2, MintA: 3, MintB: 4}
	route := swap.Anchor("multi_hop_swap", 21)
	v := swap.Venue{
		Name: pumpSwapName, Program: "pAMMBay6oceH9fJKBRHGP5D4bD4sWpmSwMn52FMfXEA", Events: swap.SelfCall, Event: pumpSwapEvent, Change: pumpSwapChange,
		Instructions: []swap.Instruction{
			swap.Anchor("buy", 17, trade),
			swap.Anchor("sell", 17, trade),
			swap.Anchor("buy_exact_quote_in", 17, trade),
			swap.Anchor("buy_v2", 17, trade),
			swap.Anchor("sell_v2", 17, trade),
			swap.Anchor("buy_exact_quote_in_v2", 17, trade),
			route,
			swap.AnchorLiquidity("deposit", swap.Add, 15, 5, shares),
			swap.AnchorLiquidity("withdraw", swap.Remove, 15, 5, shares),
			swap.Funded("create_pool", 18, 5, shares),
		},
	}
	asked := v // a copy for pumpSwapHops, which needs the venue to read the pools' events
	for i := range v.Instructions {
		if v.Instructions[i].Name == route.Name {
			v.Instructions[i].Find = func(in *swap.Input, shapes []swap.Shape) []swap.Shape { return pumpSwapHops(in, &asked, shapes) }
		}
	}
	return v
}

// pumpSwapHops finds the pools of multi_hop_swap. After sixteen fixed accounts there are five for
// each hop: two mints, pool, two vaults. A hop over a bonding curve has the same accounts, but is a
// trade of the curve's program. Only a hop over a pool has an event of this program.
func pumpSwapHops(in *swap.Input, v *swap.Venue, shapes []swap.Shape) []swap.Shape {
	const first, group = 16, 5
	for i := first; i+group <= in.Accounts(); i += group {
		if in.HasEvent(v, in.Key(i+2)) {
			shapes = append(shapes, swap.Shape{Pool: i + 2, VaultA: i + 3, VaultB: i + 4, Owner: 0, MintA: i, MintB: i + 1})
		}
	}
	return shapes
}

// Offsets in BuyEvent and SellEvent, counted from the tag: fourteen numbers, then keys.
const (
	pumpSwapBase       = 8 + 1*8  // base_amount_out, base_amount_in
	pumpSwapQuote      = 8 + 7*8  // quote_amount_in, quote_amount_out: without fees
	pumpSwapLpFee      = 8 + 9*8  // stays in the vault
	pumpSwapWithLPFee  = 8 + 12*8 // quote_amount_in_with_lp_fee, quote_amount_out_without_lp_fee
	pumpSwapUser       = 8 + 13*8 // user_quote_amount_in, user_quote_amount_out
	pumpSwapPool       = 8 + 14*8
	pumpSwapRecipient  = pumpSwapPool + 4*32
	pumpSwapCoinFee    = pumpSwapRecipient + 3*32 + 8
	pumpSwapBuyLength  = pumpSwapCoinFee + 8
	pumpSwapSellLength = pumpSwapCoinFee + 8
	// After the creator's fee, BuyEvent has track_volume, four numbers, min_base_amount_out,
	// ix_name, cashback and buyback. SellEvent has cashback and buyback. Cashback and buyback are a
	// rate and an amount each.
	pumpSwapAfterSale = pumpSwapCoinFee + 8
)

// pumpSwapEvent reads BuyEvent and SellEvent. In and Out are what enters and leaves the vaults,
// Paid and Got what the user pays and gets.
func pumpSwapEvent(data []byte, e *swap.Event) bool {
	const (
		buy  = "\x67\xf4\x52\x1f\x2c\xf5\x77\x77"
		sell = "\x3e\x2f\x37\x0a\xa5\x03\xdc\x2a"
	)
	switch {
	case instruction.HasTag(data, buy) && len(data) >= pumpSwapPool+32:
		e.In, _ = swap.U64(data, pumpSwapWithLPFee)
		e.Out, _ = swap.U64(data, pumpSwapBase)
		e.Paid, _ = swap.U64(data, pumpSwapUser)
		e.Got = e.Out
		if pumpSwapKept(data) {
			// Version 2: everything that the buyer pays enters the vault, except the buyback's
			// share of the protocol's fee.
			e.In = e.Paid - min(pumpSwapBuybackOfBuy(data), e.Paid)
		}
	case instruction.HasTag(data, sell) && len(data) >= pumpSwapPool+32:
		e.In, _ = swap.U64(data, pumpSwapBase)
		e.Paid = e.In
		e.Got, _ = swap.U64(data, pumpSwapUser)
		e.Out, _ = swap.U64(data, pumpSwapWithLPFee)
		if pumpSwapKept(data) {
			buyback, _ := swap.U64(data, pumpSwapAfterSale+3*8)
			e.Out = e.Got + buyback
		}
	default:
		return false
	}
	e.Pool, e.HasOut = swap.Key(data, pumpSwapPool), true
	return true
}

// pumpSwapKept reports whether the fees stayed in the vault: the event then names no recipient. The
// docs show the zero key as the system program's address, which is the same.
func pumpSwapKept(data []byte) bool {
	return len(data) >= pumpSwapBuyLength && swap.Key(data, pumpSwapRecipient) == (pubkey.Key{})
}

// pumpSwapBuybackOfBuy returns BuyEvent's buyback_fee, which comes after a text of any length.
func pumpSwapBuybackOfBuy(data []byte) uint64 {
	const name = pumpSwapCoinFee + 8 + 1 + 4*8 + 8
	if len(data) < name+4 {
		return 0
	}
	length := int(binary.LittleEndian.Uint32(data[name:]))
	if length > len(data) {
		return 0
	}
	fee, _ := swap.U64(data, name+4+length+3*8)
	return fee
}

// pumpSwapChange reads DepositEvent and WithdrawEvent: time, liquidity tokens, two limits, balances
// of the user and of the pool, amounts of base and quote, supply of liquidity tokens, pool.
func pumpSwapChange(data []byte, c *swap.Change) bool {
	const (
		deposited = "\x78\xf8\x3d\x53\x1f\x8e\x6b\x90"
		withdrawn = "\x16\x09\x85\x1a\xa0\x2c\x47\xc0"
		amounts   = 8 + 8*8
		pool      = amounts + 3*8
	)
	if c.Added = instruction.HasTag(data, deposited); !c.Added && !instruction.HasTag(data, withdrawn) || len(data) < pool+32 {
		return false
	}
	c.Pool = swap.Key(data, pool)
	c.A, _ = swap.U64(data, amounts)
	c.B, _ = swap.U64(data, amounts+8)
	return true
}
