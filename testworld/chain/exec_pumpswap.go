package chain

import (
	"encoding/binary"
	"math/bits"

	"github.com/mintlake/mintlake/testworld/layout"
)

// PumpSwap: places in Pool, GlobalConfig and FeeConfig, instructions and events (pump_amm.json of
// pump-rust-client 0.5.0). The chain's pools are not pump's own: they pay the flat fees, and no
// creator.
var (
	pumpPoolDisc   = [8]byte{0xf1, 0x9a, 0x6d, 0x04, 0x11, 0xb1, 0x6d, 0xbc}
	pumpConfigDisc = [8]byte{0x95, 0x08, 0x9c, 0xca, 0xa0, 0xfc, 0xb0, 0xd9}
	pumpFeeDisc    = [8]byte{0x8f, 0x34, 0x92, 0xbb, 0xdb, 0x7b, 0x4c, 0x9b}
	pumpBuy        = [8]byte{0x66, 0x06, 0x3d, 0x12, 0x01, 0xda, 0xeb, 0xea}
	pumpBuyIn      = [8]byte{0xc6, 0x2e, 0x15, 0x52, 0xb4, 0xd9, 0xe8, 0x70}
	pumpSell       = [8]byte{0x33, 0xe6, 0x85, 0xa4, 0x01, 0x7f, 0x83, 0xad}
	pumpBuyEvent   = [8]byte{0x67, 0xf4, 0x52, 0x1f, 0x2c, 0xf5, 0x77, 0x77}
	pumpSellEvent  = [8]byte{0x3e, 0x2f, 0x37, 0x0a, 0xa5, 0x03, 0xdc, 0x2a}
)

const (
	pumpPoolSize    = 301
	pumpCreator     = 11
	pumpBaseMint    = 43
	pumpQuoteMint   = 75
	pumpLPMint      = 107
	pumpBaseVault   = 139
	pumpQuoteVault  = 171
	pumpLPSupply    = 203
	pumpConfigSize  = 643
	pumpRecipientAt = 57
	pumpLPRate      = 25
	pumpProtocol    = 5
	pumpExceeded    = 6004 // ExceededSlippage
	pumpZero        = 6001 // ZeroBaseAmount
	pumpTooLittle   = 6005 // InsufficientLiquidity
)

// pumpTrade is a swap: what the user pays and gets, the quote amount on the curve before fees
// (gross), and the fees.
type pumpTrade struct {
	pays, sends, gross, lp, protocol uint64
}

func pumpFees(gross uint64) (lp, protocol uint64) {
	lp, _ = mulDivUp(gross, pumpLPRate, 10_000)
	protocol, _ = mulDivUp(gross, pumpProtocol, 10_000)
	return lp, protocol
}

// pumpSells sells an amount of base: gross = ⌊Q·a/(B+a)⌋; the user gets it less the fees.
func pumpSells(amount, base, quote uint64) pumpTrade {
	sum, carry := bits.Add64(base, amount, 0)
	if carry != 0 || sum == 0 {
		return pumpTrade{}
	}
	t := pumpTrade{pays: amount, gross: mulDiv(quote, amount, sum)}
	t.lp, t.protocol = pumpFees(t.gross)
	if t.lp+t.protocol < t.gross {
		t.sends = t.gross - t.lp - t.protocol
	}
	return t
}

// pumpBuys buys an amount of base: gross = ⌈Q·o/(B−o)⌉; the user pays it and the fees.
func pumpBuys(amount, base, quote uint64) pumpTrade {
	if amount == 0 || amount >= base {
		return pumpTrade{}
	}
	gross, ok := mulDivUp(quote, amount, base-amount)
	if !ok || gross > 1<<62 {
		return pumpTrade{}
	}
	t := pumpTrade{gross: gross, sends: amount}
	t.lp, t.protocol = pumpFees(gross)
	t.pays = gross + t.lp + t.protocol
	return t
}

