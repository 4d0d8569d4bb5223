package chain

import (
	"fmt"
	"math/rand/v2"

	"github.com/mintlake/mintlake/testworld/layout"
)

// token is what the generator knows of a mint.
type token struct {
	mint, program Key
	decimals      uint8
	metadata      Key // Metaplex account; zero for Token-2022
	name, symbol  string
	uri           string
	mintAuth      *Signer
	freezeAuth    *Signer
	updateAuth    *Signer
	holders       []uint32 // wallets that may hold some
	pool          *pool
	revision      int
	feeBPS        uint16  // Token-2022 transfer fee
	feeAuth       *Signer // who collects it
	unpoolable    bool    // has an extension that pools refuse
	still         bool    // its creator keeps it, as it cannot be moved
	curve         bool    // all of it is on the launchpad's curve
}

type pool struct {
	dex                      dex
	key, config, observation Key
	lp                       Key
	open                     int64 // Unix time from which swaps are accepted
	vaults                   [2]Key
	tokens                   [2]*token
	quote                    int     // which side is SOL or USDC
	target                   float64 // quote per base that trades revert to
	table                    *Table
	creator                  *Signer // who may drain it; nil for a pool that stays
}

type validator struct{ identity, vote *Signer }

// validators is how many a chain has.
const validators = 21

func deriveValidator(seed, i uint64) *validator {
	return &validator{identity: deriveSigner(seed, "identity", i), vote: deriveSigner(seed, "vote", i)}
}

// Validator is a validator of a chain: the address that it produces blocks with, and its vote
// account.
type Validator struct{ Identity, Vote Key }

// Validators lists the validators of the chain with that seed.
func Validators(seed uint64) (out []Validator) {
	for i := range uint64(validators) {
		v := deriveValidator(seed, i)
		out = append(out, Validator{v.identity.Key, v.vote.Key})
	}
	return out
}

const (
	lamportsPerSOL = 1_000_000_000
	maxHolders     = 32
)

// buildGenesis makes the programs, the wallets, wrapped SOL, USDC, the majors and their pools.
func (g *Generator) buildGenesis() {
	r := rand.New(rand.NewPCG(g.cfg.Seed, 0x67656e65736973)) //nolint:gosec // reproducible by design
	g.genesisPrograms()
	g.treasury = deriveSigner(g.cfg.Seed, "treasury", 0)
	g.place(g.treasury.Key, &Account{Lamports: 400_000_000 * lamportsPerSOL})
	for i := range uint64(validators) {
		v := deriveValidator(g.cfg.Seed, i)
		g.validators = append(g.validators, v)
		g.place(v.identity.Key, &Account{Lamports: 5_000 * lamportsPerSOL})
		g.place(v.vote.Key, &Account{Lamports: RentExempt(3762), Owner: VoteProgram, Data: make([]byte, 3762)})
	}
	for i := range uint64(g.cfg.Wallets) {
		w := deriveSigner(g.cfg.Seed, "wallet", i)
		g.wallets = append(g.wallets, w)
		g.place(w.Key, &Account{Lamports: (2_000 + r.Uint64N(50_000)) * lamportsPerSOL})
	}
	sol := g.genesisToken(r, NativeMint, TokenProgram, 9, "Wrapped SOL", "SOL", 0)
	usdc := g.genesisToken(r, USDCMint, TokenProgram, 6, "USD Coin", "USDC", 20)
	g.genesisFunds(r, sol, usdc)
	g.place(cpmmConfigKey(), &Account{Lamports: RentExempt(layout.CPMMConfigSize), Owner: CPMMProgram, Data: cpmmConfigData()})
	g.genesisPool(sol, usdc, 200_000*lamportsPerSOL, 200_000*150*1_000_000)
	for i, m := range majors {
		g.genesisMajor(r, i, m, sol, usdc)
	}
	g.genesisVenues()
	g.majors = make(map[Key]string, len(g.tokens))
	for _, t := range g.tokens {
		g.majors[t.mint] = t.symbol
		g.listed = append(g.listed, Listed{t.mint, t.name, t.symbol, t.decimals})
	}
	g.place(cpmmCreatePoolFeeDest, g.tokenAccount(sol, CPMMAuthority, 1000*lamportsPerSOL))
}

