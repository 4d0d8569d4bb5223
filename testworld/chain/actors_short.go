package chain

import (
	"math/rand/v2"
	"slices"
)

// maxShortLived is how many short-lived pools are ever made: the accounts of a drained one stay,
// at most 30 KiB each.
const maxShortLived = 2_000

// planShortLived makes a pool of a plain token and wrapped SOL, on PumpSwap, Whirlpool and DLMM in
// turn, or drains such a pool. Its price is that of the token's other pool.
func planShortLived(g *Generator, r *rand.Rand) *plan {
	if n := len(g.shortLived); n > 3 && r.IntN(2) == 0 || g.shortLivedMade >= maxShortLived {
		if n == 0 {
			return nil
		}
		return g.planDrain(g.shortLived[r.IntN(n)])
	}
	sol := g.tokens[0]
	t := g.choose(r, func(t *token) bool {
		return t.program == TokenProgram && len(t.holders) > 0 && t.pool != nil && t.pool.tokens[t.pool.quote] == sol && t != sol && t.mint != USDCMint
	})
	if t == nil {
		return nil
	}
	w, _, have := g.holder(r, t)
	if w == nil || have < 1_000_000 || g.lamports(w.Key) < 5*lamportsPerSOL {
		return nil
	}
	funds := g.balance(g.ata(w.Key, sol))
	if funds < 20*lamportsPerSOL {
		return nil
	}
	res := g.reserves(t.pool)
	price := float64(res[t.pool.quote]) / float64(res[1-t.pool.quote])
	base := min(float64(have/4), float64(funds/20)/price)
	amounts := [2]uint64{uint64(base), uint64(base * price)}
	if isqrt(amounts[0], amounts[1]) < 1_000_000 {
		return nil
	}
	switch g.shortLivedMade % 3 {
	case 0:
		return g.bornPumpSwap(r, w, t, amounts)
	case 1:
		return g.bornWhirlpool(w, t, amounts)
	default:
		return g.bornDLMM(w, t, amounts)
	}
}

// bornPumpSwap plans a PumpSwap pool of a token and wrapped SOL.
func (g *Generator) bornPumpSwap(r *rand.Rand, w *Signer, t *token, amounts [2]uint64) *plan {
	sol := g.tokens[0]
	p := g.pumpPoolOf(t, w.Key)
	if p.creator = w; g.st.get(p.key) != nil {
		return nil
	}
	ix := ixPumpCreate(w.Key, p, [2]Key{g.ata(w.Key, t), g.ata(w.Key, sol)}, AssociatedAddress(w.Key, p.lp, Token2022Program), amounts)
	return &plan{payer: w, ixs: append(budget(r, 250_000), ix), v0: true, done: func() { g.born(p, amounts) }}
}

// born adds a short-lived pool that was made. amounts, by side, are its price.
func (g *Generator) born(p *pool, amounts [2]uint64) {
	p.setTarget(amounts)
	g.pools = append(g.pools, p)
	g.shortLived = append(g.shortLived, p)
	g.shortLivedMade++
}

// planDrain takes all liquidity of its creator out of a short-lived pool.
func (g *Generator) planDrain(p *pool) *plan {
	w := p.creator
	accounts := [2]Key{g.ata(w.Key, p.tokens[0]), g.ata(w.Key, p.tokens[1])}
	if g.st.get(accounts[0]) == nil || g.st.get(accounts[1]) == nil {
		return nil
	}
	var ixs []Instruction
	switch p.dex.(type) {
	case whirlDex:
		ixs = g.drainWhirlpool(p)
	case dlmmDex:
		ixs = g.drainDLMM(p)
	default:
		lp := AssociatedAddress(w.Key, p.lp, Token2022Program)
		if amount := g.balance(lp); amount > 0 {
			ixs = []Instruction{ixPumpWithdraw(w.Key, p, accounts, lp, amount)}
		}
	}
	if ixs == nil {
		return nil
	}
	return &plan{payer: w, v0: true, ixs: ixs, done: func() {
		gone := func(q *pool) bool { return q == p }
		g.pools = slices.DeleteFunc(g.pools, gone)
		g.shortLived = slices.DeleteFunc(g.shortLived, gone)
	}}
}
