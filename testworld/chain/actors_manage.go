package chain

import (
	"math/rand/v2"
	"slices"

	"github.com/mintlake/mintlake/testworld/layout"
)

// choose returns a token that ok accepts, popular ones more often, or nil. It tries a few only.
func (g *Generator) choose(r *rand.Rand, ok func(*token) bool) *token {
	for range 8 {
		i := zipf(r, len(g.tokens))
		if r.IntN(2) == 0 {
			i = r.IntN(len(g.tokens))
		}
		if t := g.tokens[i]; ok(t) {
			return t
		}
	}
	return nil
}

// planSupply mints to or burns from a holder.
func planSupply(g *Generator, r *rand.Rand) *plan {
	mint := r.IntN(2) == 0
	t := g.choose(r, func(t *token) bool {
		return t.mint != NativeMint && len(t.holders) > 0 && (!mint || t.mintAuth != nil)
	})
	if t == nil {
		return nil
	}
	w, _, have := g.holder(r, t)
	if w == nil || g.lamports(w.Key) < lamportsPerSOL {
		return nil
	}
	account := g.ata(w.Key, t)
	amount := 1 + have/uint64(50+r.IntN(1000))
	if mint {
		if supply := layout.Supply(g.st.get(t.mint).Data); supply > 1<<62 {
			return nil
		}
		if r.IntN(2) == 0 {
			return &plan{payer: t.mintAuth, ixs: append(budget(r, 20_000), ixMintToChecked(t.program, t.mint, account, t.mintAuth.Key, amount, t.decimals))}
		}
		return &plan{payer: t.mintAuth, v0: true, ixs: []Instruction{ixMintTo(t.program, t.mint, account, t.mintAuth.Key, amount)}}
	}
	if !freelyBurnt(g.st.get(t.mint).Data) {
		return nil
	}
	if r.IntN(2) == 0 {
		return &plan{payer: w, ixs: append(budget(r, 20_000), ixBurnChecked(t.program, account, t.mint, w.Key, min(amount, have), t.decimals))}
	}
	return &plan{payer: w, v0: true, ixs: []Instruction{ixBurn(t.program, account, t.mint, w.Key, min(amount, have))}}
}

// planFees collects transfer fees: from the accounts of some holders to the mint, then from the
// mint to the fee authority's account.
func planFees(g *Generator, r *rand.Rand) *plan {
	t := g.choose(r, func(t *token) bool { return t.feeAuth != nil && len(t.holders) > 0 })
	if t == nil {
		return nil
	}
	var sources []Key
	for _, h := range t.holders[:min(6, len(t.holders))] {
		if k := g.ata(g.wallets[h].Key, t); g.st.get(k) != nil {
			sources = append(sources, k)
		}
	}
	dst := g.ata(t.feeAuth.Key, t)
	if len(sources) == 0 || g.balance(dst) == 0 {
		return nil
	}
	return &plan{payer: t.feeAuth, v0: r.IntN(2) == 0, ixs: append(budget(r, 40_000), ixHarvest(t.mint, sources), ixWithdrawFees(t.mint, dst, t.feeAuth.Key))}
}

// isMajor reports whether the token is of genesis: these keep names and authorities, so that pages
// and tests can name them.
func (g *Generator) isMajor(t *token) bool { return g.majors[t.mint] != "" }

// planAuthority hands over or gives up a mint or freeze authority, or freezes and thaws a holder.
func planAuthority(g *Generator, r *rand.Rand) *plan {
	kind := r.IntN(3)
	t := g.choose(r, func(t *token) bool {
		return !g.isMajor(t) && (kind == 0 && t.mintAuth != nil || kind > 0 && t.freezeAuth != nil)
	})
	if t == nil {
		return nil
	}
	if kind == 2 {
		return g.planFreeze(r, t)
	}
	next, _ := g.wallet(r)
	var to *Key
	if r.IntN(2) == 0 {
		to = &next.Key
	} else {
		next = nil
	}
	if kind == 0 {
		return &plan{payer: t.mintAuth, ixs: []Instruction{ixSetAuthority(t.program, t.mint, t.mintAuth.Key, layout.AuthorityMint, to)},
			done: func() { t.mintAuth = next }}
	}
	return &plan{payer: t.freezeAuth, ixs: []Instruction{ixSetAuthority(t.program, t.mint, t.freezeAuth.Key, layout.AuthorityFreeze, to)},
		done: func() { t.freezeAuth = next }}
}

// frozen is an account that a freeze authority froze.
type frozen struct {
	token   *token
	account Key
}

// maxFrozen bounds the list of accounts that may be thawed again.
const maxFrozen = 1000

