package venues

import (
	"encoding/binary"

	"github.com/gagliardetto/solana-go"

	"github.com/mintlake/mintlake/ingest/decode/instruction"
	"github.com/mintlake/mintlake/ingest/decode/swap"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

const pumpCurveProgram = "6EF8rrecthR5Dkzon8Nwu78hRvfCKubJ14M5uBEwF6P"

// pumpCurve reads pump.fun's bonding curve (pump).
//
// Layouts: pump-fun/pump-public-docs idl/pump.json, docs/instructions/TRADE_V3.md and
// MULTI_HOP_SWAP.md (October 2026). Amounts: those of the program's TradeEvent, a call to itself.
// They are without fees. Transfers do not give them, because lamports leave a curve without an
// instruction. They are checked by the token's transfer, by the buyer's transfer of lamports, and
// by the curve's lamports and token balance.
func pumpCurve() swap.Venue {
	const none = swap.None
	first := swap.Shape{Pool: 3, VaultA: 4, VaultB: none, Owner: 6, MintA: 2, MintB: none}
	second := swap.Shape{Pool: 10, VaultA: 11, VaultB: 12, Owner: 13, MintA: 1, MintB: 2}
	third := swap.Shape{Pool: 5, VaultA: 6, VaultB: 7, Owner: 8, MintA: 1, MintB: 2}
	v := swap.Venue{
		Name: "pump_curve", Program: pumpCurveProgram, Events: swap.SelfCall, Event: pumpCurveEvent,
		Instructions: []swap.Instruction{
			pumpCurveTrade("buy", 12, first), pumpCurveTrade("sell", 12, first), pumpCurveTrade("buy_exact_sol_in", 12, first),
			pumpCurveTrade("buy_v2", 26, second), pumpCurveTrade("sell_v2", 26, second), pumpCurveTrade("buy_exact_quote_in_v2", 26, second),
			pumpCurveTrade("buy_v3", 17, third), pumpCurveTrade("sell_v3", 17, third), pumpCurveTrade("buy_exact_quote_in_v3", 17, third),
			pumpCurveTrade("multi_hop_curve_swap", 1),
			swap.AnchorCreate("create", 14, swap.Shape{Pool: 2, VaultA: 3, VaultB: none, Owner: 7, MintA: 0, MintB: none}),
			swap.AnchorCreate("create_v2", 16, swap.Shape{Pool: 2, VaultA: 3, VaultB: none, Owner: 5, MintA: 0, MintB: none}),
		},
	}
	for i := range v.Instructions {
		v.Instructions[i].QuoteSOL = v.Instructions[i].Kind == swap.Create
	}
	return v
}

// pumpCurveTrade returns an instruction whose legs come from TradeEvent. Without shapes, the curve
// is found by its mint.
func pumpCurveTrade(name string, accounts int, shapes ...swap.Shape) swap.Instruction {
	ins := swap.Anchor(name, accounts, shapes...)
	ins.ByEvent, ins.Address = true, pumpCurveAddress
	return ins
}

// pumpCurveAddress returns the curve of a mint: the program address for "bonding-curve" and the
// mint.
func pumpCurveAddress(mint pubkey.Key) (pubkey.Key, bool) {
	program := solana.PublicKey(pubkey.MustParse(pumpCurveProgram))
	curve, _, err := solana.FindProgramAddress([][]byte{[]byte("bonding-curve"), mint[:]}, program)
	return pubkey.Key(curve), err == nil
}

// Offsets in TradeEvent, counted from its tag. Older builds end after the reserves, after the
// creator's fee, or after the volume; newer ones append fields.
const (
	pumpCurveMintAt      = 8
	pumpCurveSolAmount   = 40
	pumpCurveTokenAmount = 48
	pumpCurveIsBuy       = 56
	pumpCurveUserAt      = 57
	pumpCurveRealSOL     = 113
	pumpCurveRealToken   = 121
	pumpCurveOldest      = 129
	pumpCurveRecipient   = 129
	pumpCurveFeeAt       = 169
	pumpCurveCreatorFee  = 217
	pumpCurveIxName      = 258
)

// pumpCurveEvent reads TradeEvent and CreateEvent.
func pumpCurveEvent(data []byte, e *swap.Event) bool {
	const (
		traded  = "\xbd\xdb\x7f\xd3\x4e\xe6\x61\xee"
		created = "\x1b\x72\xa9\x4d\xde\xeb\x63\x76"
	)
	switch {
	case instruction.HasTag(data, created):
		return pumpCurveCreation(data, e)
	case !instruction.HasTag(data, traded) || len(data) < pumpCurveOldest || data[pumpCurveIsBuy] > 1:
		return false
	}
	e.HasOut = true
	e.Curve.Mint, e.Curve.User, e.Curve.Buy = swap.Key(data, pumpCurveMintAt), swap.Key(data, pumpCurveUserAt), data[pumpCurveIsBuy] == 1
	quote, _ := swap.U64(data, pumpCurveSolAmount)
	token, _ := swap.U64(data, pumpCurveTokenAmount)
	e.Curve.QuoteReserve, _ = swap.U64(data, pumpCurveRealSOL)
	e.Curve.TokenReserve, _ = swap.U64(data, pumpCurveRealToken)
	e.Curve.HasReserves = true
	fee, _ := swap.U64(data, pumpCurveFeeAt)
	creators, _ := swap.U64(data, pumpCurveCreatorFee)
	buyback := pumpCurveAppended(data, e, &quote)
	if len(data) >= pumpCurveFeeAt && swap.Key(data, pumpCurveRecipient) == (pubkey.Key{}) {
		e.Curve.KeptFees = fee + creators - min(buyback, fee+creators)
	}
	if e.Curve.Buy {
		e.In, e.Out, e.Paid, e.Got = quote, token, quote+fee+creators, token
	} else {
		e.In, e.Out, e.Paid, e.Got = token, quote, token, quote-min(fee+creators, quote)
	}
	return true
}

// pumpCurveAppended reads what newer builds append after the instruction's name: mayhem, cashback
// (rate and amount), buyback (rate and amount) and shareholders. If the curve is quoted in a token,
// the quote's mint, amount and reserves follow, and pumpCurveAppended sets quote to that amount. It
// returns the amount of the buyback.
func pumpCurveAppended(data []byte, e *swap.Event, quote *uint64) (buyback uint64) {
	const shareholder = 32 + 2
	at, ok := pumpCurveText(data, pumpCurveIxName)
	if !ok {
		return 0
	}
	at += 1 + 3*8
	buyback, _ = swap.U64(data, at)
	at += 8
	if at+4 > len(data) {
		return buyback
	}
	count := int(binary.LittleEndian.Uint32(data[at:]))
	if count > len(data)/shareholder {
		return buyback
	}
	at += 4 + count*shareholder
	if at+32+3*8 > len(data) {
		return buyback
	}
	e.Curve.QuoteMint = swap.Key(data, at)
	if e.Curve.QuoteMint != (pubkey.Key{}) {
		if amount, _ := swap.U64(data, at+32); amount > 0 {
			*quote = amount
			e.Curve.QuoteReserve, _ = swap.U64(data, at+48)
		}
	}
	return buyback
}

// pumpCurveText returns the offset after a Borsh string.
func pumpCurveText(data []byte, at int) (int, bool) {
	if at+4 > len(data) {
		return 0, false
	}
	length := int(binary.LittleEndian.Uint32(data[at:]))
	if length > len(data)-at-4 {
		return 0, false
	}
	return at + 4 + length, true
}

// pumpCurveCreation reads CreateEvent: three texts, mint, curve, user, creator, time, four amounts,
// token program and two flags. Newer builds append the quote's mint.
func pumpCurveCreation(data []byte, e *swap.Event) bool {
	at := 8
	for range 3 {
		end, ok := pumpCurveText(data, at)
		if !ok {
			return false
		}
		at = end
	}
	e.Curve.Created, e.Curve.Mint = true, swap.Key(data, at)
	e.Pool = swap.Key(data, at+32)
	e.Curve.QuoteMint = swap.Key(data, at+4*32+5*8+32+2)
	return true
}
