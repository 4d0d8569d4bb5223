package chain

import (
	"math"
	"math/rand/v2"
)

func planSwap(g *Generator, r *rand.Rand) *plan { return g.swap(r, false) }

// reserves returns the amounts that make the pool's price, by side.
func (g *Generator) reserves(p *pool) [2]uint64 { return p.dex.reserves(g, p) }

// swap plans a trade on a pool picked by a Zipf law. Prices revert to the pool's slowly moving
// target, so that no pool runs dry. A greedy trade demands a better price than the pool gives, and
// fails.
func (g *Generator) swap(r *rand.Rand, greedy bool) *plan {
	if len(g.pools) == 0 {
		return nil
	}
	p := g.pools[zipf(r, len(g.pools))]
	if g.x.now < p.open {
		return nil
	}
	res := g.reserves(p)
	side := p.quote
	p.target *= math.Exp(r.NormFloat64() * 0.0008)
	price := float64(res[side]) / float64(res[1-side])
	buy := r.Float64() < 0.5+0.45*math.Tanh(8*math.Log(p.target/price))
	in := 1 - side
	if buy {
		in = side
	}
	user, wrap, have := g.trader(r, p.tokens[in], p.tokens[1-in])
	if user == nil {
		return nil
	}
	share := math.Exp(-8.5 + 1.4*r.NormFloat64())
	if g.inPast(g.x.slot) {
		share *= pastTrade
	}
	amount := uint64(float64(res[in]) * share)
	amount = min(amount, have/2, res[in]/20)
	if amount < 2 {
		return nil
	}
	out := p.dex.exactIn(g, p, in, amount)
	if out < 2 {
		return nil
	}
	if r.IntN(10) == 0 { // exact output
		pays := p.dex.exactOut(g, p, in, out/2+1)
		most := pays + pays/100
		if greedy {
			most = pays - pays/50 - 1
		}
		if most > have || pays < 2 {
			return nil
		}
		return g.swapPlan(r, p, in, user, wrap, most, out/2+1, false)
	}
	minOut := out - out/100
	if greedy {
		minOut = out + out/50 + 1
	}
	return g.swapPlan(r, p, in, user, wrap, amount, minOut, true)
}

// trader finds a wallet that owns the input, and how much. wrap is set if it holds SOL only
// unwrapped.
func (g *Generator) trader(r *rand.Rand, in, out *token) (w *Signer, wrap bool, have uint64) {
	if in.mint != NativeMint && in.mint != USDCMint {
		w, _, have = g.holder(r, in)
	} else {
		var i uint32
		w, i = g.wallet(r)
		if out.mint != NativeMint && out.mint != USDCMint && !out.hold(i) {
			i = pick(r, out.holders)
			w = g.wallets[i]
		}
		if in.mint == NativeMint && keepsUnwrapped(i) {
			have = g.lamports(w.Key) / 4
		} else {
			have = g.balance(g.ata(w.Key, in))
		}
	}
	if w == nil || g.lamports(w.Key) < lamportsPerSOL {
		return nil, false, 0
	}
	wrap = g.st.get(g.x.derived.associated(w.Key, NativeMint, TokenProgram)) == nil
	return w, wrap, have
}

// swapPlan makes the transaction of a swap: it opens the user's token accounts and wraps and
// unwraps SOL as needed.
func (g *Generator) swapPlan(r *rand.Rand, p *pool, in int, user *Signer, wrap bool, first, second uint64, base bool) *plan {
	ixs := budget(r, 140_000)
	var accounts [2]Key
	unwrap := false
	for i, t := range p.tokens {
		ixs, accounts[i] = g.openATA(ixs, user.Key, user.Key, t)
		if t.mint == NativeMint && wrap {
			unwrap = true
			if i == in {
				ixs = append(ixs, ixTransferSOL(user.Key, accounts[i], first), ixSyncNative(accounts[i]))
			}
		}
	}
	trade := p.dex.swap(g, user.Key, p, in, accounts, first, second, base)
	if r.IntN(4) == 0 {
		trade = ixRoute(user.Key, hop{trade, accounts[in], accounts[1-in]})
	}
	ixs = append(ixs, trade)
	if unwrap {
		ixs = append(ixs, ixCloseAccount(TokenProgram, g.x.derived.associated(user.Key, NativeMint, TokenProgram), user.Key, user.Key))
	}
	out := &plan{payer: user, ixs: ixs, v0: r.IntN(10) < 6}
	if out.v0 && p.table != nil && r.IntN(3) > 0 {
		out.tables = []*Table{p.table}
	}
	return out
}

// maxPools ends pool creation, which bounds memory: a pool has about 6 KiB of accounts.
const maxPools = 20_000

// planPool makes a CPMM pool for a token that has none, from what a holder with wrapped SOL or USDC
// owns. One time in four it plans a short-lived pool instead.
func planPool(g *Generator, r *rand.Rand) *plan {
	if len(g.pools) >= maxPools {
		return nil
	}
	if r.IntN(4) == 0 {
		return planShortLived(g, r)
	}
	t := g.choose(r, func(t *token) bool {
		return t.pool == nil && !t.unpoolable && len(t.holders) > 0 && t.mint != NativeMint && t.mint != USDCMint
	})
	if t == nil {
		return nil
	}
	w, _, have := g.holder(r, t)
	if w == nil || have < 1000 || g.lamports(w.Key) < 5*lamportsPerSOL {
		return nil
	}
	quote, funds := g.tokens[0], uint64(0)
	if r.IntN(5) > 0 {
		funds = g.balance(g.ata(w.Key, quote))
	}
	if funds < 20*lamportsPerSOL {
		quote = g.tokens[1]
		funds = g.balance(g.ata(w.Key, quote))
	}
	if funds < 1000*pow10(quote.decimals) && quote.mint == USDCMint {
		return nil
	}
	p := g.newPool(t, quote)
	amounts := [2]uint64{have/2 + have/uint64(4+r.IntN(4)), funds / uint64(2+r.IntN(30))}
	if p.tokens[0] != t {
		amounts[0], amounts[1] = amounts[1], amounts[0]
	}
	if isqrt(amounts[0], amounts[1]) < 1000 {
		return nil
	}
	g.x.derived.pools[p.key] = true
	accounts := [2]Key{g.ata(w.Key, p.tokens[0]), g.ata(w.Key, p.tokens[1])}
	lp := g.x.derived.associated(w.Key, p.lp, TokenProgram)
	rank := 0
	if r.IntN(3) == 0 {
		rank = 3 + r.IntN(len(g.pools))
	}
	return &plan{payer: w, ixs: append(budget(r, 300_000), ixCreatePool(w.Key, p, accounts, lp, amounts)), v0: r.IntN(2) == 0, done: func() {
		if t.pool != nil {
			return
		}
		t.pool, p.open = p, g.x.now+1
		p.setTarget(amounts)
		g.pools = append(g.pools, p)
		if last := len(g.pools) - 1; rank > 0 && rank < last {
			g.pools[rank], g.pools[last] = g.pools[last], g.pools[rank]
		}
	}}
}