// planFreeze freezes a holder of t, or thaws an account frozen before.
func (g *Generator) planFreeze(r *rand.Rand, t *token) *plan {
	if len(g.frozen) > 0 && r.IntN(2) == 0 {
		i := r.IntN(len(g.frozen))
		z := g.frozen[i]
		drop := func() {
			g.frozen[i] = g.frozen[len(g.frozen)-1]
			g.frozen = g.frozen[:len(g.frozen)-1]
		}
		if z.token.freezeAuth == nil { // the authority was given up: frozen for ever
			return nil
		}
		auth := z.token.freezeAuth
		return &plan{payer: auth, ixs: []Instruction{ixFreeze(z.token.program, z.account, z.token.mint, auth.Key, false)}, done: func() {
			if i < len(g.frozen) && g.frozen[i] == z {
				drop()
			}
		}}
	}
	if len(t.holders) == 0 {
		return nil
	}
	account := g.ata(g.wallets[pick(r, t.holders)].Key, t)
	if a := g.st.get(account); a == nil || !layout.IsTokenAccount(a.Data) || a.Data[layout.AccountStateAt] != layout.StateInitialized {
		return nil
	}
	return &plan{payer: t.freezeAuth, ixs: []Instruction{ixFreeze(t.program, account, t.mint, t.freezeAuth.Key, true)}, done: func() {
		if len(g.frozen) < maxFrozen {
			g.frozen = append(g.frozen, frozen{t, account})
		}
	}}
}

// planMetadataUpdate renames a token, moves its URI, adds a field, hands over the update authority
// or makes the metadata immutable.
func planMetadataUpdate(g *Generator, r *rand.Rand) *plan {
	t := g.choose(r, func(t *token) bool { return t.updateAuth != nil && !g.isMajor(t) })
	if t == nil {
		return nil
	}
	name, symbol := t.name, t.symbol
	if r.IntN(4) == 0 {
		name, symbol = inventName(r)
	}
	uri := g.metadataURI(r, t.mint, t.revision+1, true)
	done := func() { t.name, t.symbol, t.uri, t.revision = name, symbol, uri, t.revision+1 }
	if t.program == Token2022Program {
		return g.planUpdateField(r, t, name, symbol, uri, done)
	}
	if t.metadata.IsZero() || g.st.get(t.metadata) == nil || g.st.get(t.metadata).Data[layout.MetaplexMutableAt] == 0 {
		return nil
	}
	if r.IntN(6) == 0 {
		next, _ := g.wallet(r)
		return &plan{payer: t.updateAuth, ixs: []Instruction{UpdateMetaplex(t.metadata, t.updateAuth.Key, nil, &next.Key, r.IntN(3) == 0)},
			done: func() { t.updateAuth = next }}
	}
	d := &layout.MetaplexData{Name: name, Symbol: symbol, URI: uri}
	return &plan{payer: t.updateAuth, v0: r.IntN(2) == 0, ixs: append(budget(r, 40_000), UpdateMetaplex(t.metadata, t.updateAuth.Key, d, nil, false)), done: done}
}

// planUpdateField changes the TokenMetadata extension. If the account grows, the payer first adds
// the rent for that.
func (g *Generator) planUpdateField(r *rand.Rand, t *token, name, symbol, uri string, done func()) *plan {
	a := g.st.get(t.mint)
	at, n := layout.Extension(a.Data, layout.ExtTokenMetadata)
	if at < 0 {
		return nil
	}
	m, ok := layout.ReadTokenMetadata(a.Data[at : at+n])
	if !ok || m.UpdateAuthority != t.updateAuth.Key {
		return nil
	}
	type edit struct {
		field      byte
		key, value string
	}
	edits := []edit{{FieldURI, "", uri}}
	if name != t.name {
		edits = append(edits, edit{FieldName, "", name}, edit{FieldSymbol, "", symbol})
	}
	if r.IntN(3) == 0 {
		edits = append(edits, edit{FieldKey, pick(r, []string{"website", "twitter", "telegram"}), "https://" + letters(r, 8) + ".mintlake.invalid"})
	}
	ixs := budget(r, 60_000)
	for _, e := range edits {
		setField(m, e.field, e.key, e.value)
	}
	if need := RentExempt(at + len(m.Bytes())); need > a.Lamports {
		ixs = append(ixs, ixTransferSOL(t.updateAuth.Key, t.mint, need-a.Lamports))
	}
	for _, e := range edits {
		ixs = append(ixs, UpdateField(t.mint, t.updateAuth.Key, e.field, e.key, e.value))
	}
	return &plan{payer: t.updateAuth, ixs: ixs, v0: r.IntN(2) == 0, done: done}
}