// place puts an account into the state before the first block.
func (g *Generator) place(k Key, a *Account) {
	g.st.set(k, a)
	g.genesis = append(g.genesis, Write{Key: k, Account: a})
}

func (g *Generator) genesisPrograms() {
	for _, k := range []Key{SystemProgram, ComputeBudgetProgram, VoteProgram, LookupTableProgram} {
		g.place(k, &Account{Lamports: 1, Owner: NativeLoader, Executable: true, Data: []byte("demo")})
	}
	for _, k := range []Key{TokenProgram, Token2022Program, AssociatedProgram, MetaplexProgram, MemoProgram, LauncherProgram, CPMMProgram, AMMv4Program,
		PumpSwapProgram, PumpFeeProgram, DAMMv2Program, CLMMProgram, WhirlpoolProgram, DLMMProgram, JupiterProgram} {
		data := layout.UpgradeableProgram(k)
		g.place(k, &Account{Lamports: RentExempt(len(data)), Owner: UpgradeableLoader, Executable: true, Data: data})
	}
	g.place(CPMMAuthority, &Account{Lamports: 50 * lamportsPerSOL})
	rent := rentSysvar()
	g.place(RentSysvar, &Account{Lamports: RentExempt(len(rent)), Owner: SysvarOwner, Data: rent})
}

// genesisToken places a mint without supply, and its metadata.
func (g *Generator) genesisToken(r *rand.Rand, mint, program Key, decimals uint8, name, symbol string, feeBP uint16) *token {
	t := &token{mint: mint, program: program, decimals: decimals, name: name, symbol: symbol, mintAuth: g.treasury, updateAuth: g.treasury}
	t.uri = g.metadataURI(r, mint, 0, true)
	if mint == NativeMint {
		t.mintAuth = nil
	}
	m := layout.Mint{Decimals: decimals}
	if t.mintAuth != nil {
		m.MintAuthority = layout.Some(t.mintAuth.Key)
	}
	if mint == USDCMint {
		t.freezeAuth = g.treasury
		m.FreezeAuthority = layout.Some(g.treasury.Key)
	}
	g.place(mint, &Account{Lamports: RentExempt(layout.MintSize), Owner: program, Data: m.Bytes()})
	t.metadata = MetadataAddress(mint)
	md := make([]byte, layout.MetaplexSize)
	encodeMetaplex(md, g.treasury.Key, mint, &layout.MetaplexData{Name: name, Symbol: symbol, URI: t.uri, Fee: feeBP}, true, editionNonce(mint), decimals)
	g.place(t.metadata, &Account{Lamports: RentExempt(layout.MetaplexSize) + mplCreateFee, Owner: MetaplexProgram, Data: md})
	g.tokens = append(g.tokens, t)
	return t
}

// tokenAccount makes an initialized SPL token account and adds the amount to the mint's supply
// (wrapped SOL: to the lamports).
func (g *Generator) tokenAccount(t *token, owner Key, amount uint64) *Account {
	data := layout.TokenAccount{Mint: t.mint, Owner: owner, Amount: amount}
	lamports := RentExempt(layout.TokenAccountSize)
	if t.mint == NativeMint {
		data.Native, data.Reserve = true, lamports
		return &Account{Lamports: lamports + amount, Owner: t.program, Data: data.Bytes()}
	}
	m := g.st.get(t.mint)
	// In place, as nothing has been published yet.
	layout.SetSupply(m.Data, layout.Supply(m.Data)+amount)
	return &Account{Lamports: lamports, Owner: t.program, Data: data.Bytes()}
}

// genesisFunds gives USDC to all wallets, and wrapped SOL to those that keep it wrapped. The others
// wrap SOL as they trade.
func (g *Generator) genesisFunds(r *rand.Rand, sol, usdc *token) {
	for i, w := range g.wallets {
		if !keepsUnwrapped(uint32(i)) {
			g.place(g.ata(w.Key, sol), g.tokenAccount(sol, w.Key, (100+r.Uint64N(20_000))*lamportsPerSOL))
			sol.hold(uint32(i))
		}
		g.place(g.ata(w.Key, usdc), g.tokenAccount(usdc, w.Key, (1_000+r.Uint64N(2_000_000))*1_000_000))
		usdc.hold(uint32(i))
	}
}

