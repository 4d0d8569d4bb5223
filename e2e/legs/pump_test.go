package legs

import (
	"encoding/binary"

	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/pumpcurve"
	"github.com/mintlake/mintlake/swap/venue/pumpfees"
	"github.com/mintlake/mintlake/swap/venue/pumpswap"
)

// Places in PumpSwap's events: fourteen numbers, six keys, then the creator and his fee.
const (
	swapBase, swapBaseReserve, swapQuoteReserve, swapQuote = 16, 48, 56, 64
	swapLPRate, swapProtocolRate, swapUser, swapPool       = 72, 88, 112, 120
	swapCreator, swapCreatorRate, swapEnd                  = swapPool + 6*32, swapPool + 7*32, swapPool + 7*32 + 2*8
)

const (
	buyEvent  = "\x67\xf4\x52\x1f\x2c\xf5\x77\x77"
	sellEvent = "\x3e\x2f\x37\x0a\xa5\x03\xdc\x2a"
	// buyIn is the tag of buy_exact_quote_in.
	buyIn = "\xc6\x2e\x15\x52\xb4\xd9\xe8\x70"
)

func pumpswapTells(e event, l *eventspb.SwapLeg) bool {
	buy := len(e) >= swapPool+32 && string(e[:8]) == buyEvent && e.number(swapBase) == l.GetAmountOut()
	sell := len(e) >= swapPool+32 && string(e[:8]) == sellEvent && e.number(swapBase) == l.GetAmountIn()
	return (buy || sell) && e.key(swapPool) == venue.Key(l.GetPool())
}

// cashbackRate is what a coin's traders get in place of its creator: in a sale behind the creator's
// fee; in a purchase behind track_volume, five numbers and the name of the instruction too.
func cashbackRate(e event) uint64 {
	at := swapEnd
	if string(e[:8]) == buyEvent {
		if at += 1 + 5*8; len(e) < at+4 {
			return 0
		}
		at += 4 + int(binary.LittleEndian.Uint32(e[at:]))
	}
	if len(e) < at+8 {
		return 0
	}
	return e.number(at)
}

func pumpswapBefore(l *leg, b *before) string {
	e := event(l.event)
	buy := string(e[:8]) == buyEvent
	base, quote := venue.Key(l.GetMintIn()), venue.Key(l.GetMintOut())
	baseVault, quoteVault := venue.Key(l.GetVaultIn()), venue.Key(l.GetVaultOut())
	if buy {
		base, quote, baseVault, quoteVault = quote, base, quoteVault, baseVault
	}
	var creator venue.Key
	var creatorRate uint64
	if len(e) >= swapEnd {
		creator, creatorRate = e.key(swapCreator), e.number(swapCreatorRate)+cashbackRate(e)
	}
	pool := make(data, 301)
	copy(pool, "\xf1\x9a\x6d\x04\x11\xb1\x6d\xbc")
	for at, key := range map[int]venue.Key{43: base, 75: quote, 139: baseVault, 171: quoteVault, 211: creator} {
		pool.key(at, key)
	}
	b.pool = venue.Key(l.GetPool())
	b.put(b.pool, pumpswap.Program, pool)
	b.vault(baseVault, l.program(base), base, e.number(swapBaseReserve))
	b.vault(quoteVault, l.program(quote), quote, e.number(swapQuoteReserve))
	b.mint(base, l.program(base))
	b.mint(quote, l.program(quote))
	config := make(data, 941)
	copy(config, "\x95\x08\x9c\xca\xa0\xfc\xb0\xd9")
	b.put(pumpswap.GlobalConfig, pumpswap.Program, config)
	b.put(pumpswap.FeeConfig, pumpfees.Program, feeConfig(e.number(swapLPRate), e.number(swapProtocolRate), creatorRate))
	if buy {
		// Purchases for an exact amount tell what is paid and what of it buys in the other order.
		b.in, b.out = max(e.number(swapQuote), e.number(swapUser)), e.number(swapBase)
		b.order = venue.Order{In: quote, Amount: b.out, ExactOut: true}
	} else {
		b.order, b.in, b.out = venue.Order{In: base, Amount: e.number(swapBase)}, e.number(swapBase), e.number(swapUser)
	}
	if buy && len(l.call.Data) >= 16 && string(l.call.Data[:8]) == buyIn {
		b.order.ExactOut, b.order.Amount = false, event(l.call.Data).number(8)
	}
	return ""
}

