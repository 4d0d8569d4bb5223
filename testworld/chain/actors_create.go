package chain

import (
	"math/rand/v2"

	"github.com/mintlake/mintlake/testworld/layout"
)

// planCreation makes a new mint in one of three ways: SPL with Metaplex, Token-2022 with its own
// metadata, or through the launcher.
func (g *Generator) planCreation(r *rand.Rand) *plan {
	if len(g.tokens) >= g.cfg.MaxTokens {
		return nil
	}
	creator, idx := g.wallet(r)
	if g.lamports(creator.Key) < 5*lamportsPerSOL {
		return nil
	}
	g.launched++
	mint := deriveSigner(g.cfg.Seed, "mint", g.launched)
	t := &token{mint: mint.Key, program: TokenProgram, decimals: pick(r, []uint8{6, 6, 6, 9, 9, 8, 5, 2, 0})}
	t.name, t.symbol = inventName(r)
	t.uri = g.metadataURI(r, mint.Key, 0, false)
	switch p := r.IntN(10); {
	case p < 5:
		return g.createSPL(r, t, mint, creator, idx)
	case p < 7:
		return g.createToken2022(r, t, mint, creator, idx)
	default:
		return g.createLaunch(r, t, mint, creator)
	}
}

// adopt adds a created token to g.tokens at a rank. Tokens are traded the more, the lower their
// rank is; the token that was there goes to the end.
func (g *Generator) adopt(t *token, rank int) {
	g.tokens = append(g.tokens, t)
	last := len(g.tokens) - 1
	if rank < last {
		g.tokens[rank], g.tokens[last] = g.tokens[last], g.tokens[rank]
	}
}

// rank returns the rank of a new token: mostly the last, one in twenty any. SOL and USDC keep
// theirs.
func (g *Generator) rank(r *rand.Rand) int {
	if r.IntN(20) == 0 {
		return 2 + r.IntN(len(g.tokens))
	}
	return len(g.tokens)
}

// createSPL plans a new SPL token, in varying forms: with and without metadata, a freeze authority,
// or a mint authority that stays.
func (g *Generator) createSPL(r *rand.Rand, t *token, mint, creator *Signer, wallet uint32) *plan {
	var freeze *Key
	if r.IntN(3) == 0 {
		freeze, t.freezeAuth = &creator.Key, creator
	}
	t.mintAuth, t.updateAuth, t.metadata = creator, creator, g.x.derived.metadata(mint.Key)
	ata := g.ata(creator.Key, t)
	supply := (1_000 + r.Uint64N(1_000_000_000)) * pow10(t.decimals)
	ixs := append(budget(r, 120_000), CreateAccount(creator.Key, mint.Key, RentExempt(layout.MintSize), layout.MintSize, TokenProgram))
	if r.IntN(6) == 0 {
		ixs = append(ixs, ixInitMintOld(mint.Key, t.decimals, creator.Key, freeze))
	} else {
		ixs = append(ixs, InitializeMint(TokenProgram, mint.Key, t.decimals, creator.Key, freeze))
	}
	bare := r.IntN(20) == 0 // a mint without metadata
	if bare {
		t.metadata = Key{}
	} else {
		d := layout.MetaplexData{Name: t.name, Symbol: t.symbol, URI: t.uri, Fee: pick(r, []uint16{0, 0, 0, 100, 500})}
		ixs = append(ixs, CreateMetaplex(t.metadata, mint.Key, creator.Key, creator.Key, creator.Key, d, r.IntN(8) > 0))
	}
	ixs = append(ixs, ixCreateATA(creator.Key, ata, creator.Key, mint.Key, TokenProgram, r.IntN(2) == 0))
	if r.IntN(3) == 0 {
		ixs = append(ixs, ixMintToChecked(TokenProgram, mint.Key, ata, creator.Key, supply, t.decimals))
	} else {
		ixs = append(ixs, ixMintTo(TokenProgram, mint.Key, ata, creator.Key, supply))
	}
	if r.IntN(3) == 0 {
		ixs = append(ixs, ixSetAuthority(TokenProgram, mint.Key, creator.Key, layout.AuthorityMint, nil))
		t.mintAuth = nil
	}
	rank := g.rank(r)
	return &plan{payer: creator, ixs: ixs, signers: []*Signer{mint}, v0: r.IntN(2) == 0, done: func() {
		t.hold(wallet)
		g.adopt(t, rank)
	}}
}