func (g *Generator) ata(owner Key, t *token) Key {
	return g.x.derived.associated(owner, t.mint, t.program)
}

// hold adds a wallet to the holders, and returns whether it is one now. A full list takes no more
// wallets, which bounds the token accounts per mint; those of SOL and USDC are never full.
func (t *token) hold(wallet uint32) bool {
	for _, h := range t.holders {
		if h == wallet {
			return true
		}
	}
	if len(t.holders) >= maxHolders && t.mint != USDCMint && t.mint != NativeMint {
		return false
	}
	t.holders = append(t.holders, wallet)
	return true
}

// genesisMajor makes the i-th major token m (name and symbol), with holders and a pool against SOL,
// or USDC for every fourth. Later ones have smaller pools.
func (g *Generator) genesisMajor(r *rand.Rand, i int, m [2]string, sol, usdc *token) {
	decimals := []uint8{6, 9, 6, 5, 8}[i%5]
	key := deriveSigner(g.cfg.Seed, "major", uint64(i)).Key
	t := g.genesisToken(r, key, TokenProgram, decimals, m[0], m[1], 0)
	unit := pow10(decimals)
	for range 24 {
		w := uint32(r.IntN(len(g.wallets)))
		if k := g.ata(g.wallets[w].Key, t); g.st.get(k) == nil {
			t.hold(w)
			g.place(k, g.tokenAccount(t, g.wallets[w].Key, (1000+r.Uint64N(1_000_000))*unit))
		}
	}
	quote, reserve := sol, (5_000_000/uint64(i+1)+2_000)*lamportsPerSOL/150
	if i%4 == 3 {
		quote, reserve = usdc, (5_000_000/uint64(i+1)+2_000)*1_000_000
	}
	g.genesisPool(t, quote, (1_000_000+r.Uint64N(100_000_000))*unit, reserve)
}

func pow10(n uint8) uint64 {
	v := uint64(1)
	for range n {
		v *= 10
	}
	return v
}

func cpmmConfigKey() Key {
	k, _ := pda(CPMMProgram, []byte("amm_config"), []byte{0, 0})
	return k
}

// cpmmConfigData is AmmConfig 0 of mainnet: trade fee 0.25 %, of which 12 % protocol and 4 % fund;
// 0.15 SOL to create a pool.
func cpmmConfigData() []byte {
	_, bump := pda(CPMMProgram, []byte("amm_config"), []byte{0, 0})
	config := layout.CPMMConfig{Bump: bump, TradeRate: 2_500, ProtocolRate: 120_000, FundRate: 40_000, CreateFee: 150_000_000}
	return config.Bytes()
}

// newPool derives the addresses of a pool. Token 0 is the one with the lower address, as the
// program demands.
func (g *Generator) newPool(a, b *token) *pool {
	if string(a.mint[:]) > string(b.mint[:]) {
		a, b = b, a
	}
	p := &pool{dex: cpmmDex{}, config: cpmmConfigKey(), tokens: [2]*token{a, b}}
	p.key, _ = pda(CPMMProgram, []byte("pool"), p.config[:], a.mint[:], b.mint[:])
	p.lp, _ = pda(CPMMProgram, []byte("pool_lp_mint"), p.key[:])
	p.observation, _ = pda(CPMMProgram, []byte("observation"), p.key[:])
	for i, t := range p.tokens {
		p.vaults[i], _ = pda(CPMMProgram, []byte("pool_vault"), p.key[:], t.mint[:])
		if t.mint == NativeMint || t.mint == USDCMint && p.tokens[1-i].mint != NativeMint {
			p.quote = i
		}
	}
	return p
}

