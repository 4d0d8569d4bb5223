// Package pumpswap reads PumpSwap (pump_amm).
//
// Layouts: pump-fun/pump-public-docs idl/pump_amm.json, docs/instructions/PUMP_SWAP_TRADE_V2.md and
// MULTI_HOP_SWAP.md (October 2026). Amounts: transfers into and out of the pool's vaults; checked
// by the program's BuyEvent and SellEvent, calls to itself, and by balances. On a sale all fees
// leave the quote vault; on a purchase they go from the buyer past it, but for the trades of
// version 2, which keep the protocol's and the creator's fee in the vault.
package pumpswap

import (
	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/decode/swap"
)

const name = "pumpswap"

// Venue is the program's table.
func Venue() swap.Venue {
	trade := swap.Shape{Pool: 0, VaultA: 7, VaultB: 8, Owner: 1, MintA: 3, MintB: 4}
	route := swap.Anchor("multi_hop_swap", 21)
	v := swap.Venue{
		Name: name, Program: "pAMMBay6oceH9fJKBRHGP5D4bD4sWpmSwMn52FMfXEA", Events: swap.SelfCall, Event: event,
		Instructions: []swap.Instruction{
			swap.Anchor("buy", 17, trade),
			swap.Anchor("sell", 17, trade),
			swap.Anchor("buy_exact_quote_in", 17, trade),
			swap.Anchor("buy_v2", 17, trade),
			swap.Anchor("sell_v2", 17, trade),
			swap.Anchor("buy_exact_quote_in_v2", 17, trade),
			route,
			swap.AnchorCreate("create_pool", 18, swap.Shape{Pool: 0, VaultA: 9, VaultB: 10, Owner: 2, MintA: 3, MintB: 4}),
		},
	}
	told := v // what hops asks for the pools' events
	for i := range v.Instructions {
		if v.Instructions[i].Name == route.Name {
			v.Instructions[i].Find = func(in *swap.Input, shapes []swap.Shape) []swap.Shape { return hops(in, &told, shapes) }
		}
	}
	return v
}

// hops finds the pools of multi_hop_swap: behind sixteen fixed accounts five for each hop, mints,
// pool, vaults. A hop over a bonding curve looks the same and is the curve's program to tell; that
// a hop is a pool's is told by its event.
func hops(in *swap.Input, v *swap.Venue, shapes []swap.Shape) []swap.Shape {
	const first, group = 16, 5
	for i := first; i+group <= in.Accounts(); i += group {
		if in.HasEvent(v, in.Key(i+2)) {
			shapes = append(shapes, swap.Shape{Pool: i + 2, VaultA: i + 3, VaultB: i + 4, Owner: 0, MintA: i, MintB: i + 1})
		}
	}
	return shapes
}

// Offsets in BuyEvent and SellEvent, tag included: fourteen numbers, then keys.
const (
	base       = 8 + 1*8  // base_amount_out, base_amount_in
	quote      = 8 + 7*8  // quote_amount_in, quote_amount_out: without fees
	lpFee      = 8 + 9*8  // stays in the vault
	withLPFee  = 8 + 12*8 // quote_amount_in_with_lp_fee, quote_amount_out_without_lp_fee
	user       = 8 + 13*8 // user_quote_amount_in, user_quote_amount_out
	pool       = 8 + 14*8
	recipient  = pool + 4*32
	coinFee    = recipient + 3*32 + 8
	buyLength  = coinFee + 8
	sellLength = coinFee + 8
	// Behind the creator's fee. A purchase: track_volume, four numbers, min_base_amount_out,
	// ix_name, cashback (two), buyback (two); a sale: cashback, buyback.
	afterSale = coinFee + 8
)

func event(data []byte, e *swap.Event) bool {
	const (
		buy  = "\x67\xf4\x52\x1f\x2c\xf5\x77\x77"
		sell = "\x3e\x2f\x37\x0a\xa5\x03\xdc\x2a"
	)
	switch {
	case swap.HasTag(data, buy) && len(data) >= pool+32:
		e.In, _ = swap.U64(data, withLPFee)
		e.Out, _ = swap.U64(data, base)
		e.Paid, _ = swap.U64(data, user)
		e.Got = e.Out
		if kept(data) {
			// Version 2: all that the buyer pays comes into the vault but for the buyback's share
			// of the protocol's fee.
			e.InFee = 0
			e.In = e.Paid - min(buybackOfBuy(data), e.Paid)
		}
	case swap.HasTag(data, sell) && len(data) >= pool+32:
		e.In, _ = swap.U64(data, base)
		e.Paid = e.In
		e.Got, _ = swap.U64(data, user)
		e.Out, _ = swap.U64(data, withLPFee)
		if kept(data) {
			buyback, _ := swap.U64(data, afterSale+3*8)
			e.Out = e.Got + buyback
		}
	default:
		return false
	}
	e.Pool, e.HasOut = swap.Key(data, pool), true
	return true
}

// kept says whether the fees stayed in the vault: then the event names no recipient. The docs show
// the zero key as the system program's address, which it is.
func kept(data []byte) bool {
	return len(data) >= buyLength && swap.Key(data, recipient) == (chain.Key{})
}

// buybackOfBuy is BuyEvent's buyback_fee, behind a text of any length.
func buybackOfBuy(data []byte) uint64 {
	const name = coinFee + 8 + 1 + 4*8 + 8
	if len(data) < name+4 {
		return 0
	}
	length := int(uint32(data[name]) | uint32(data[name+1])<<8 | uint32(data[name+2])<<16 | uint32(data[name+3])<<24)
	if length > len(data) {
		return 0
	}
	fee, _ := swap.U64(data, name+4+length+3*8)
	return fee
}