// pumpBuysFor spends an exact amount a of quote. Σ is the sum of the fee rates. net is
// ⌊a·10⁴/(10⁴+Σ)⌋, less what net and its fees exceed a by. Then out = ⌊B·i/(Q+i)⌋ with i = net−1.
func pumpBuysFor(spend, base, quote uint64) pumpTrade {
	if spend > 1<<62 {
		return pumpTrade{}
	}
	net := mulDiv(spend, 10_000, 10_000+pumpLPRate+pumpProtocol)
	t := pumpTrade{}
	t.lp, t.protocol = pumpFees(net)
	if total := net + t.lp + t.protocol; total > spend {
		net -= min(total-spend, net)
	}
	if net == 0 || quote > 1<<62 {
		return pumpTrade{}
	}
	t.gross, t.pays = net, net+t.lp+t.protocol
	t.sends = mulDiv(base, net-1, quote+net-1)
	return t
}

// runPumpSwap runs buy (amount out, most in), buy_exact_quote_in (amount in, least out) and sell
// (amount in, least out).
func runPumpSwap(x *machine, f *frame) error {
	if len(f.data) >= 8 && [8]byte(f.data[:8]) == anchorEventPrefix {
		x.used += 2000
		return nil
	}
	x.used += 40_000
	if len(f.data) < 24 {
		return failCustom(anchorFallbackNotFound)
	}
	switch [8]byte(f.data[:8]) {
	case pumpBuy, pumpBuyIn, pumpSell:
	case pumpCreate:
		return pumpCreatePool(x, f)
	case pumpWithdraw:
		return pumpWithdrawAll(x, f)
	default:
		return failCustom(anchorFallbackNotFound)
	}
	if err := pumpCheck(x, f); err != nil {
		return err
	}
	first, second := binary.LittleEndian.Uint64(f.data[8:]), binary.LittleEndian.Uint64(f.data[16:])
	base, quote := layout.Amount(x.acc(f.accs[7]).Data), layout.Amount(x.acc(f.accs[8]).Data)
	var t pumpTrade
	var slipped bool
	switch [8]byte(f.data[:8]) {
	case pumpBuy:
		t = pumpBuys(first, base, quote)
		slipped = t.pays > second
	case pumpBuyIn:
		t = pumpBuysFor(first, base, quote)
		slipped = t.sends < second
	default:
		t = pumpSells(first, base, quote)
		slipped = t.sends < second
	}
	switch {
	case t.pays == 0 || t.sends == 0:
		return failCustom(pumpZero)
	case slipped:
		x.log("Program log: AnchorError thrown. Error Code: ExceededSlippage. Error Number: 6004. Error Message: slippage.")
		return failCustom(pumpExceeded)
	}
	return pumpSettle(x, f, t, base, quote)
}

// pumpCheck checks the accounts against the pool and the venue's configuration. The accounts are:
// pool, user, global config, base mint, quote mint, user's base, user's quote, base vault, quote
// vault, recipient, its account, base program, quote program, system, associated program, event
// authority, program.
func pumpCheck(x *machine, f *frame) error {
	if len(f.accs) < 21 {
		return failCustom(anchorNotEnoughKeys)
	}
	a := f.accs
	pool := x.acc(a[0])
	if pool.Owner != PumpSwapProgram || len(pool.Data) != pumpPoolSize {
		return failCustom(anchorWrongOwner)
	}
	base, quote := keyAt(pool.Data, pumpBaseMint), keyAt(pool.Data, pumpQuoteMint)
	if !a[1].signer || x.key(a[2]) != pumpGlobal || x.key(a[3]) != base || x.key(a[4]) != quote || !x.holds(a[5], base) || !x.holds(a[6], quote) ||
		x.key(a[7]) != keyAt(pool.Data, pumpBaseVault) || x.key(a[8]) != keyAt(pool.Data, pumpQuoteVault) || x.key(a[9]) != pumpRecipient ||
		!x.holds(a[10], quote) || layout.OwnerOf(x.acc(a[10]).Data) != pumpRecipient || x.key(a[15]) != pumpEvents || x.key(a[16]) != PumpSwapProgram {
		return failCustom(anchorConstraintRaw)
	}
	return nil
}