// genesisPool places a CPMM pool with its vaults, observation account, LP mint and lookup table.
func (g *Generator) genesisPool(base, quote *token, baseAmount, quoteAmount uint64) {
	p := g.newPool(base, quote)
	amounts := [2]uint64{baseAmount, quoteAmount}
	if p.tokens[0] != base {
		amounts = [2]uint64{quoteAmount, baseAmount}
	}
	for i, t := range p.tokens {
		g.place(p.vaults[i], g.tokenAccount(t, CPMMAuthority, amounts[i]))
	}
	_, bump := pda(CPMMProgram, []byte(cpmmAuthoritySeed))
	g.place(p.key, &Account{Lamports: RentExempt(layout.CPMMPoolSize), Owner: CPMMProgram, Data: encodePool(p, g.treasury.Key, bump,
		isqrt(amounts[0], amounts[1]), g.cfg.GenesisTime.Unix())})
	obs := layout.CPMMObservation(p.key)
	g.place(p.observation, &Account{Lamports: RentExempt(len(obs)), Owner: CPMMProgram, Data: obs})
	lp := layout.Mint{MintAuthority: layout.Some(CPMMAuthority), Supply: isqrt(amounts[0], amounts[1]), Decimals: 9}
	g.place(p.lp, &Account{Lamports: RentExempt(layout.MintSize), Owner: TokenProgram, Data: lp.Bytes()})
	p.table = g.genesisTable(p)
	base.pool = p
	p.setTarget(amounts)
	g.pools = append(g.pools, p)
}

func (p *pool) setTarget(amounts [2]uint64) {
	p.target = float64(amounts[p.quote]) / float64(amounts[1-p.quote])
}

// TableKey is the address of the lookup table of a chain's genesis pool, counted from 0. A pool of
// another venue than Raydium CPMM has none.
func TableKey(seed uint64, pool int) Key { return deriveSigner(seed, "table", uint64(pool)).Key }

// genesisTable is an address lookup table with everything a swap on the pool reads besides the
// user's accounts.
func (g *Generator) genesisTable(p *pool) *Table {
	return g.placeTable(&Table{Key: TableKey(g.cfg.Seed, len(g.pools)), Addresses: []Key{CPMMAuthority, p.config, p.key, p.vaults[0],
		p.vaults[1], p.tokens[0].mint, p.tokens[1].mint, p.observation, TokenProgram, Token2022Program, SystemProgram}})
}

func (g *Generator) placeTable(t *Table) *Table {
	d := layout.LookupTable{Extended: g.cfg.ParentSlot, Authority: &g.treasury.Key, Addresses: t.Addresses}.Bytes()
	g.place(t.Key, &Account{Lamports: RentExempt(len(d)), Owner: LookupTableProgram, Data: d})
	return t
}

// encodePool returns a PoolState as it is right after initialize: without fees.
func encodePool(p *pool, creator Key, bump uint8, lp uint64, open int64) []byte {
	pool := layout.CPMMPool{Config: p.config, Creator: creator, Vaults: p.vaults, LP: p.lp, Mints: [2]Key{p.tokens[0].mint, p.tokens[1].mint},
		Programs: [2]Key{p.tokens[0].program, p.tokens[1].program}, Observation: p.observation, AuthorityBump: bump, LPDecimals: 9,
		Decimals: [2]byte{p.tokens[0].decimals, p.tokens[1].decimals}, LPSupply: lp, OpenTime: uint64(open)}
	return pool.Bytes()
}

// metadataURI returns where a token's JSON is served. Unless always is set, a few tokens get none,
// a dead one or nonsense.
func (g *Generator) metadataURI(r *rand.Rand, mint Key, revision int, always bool) string {
	p := r.IntN(100)
	switch {
	case always || p >= 9:
	case p < 3:
		return ""
	case p < 6:
		return "ipfs://bafkreigh2akiscaildc" + letters(r, 12) + "/metadata.json"
	case p < 8:
		return "https://gone.mintlake.invalid/" + letters(r, 6) + ".json"
	default:
		return "not a uri"
	}
	if revision > 0 {
		return fmt.Sprintf("%s/metadata/%s.json?v=%d", g.cfg.BaseURL, mint, revision)
	}
	return fmt.Sprintf("%s/metadata/%s.json", g.cfg.BaseURL, mint)
}