// createToken2022 plans a new Token-2022 token. It keeps the order that the program demands: the
// pointer and other extensions, the mint, then the metadata. The account is created without room
// for the metadata, but with the rent for it.
func (g *Generator) createToken2022(r *rand.Rand, t *token, mint, creator *Signer, wallet uint32) *plan {
	t.program, t.mintAuth, t.updateAuth = Token2022Program, creator, creator
	if r.IntN(4) == 0 {
		t.freezeAuth = creator
	}
	size := layout.ExtensionsAt + 4 + 64
	ixs := []Instruction{InitializePointer(mint.Key, creator.Key, mint.Key)}
	var p *power
	switch r.IntN(6) {
	case 0:
		t.feeBPS, t.feeAuth = pick(r, []uint16{50, 100, 500, 1000}), creator
		size += 4 + layout.FeeConfigSize
		ixs = append(ixs, ixFeeConfig(mint.Key, creator.Key, t.feeBPS, pick(r, []uint64{1 << 60, 5_000 * pow10(t.decimals)})))
	case 1:
		size += 4 + 32
		t.unpoolable = true
		ixs = append(ixs, ixMintClose(mint.Key, creator.Key))
	default:
		if p = g.nextPower(); p != nil {
			t.unpoolable, t.still = p.unpoolable, p.still
			size += p.size()
			ixs = append(ixs, p.initialize(mint.Key, creator.Key))
		}
	}
	if p != nil && p.kind == layout.ExtDefaultState { // somebody must be able to thaw
		t.freezeAuth = creator
	}
	var freeze *Key
	if t.freezeAuth != nil {
		freeze = &creator.Key
	}
	meta := layout.TokenMetadata{Mint: mint.Key, Name: t.name, Symbol: t.symbol, URI: t.uri}
	ata := g.ata(creator.Key, t)
	supply := (1_000 + r.Uint64N(1_000_000_000)) * pow10(t.decimals)
	head := append(budget(r, 120_000), CreateAccount(creator.Key, mint.Key, RentExempt(size+4+len(meta.Bytes())), size, Token2022Program))
	ixs = append(append(head, ixs...),
		InitializeMint(Token2022Program, mint.Key, t.decimals, creator.Key, freeze),
		InitializeMetadata(mint.Key, creator.Key, creator.Key, t.name, t.symbol, t.uri),
		ixCreateATA(creator.Key, ata, creator.Key, mint.Key, Token2022Program, true))
	ixs = append(ixs, g.powerFollows(p, mint.Key, creator.Key, ata)...)
	ixs = append(ixs, ixMintTo(Token2022Program, mint.Key, ata, creator.Key, supply))
	if r.IntN(4) == 0 {
		ixs = append(ixs, ixSetAuthority(Token2022Program, mint.Key, creator.Key, layout.AuthorityMint, nil))
		t.mintAuth = nil
	}
	rank := g.rank(r)
	return &plan{payer: creator, ixs: ixs, signers: []*Signer{mint}, v0: true, done: func() {
		t.hold(wallet)
		g.adopt(t, rank)
	}}
}

// nextPower returns the power of every second mint that may have one, in turn; nil for the others.
func (g *Generator) nextPower() *power {
	n := g.powered
	g.powered++
	if n%2 > 0 {
		return nil
	}
	return &powers[n/2%len(powers)]
}

// powerFollows are the instructions of a creation that a power makes necessary, or shows: a thaw of
// what begins frozen, a multiplier that will hold in a day.
func (g *Generator) powerFollows(p *power, mint, creator, ata Key) []Instruction {
	switch {
	case p == nil:
	case p.kind == layout.ExtDefaultState:
		return []Instruction{ixFreeze(Token2022Program, ata, mint, creator, false)}
	case p.kind == layout.ExtScaledAmount:
		return []Instruction{ixMultiplier(mint, creator, 1.5, g.x.now+24*60*60)}
	}
	return nil
}

// createLaunch creates the mint inside a launcher's instruction; the curve holds all of it.
func (g *Generator) createLaunch(r *rand.Rand, t *token, mint, creator *Signer) *plan {
	t.decimals, t.updateAuth, t.curve = launchDecimals, creator, true
	if r.IntN(2) == 0 {
		t.program = Token2022Program
	} else {
		t.metadata = g.x.derived.metadata(mint.Key)
	}
	ixs := append(budget(r, 200_000), ixLaunch(t, creator.Key))
	rank := g.rank(r)
	return &plan{payer: creator, ixs: ixs, signers: []*Signer{mint}, v0: r.IntN(3) > 0, done: func() { g.adopt(t, rank) }}
}

// planGraduation takes a launched SPL token from its curve to a PumpSwap pool, where it is traded.
func planGraduation(g *Generator, r *rand.Rand) *plan {
	t := g.choose(r, func(t *token) bool { return t.curve && t.program == TokenProgram })
	user, _ := g.wallet(r)
	if t == nil || len(g.pools) >= maxPools || g.lamports(user.Key) < 2*graduationSOL {
		return nil
	}
	p := g.pumpPoolOf(t, graduationAuthority(t.mint))
	rank := 3 + r.IntN(len(g.pools))
	return &plan{payer: user, v0: true, ixs: append(budget(r, 400_000), ixGraduate(user.Key, p)), done: func() {
		if !t.curve {
			return // by another transaction, before this one was included again
		}
		t.curve, t.pool = false, p
		p.setTarget([2]uint64{graduationTokens, graduationSOL})
		g.pools = append(g.pools, p)
		if last := len(g.pools) - 1; rank < last {
			g.pools[rank], g.pools[last] = g.pools[last], g.pools[rank]
		}
	}}
}