// pumpSettle moves the tokens and emits the event. The accounts are those of pumpCheck. The
// protocol's fee goes to the recipient's account. The liquidity providers' fee stays in the quote
// vault. base and quote are the vaults' amounts before the swap.
func pumpSettle(x *machine, f *frame, t pumpTrade, base, quote uint64) error {
	a := f.accs
	baseProgram, quoteProgram := x.key(a[11]), x.key(a[12])
	user, pool := a[1], ref{idx: a[0].idx, signer: true}
	buys := [8]byte(f.data[:8]) != pumpSell
	type move struct {
		program         Key
		from, to, owner ref
		amount          uint64
	}
	moves := []move{{baseProgram, a[5], a[7], user, t.pays}, {quoteProgram, a[8], a[6], pool, t.sends}, {quoteProgram, a[8], a[10], pool, t.protocol}}
	if buys {
		moves = []move{{quoteProgram, a[6], a[8], user, t.gross + t.lp}, {baseProgram, a[7], a[5], pool, t.sends}, {quoteProgram, a[6], a[10], user, t.protocol}}
	}
	held := [2]uint64{layout.Amount(x.acc(a[5]).Data), layout.Amount(x.acc(a[6]).Data)}
	for _, m := range moves {
		if err := swapTransfer(x, f, m.program, m.from, m.to, m.owner, m.amount); err != nil {
			return err
		}
	}
	// Both events have the same fields in the same order. Their names differ.
	tag, baseMoved, vaultQuote, userQuote := pumpSellEvent, t.pays, t.gross-t.lp, t.sends
	if buys {
		tag, baseMoved, vaultQuote, userQuote = pumpBuyEvent, t.sends, t.gross+t.lp, t.pays
	}
	limit := binary.LittleEndian.Uint64(f.data[16:]) // the most in or the least out
	if [8]byte(f.data[:8]) == pumpBuyIn {
		limit = binary.LittleEndian.Uint64(f.data[8:]) // all that the user spends
	}
	event := append(append([]byte(nil), anchorEventPrefix[:]...), tag[:]...)
	for _, n := range []uint64{
		uint64(x.now), baseMoved, limit, held[0], held[1], base, quote,
		t.gross, pumpLPRate, t.lp, pumpProtocol, t.protocol, vaultQuote, userQuote,
	} {
		event = layout.AppendU64(event, n)
	}
	for _, r := range []ref{a[0], a[1], a[5], a[6], a[9], a[10]} {
		k := x.key(r)
		event = append(event, k[:]...)
	}
	event = append(event, make([]byte, 32+8+8)...) // no creator and no creator fee
	return x.call(f, PumpSwapProgram, []ref{{idx: a[15].idx, signer: true}}, event)
}

type pumpDex struct{}

func (pumpDex) reserves(g *Generator, p *pool) [2]uint64 { return g.balances(p) }

func (pumpDex) exactIn(g *Generator, p *pool, in int, amount uint64) uint64 {
	res := g.balances(p)
	if in == 0 {
		return pumpSells(amount, res[0], res[1]).sends
	}
	return pumpBuysFor(amount, res[0], res[1]).sends
}

// exactOut returns 0 for a sale: the program has no instruction with an exact output for it.
func (pumpDex) exactOut(g *Generator, p *pool, in int, amount uint64) uint64 {
	if in == 0 {
		return 0
	}
	res := g.balances(p)
	return pumpBuys(amount, res[0], res[1]).pays
}