// feeConfig has one tier, which is the flat one too.
func feeConfig(rates ...uint64) data {
	d := make(data, 41)
	copy(d, "\x8f\x34\x92\xbb\xdb\x7b\x4c\x9b")
	add := func() {
		for _, rate := range rates {
			d = binary.LittleEndian.AppendUint64(d, rate)
		}
	}
	add()
	d = append(binary.LittleEndian.AppendUint32(d, 1), make(data, 16)...)
	add()
	return d
}

// Places in the curve's TradeEvent: reserves after the trade, then fees.
const (
	curveQuote, curveToken, curveBuy, curveVirtual, curveReal    = 40, 48, 56, 97, 113
	curveFeeRate, curveFee, curveCreator, curveCreatorRate, cEnd = 161, 169, 177, 209, 225
)

func curveTells(e event, l *eventspb.SwapLeg) bool {
	if len(e) < 129 || string(e[:8]) != "\xbd\xdb\x7f\xd3\x4e\xe6\x61\xee" {
		return false
	}
	coin, amount := venue.Key(l.GetMintIn()), l.GetAmountIn()
	if e[curveBuy] == 1 {
		coin, amount = venue.Key(l.GetMintOut()), l.GetAmountOut()
	}
	return e.key(8) == coin && e.number(curveToken) == amount
}

func curveBefore(l *leg, b *before) string {
	e := event(l.event)
	if len(e) >= cEnd && e.number(curveFeeRate) == 0 {
		return "a trade without fees, at a price that the reserves of its event do not give"
	}
	// The first builds tell no fees: then the curve alone is compared.
	e = append(e, make(event, max(0, cEnd-len(e)))...)
	coin := e.key(8)
	sol, token := e.number(curveQuote), e.number(curveToken)
	reserves := [4]uint64{e.number(curveVirtual + 8), e.number(curveVirtual), e.number(curveReal + 8), e.number(curveReal)}
	for i := range reserves {
		if (i%2 == 0) == (e[curveBuy] == 1) {
			reserves[i] += [2]uint64{token, sol}[i%2]
		} else {
			reserves[i] -= [2]uint64{token, sol}[i%2]
		}
	}
	address, err := pumpcurve.Address(coin)
	if err != nil {
		return err.Error()
	}
	curve := make(data, 151)
	copy(curve, "\x17\xb7\xf8\x37\x60\xd8\xac\x60")
	for i, n := range reserves {
		curve.number(8+8*i, n)
	}
	curve.number(40, 1_000_000_000_000_000)
	curve.key(49, e.key(curveCreator))
	b.pool = address
	b.put(address, pumpcurve.Program, curve)
	global := make(data, 1087)
	copy(global, "\xa7\xe8\xe8\xb1\xc8\x6c\x72\x7f")
	b.put(pumpcurve.Global, pumpcurve.Program, global)
	b.put(pumpcurve.FeeConfig, pumpfees.Program, feeConfig(0, e.number(curveFeeRate), e.number(curveCreatorRate)))
	b.mint(coin, l.program(coin))
	b.mint(mint.WrappedSOL, mint.Token)
	fees := e.number(curveFee) + e.number(curveCreatorRate+8)
	if e[curveBuy] == 1 {
		b.order, b.in, b.out = venue.Order{In: mint.WrappedSOL, Amount: token, ExactOut: true}, sol+fees, token
	} else {
		b.order, b.in, b.out = venue.Order{In: coin, Amount: token}, token, sol-fees
	}
	return ""
}