// planOddity makes transactions that indexers seldom meet: allowances, lamports taken out of a
// mint, wrapped SOL paid out of an account that stays open.
func planOddity(g *Generator, r *rand.Rand) *plan {
	switch r.IntN(3) {
	case 0:
		t := g.tokens[zipf(r, len(g.tokens))]
		w, _, have := g.holder(r, t)
		to, _ := g.wallet(r)
		if w == nil || to == w {
			return nil
		}
		src := g.ata(w.Key, t)
		p := &plan{payer: w, ixs: []Instruction{ixApprove(t.program, src, to.Key, w.Key, have)}}
		if r.IntN(2) == 0 {
			p.ixs = append(p.ixs, ixRevoke(t.program, src, w.Key))
		} else {
			g.spend(p, t, src, to, have)
		}
		return p
	case 1:
		t := g.choose(r, func(t *token) bool { return t.mintAuth != nil && t.program == TokenProgram })
		if t == nil || g.lamports(t.mintAuth.Key) < lamportsPerSOL {
			return nil
		}
		k := t.mintAuth.Key
		return &plan{payer: t.mintAuth, v0: r.IntN(2) == 0, ixs: []Instruction{ixTransferSOL(k, t.mint, 1_000_000), ixWithdrawExcess(t.program, t.mint, k, k)}}
	default:
		w, _ := g.wallet(r)
		src := g.ata(w.Key, g.tokens[0])
		have := g.balance(src)
		if have < lamportsPerSOL {
			return nil
		}
		amount := have / 100
		ixs := []Instruction{ixUnwrap(src, w.Key, w.Key, &amount)}
		if r.IntN(4) == 0 {
			// Pay out the rest too, and put it back.
			ixs = append(ixs, ixUnwrap(src, w.Key, w.Key, nil), ixTransferSOL(w.Key, src, have-amount), ixSyncNative(src))
		}
		return &plan{payer: w, ixs: ixs}
	}
}

// spend lets a delegate spend of what it was approved: all, half, or nothing. It draws nothing from
// the generator's randomness.
func (g *Generator) spend(p *plan, t *token, src Key, delegate *Signer, approved uint64) {
	amount := []uint64{approved, approved / 2, 0}[approved%3]
	at := slices.IndexFunc(t.holders, func(h uint32) bool {
		k := g.ata(g.wallets[h].Key, t)
		a := g.st.get(k)
		return k != src && a != nil && layout.IsTokenAccount(a.Data) && a.Data[layout.AccountStateAt] == layout.StateInitialized
	})
	if at < 0 || amount == 0 {
		return
	}
	dst := g.ata(g.wallets[t.holders[at]].Key, t)
	p.ixs = append(p.ixs, ixTransferChecked(t.program, src, t.mint, dst, delegate.Key, amount, t.decimals))
	p.signers = append(p.signers, delegate)
}

// planFailure makes transactions that fail: their events must count nowhere.
func planFailure(g *Generator, r *rand.Rand) *plan {
	w, _ := g.wallet(r)
	switch r.IntN(5) {
	case 0:
		to, _ := g.wallet(r)
		return &plan{payer: w, ixs: []Instruction{ixTransferSOL(w.Key, to.Key, g.lamports(w.Key)+lamportsPerSOL)}}
	case 1: // a mint by somebody who may not
		t := g.choose(r, func(t *token) bool { return len(t.holders) > 0 && t.mint != NativeMint && t.mintAuth != w })
		if t == nil {
			return nil
		}
		dst := g.ata(g.wallets[t.holders[0]].Key, t)
		return &plan{payer: w, ixs: []Instruction{ixMintTo(t.program, t.mint, dst, w.Key, 1_000_000_000)}}
	case 2: // a creation that fails at its last instruction, after everything else succeeded
		p := g.planCreation(r)
		if p == nil {
			return nil
		}
		to, _ := g.wallet(r)
		p.ixs = append(p.ixs, ixTransferSOL(p.payer.Key, to.Key, g.lamports(p.payer.Key)))
		return p
	case 3: // more tokens than there are
		t := g.tokens[zipf(r, len(g.tokens))]
		from, _, have := g.holder(r, t)
		if from == nil {
			return nil
		}
		dst := g.ata(g.wallets[t.holders[0]].Key, t)
		return &plan{payer: from, v0: true, ixs: []Instruction{ixTransferChecked(t.program, g.ata(from.Key, t), t.mint, dst, from.Key, have+1, t.decimals)}}
	default:
		return g.swap(r, true)
	}
}