// swap makes a sell if side 0 goes in, else a buy. With base, first is the exact amount in and
// second the least amount out. Without, first is the most in and second the exact amount out, which
// only a buy can have.
func (pumpDex) swap(g *Generator, user Key, p *pool, in int, accounts [2]Key, first, second uint64, base bool) Instruction {
	quote := p.tokens[1]
	tag := pumpSell
	switch {
	case in == 1 && base:
		tag = pumpBuyIn
	case in == 1:
		tag, first, second = pumpBuy, second, first
	}
	ix := Instruction{Program: PumpSwapProgram, Data: layout.AppendU64(layout.AppendU64(append([]byte(nil), tag[:]...), first), second), Accounts: []AccountMeta{
		writable(p.key), signerW(user), readonly(pumpGlobal), readonly(p.tokens[0].mint), readonly(quote.mint), writable(accounts[0]),
		writable(accounts[1]), writable(p.vaults[0]), writable(p.vaults[1]), readonly(pumpRecipient),
		writable(g.ata(pumpRecipient, quote)), readonly(p.tokens[0].program), readonly(quote.program),
		readonly(SystemProgram), readonly(AssociatedProgram), readonly(pumpEvents), readonly(PumpSwapProgram),
		writable(g.ata(pumpNoCreator, quote)), readonly(pumpNoCreator)}}
	if in == 1 {
		ix.Data = append(ix.Data, 1)
		ix.Accounts = append(ix.Accounts, readonly(pumpGlobalVolume), writable(g.x.derived.volume(user)))
	}
	ix.Accounts = append(ix.Accounts, readonly(pumpFeeConfig), readonly(PumpFeeProgram))
	return ix
}

// genesisPumpSwap adds the configurations, and the accounts that take the protocol's fee. Behind
// its head of 41 bytes, FeeConfig has the flat fees (of liquidity providers, protocol and creator)
// and a list of one tier: the market capitalization from which on it holds, 0, and the same fees.
func (g *Generator) genesisPumpSwap() {
	config := make([]byte, pumpConfigSize)
	copy(config, pumpConfigDisc[:])
	copy(config[pumpRecipientAt:], pumpRecipient[:])
	g.place(pumpGlobal, &Account{Lamports: RentExempt(len(config)), Owner: PumpSwapProgram, Data: config})
	fees := make([]byte, 41)
	copy(fees, pumpFeeDisc[:])
	fees = layout.AppendU64(layout.AppendU64(layout.AppendU64(fees, pumpLPRate), pumpProtocol), 0)
	fees = append(binary.LittleEndian.AppendUint32(fees, 1), make([]byte, 16)...)
	fees = layout.AppendU64(layout.AppendU64(layout.AppendU64(fees, pumpLPRate), pumpProtocol), 0)
	g.place(pumpFeeConfig, &Account{Lamports: RentExempt(len(fees)), Owner: PumpFeeProgram, Data: fees})
	for _, t := range g.tokens[:2] {
		g.place(AssociatedAddress(pumpRecipient, t.mint, t.program), g.tokenAccount(t, pumpRecipient, 0))
	}
}

func (g *Generator) genesisPumpSwapPool(base, quote *token, amounts [2]uint64) {
	g.genesisVenue(pumpDex{}, PumpSwapProgram, Key{}, base, quote, amounts, func(p *pool) []byte {
		return pumpPoolData(g.treasury.Key, p.tokens[0].mint, p.tokens[1].mint, p.lp, p.vaults, isqrt(amounts[0], amounts[1]))
	})
}

// pumpPoolData encodes a pool account.
func pumpPoolData(creator, base, quote, lp Key, vaults [2]Key, supply uint64) []byte {
	d := make([]byte, pumpPoolSize)
	copy(d, pumpPoolDisc[:])
	for at, k := range map[int]Key{pumpCreator: creator, pumpBaseMint: base, pumpQuoteMint: quote, pumpLPMint: lp, pumpBaseVault: vaults[0],
		pumpQuoteVault: vaults[1]} {
		copy(d[at:], k[:])
	}
	binary.LittleEndian.PutUint64(d[pumpLPSupply:], supply)
	return d
}
