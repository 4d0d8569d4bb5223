package chain

import (
	"encoding/binary"

	"github.com/mintlake/mintlake/testworld/layout"
)

// dex is what the generator knows of a program that swaps: enough to trade on its pools.
type dex interface {
	// reserves returns the amounts that make the price, by side.
	reserves(g *Generator, p *pool) [2]uint64
	// exactIn returns what the user gets for paying amount of side in. exactOut returns what he
	// pays of side in to get amount; 0 if the program has no such instruction, or the pool not so
	// much.
	exactIn(g *Generator, p *pool, in int, amount uint64) uint64
	exactOut(g *Generator, p *pool, in int, amount uint64) uint64
	// swap returns the instruction. With base, first is the exact amount in and second the least
	// out. Without, first is the most in and second the exact amount out.
	swap(g *Generator, user Key, p *pool, in int, accounts [2]Key, first, second uint64, base bool) Instruction
}

type cpmmDex struct{}

func (cpmmDex) reserves(g *Generator, p *pool) (out [2]uint64) {
	d := g.st.get(p.key).Data
	for i := range out {
		out[i] = poolSide{i == 0}.reserve(d, g.st.get(p.vaults[i]).Data)
	}
	return out
}

func (cpmmDex) exactIn(g *Generator, p *pool, in int, amount uint64) uint64 {
	res := g.reserves(p)
	_, received := g.x.quoteInput(amount, res[in], res[1-in], g.tradeRate(p), g.mintData(p, in), g.mintData(p, 1-in))
	return received
}

func (cpmmDex) exactOut(g *Generator, p *pool, in int, amount uint64) uint64 {
	res := g.reserves(p)
	return g.x.quoteOutput(amount, res[in], res[1-in], g.tradeRate(p), g.mintData(p, in), g.mintData(p, 1-in)).pays
}

func (cpmmDex) swap(_ *Generator, user Key, p *pool, in int, accounts [2]Key, first, second uint64, base bool) Instruction {
	return ixSwap(user, p, in == 0, accounts[in], accounts[1-in], first, second, base)
}

func (g *Generator) tradeRate(p *pool) uint64 {
	return binary.LittleEndian.Uint64(g.st.get(p.config).Data[layout.ConfigTradeRate:])
}

func (g *Generator) mintData(p *pool, side int) []byte { return g.st.get(p.tokens[side].mint).Data }

// balances returns what a pool's vaults hold, by side.
func (g *Generator) balances(p *pool) (out [2]uint64) {
	for i := range out {
		out[i] = layout.Amount(g.st.get(p.vaults[i]).Data)
	}
	return out
}

// keyAt reads an address from an account's data.
func keyAt(d []byte, at int) Key { return Key(d[at : at+32]) }

// swapTransfer moves tokens as AMM v4 and PumpSwap do. The chain's pools there have no mints with a
// transfer fee, so Transfer will do for TransferChecked.
func swapTransfer(x *machine, f *frame, program Key, from, to, authority ref, amount uint64) error {
	return x.call(f, program, []ref{{idx: from.idx, writable: true}, {idx: to.idx, writable: true}, {idx: authority.idx, signer: authority.signer}},
		layout.Transfer(amount))
}

// holds returns whether an account is a token account of the mint.
func (x *machine) holds(r ref, mint Key) bool {
	a := x.acc(r)
	return IsTokenAccount(a) && layout.MintOf(a.Data) == mint
}

// genesisVenue adds a pool of a program other than CPMM at genesis. encode makes its account's
// data; amounts, by side, go into the vaults. The vaults belong to authority, or to the pool if
// authority is zero.
func (g *Generator) genesisVenue(d dex, program, authority Key, base, quote *token, amounts [2]uint64, encode func(p *pool) []byte) {
	p := &pool{dex: d, tokens: [2]*token{base, quote}, quote: 1}
	p.key, _ = pda(program, []byte("pool"), base.mint[:], quote.mint[:])
	for i, t := range p.tokens {
		p.vaults[i], _ = pda(program, []byte("vault"), p.key[:], t.mint[:])
		owner := authority
		if authority.IsZero() {
			owner = p.key
		}
		g.place(p.vaults[i], g.tokenAccount(t, owner, amounts[i]))
	}
	data := encode(p)
	g.place(p.key, &Account{Lamports: RentExempt(len(data)), Owner: program, Data: data})
	p.setTarget(amounts)
	g.pools = append(g.pools, p)
}

// genesisVenues gives each major a second pool and one of concentrated liquidity, and wrapped SOL
// with USDC one on each venue.
func (g *Generator) genesisVenues() {
	sol, usdc := g.tokens[0], g.tokens[1]
	g.genesisPumpSwap()
	g.whirlTable = g.placeTable(&Table{Key: deriveSigner(g.cfg.Seed, "whirlpool table", 0).Key, Addresses: whirlTableKeys()})
	const depth = 50_000
	both := [2]uint64{depth * lamportsPerSOL, depth * 150_000_000}
	g.genesisAMMv4(sol, usdc, both)
	g.genesisDAMMv2(sol, usdc, both)
	g.genesisCLMM(sol, usdc, both)
	g.genesisWhirlpool(sol, usdc, both)
	g.genesisDLMM(sol, usdc, both)
	for i, t := range g.tokens[2:] {
		res := g.reserves(t.pool)
		amounts := [2]uint64{res[1-t.pool.quote] / 3, res[t.pool.quote] / 3}
		quote := t.pool.tokens[t.pool.quote]
		switch i % 3 {
		case 0:
			g.genesisAMMv4(t, quote, amounts)
			g.genesisWhirlpool(t, quote, amounts)
		case 1:
			g.genesisPumpSwapPool(t, quote, amounts)
			g.genesisDLMM(t, quote, amounts)
		default:
			g.genesisDAMMv2(t, quote, amounts)
			g.genesisCLMM(t, quote, amounts)
		}
	}
}
