package chain

import "github.com/mintlake/mintlake/testworld/layout"

// What a graduated token's pool begins with: the tokens that pump.fun keeps for it, and the SOL
// that a full curve has. Here the SOL is the user's, as nobody trades on the curve.
const (
	graduationTokens = 206_900_000_000_000
	graduationSOL    = 85 * lamportsPerSOL
	graduationRent   = lamportsPerSOL / 50
)

func graduationAuthority(mint Key) Key {
	k, _ := pda(LauncherProgram, []byte("pool-authority"), mint[:])
	return k
}

// launchGraduate runs migrate. Accounts (pump.json): global, withdraw authority, mint, curve, its
// token account, user (signer), system, token, PumpSwap, pool, pool authority, its accounts of the
// mint and of wrapped SOL, PumpSwap's config, wrapped SOL, LP mint, LP account, both vaults,
// Token-2022, associated program, PumpSwap's event authority, event authority, program.
func launchGraduate(x *machine, f *frame) error {
	if len(f.accs) < 24 {
		return failCustom(anchorNotEnoughKeys)
	}
	a := f.accs
	mint := x.key(a[2])
	if !a[5].signer || x.key(a[3]) != launchCurve(mint) || x.key(a[10]) != graduationAuthority(mint) || x.key(a[14]) != NativeMint {
		return failCustom(anchorConstraintSeeds)
	}
	user, authority, curve := x.signedBy(f, 5), x.signedBy(f, 10), ref{idx: a[3].idx, signer: true}
	writes := func(i int) ref { return ref{idx: a[i].idx, writable: true} }
	calls := []struct {
		program Key
		accs    []ref
		data    []byte
	}{
		{SystemProgram, []ref{user, authority}, transferData(graduationRent)},
		{AssociatedProgram, []ref{user, writes(11), {idx: a[10].idx}, {idx: a[2].idx}, {idx: a[6].idx}, {idx: a[7].idx}}, nil},
		{AssociatedProgram, []ref{user, writes(12), {idx: a[10].idx}, {idx: a[14].idx}, {idx: a[6].idx}, {idx: a[7].idx}}, nil},
		{TokenProgram, []ref{writes(4), writes(11), curve}, layout.Transfer(graduationTokens)},
		{SystemProgram, []ref{user, writes(12)}, transferData(graduationSOL)},
		{TokenProgram, []ref{writes(12)}, []byte{layout.TagSyncNative}},
		{PumpSwapProgram, []ref{writes(9), {idx: a[13].idx}, authority, {idx: a[2].idx}, {idx: a[14].idx}, writes(15), writes(11), writes(12), writes(16), writes(17), writes(18),
			{idx: a[6].idx}, {idx: a[19].idx}, {idx: a[7].idx}, {idx: a[7].idx}, {idx: a[20].idx}, {idx: a[21].idx}, {idx: a[8].idx}},
			pumpCreateData(graduationTokens, graduationSOL)},
	}
	for _, c := range calls {
		if err := x.call(f, c.program, c.accs, c.data); err != nil {
			return err
		}
	}
	return nil
}

// ixGraduate takes a launched SPL token to a PumpSwap pool.
func ixGraduate(user Key, p *pool) Instruction {
	mint, curve := p.tokens[0].mint, launchCurve(p.tokens[0].mint)
	authority := graduationAuthority(mint)
	return Instruction{Program: LauncherProgram, Data: launchMigrate[:], Accounts: []AccountMeta{
		readonly(launchGlobal), writable(launchAuthority), readonly(mint), writable(curve), writable(AssociatedAddress(curve, mint, TokenProgram)), signerW(user),
		readonly(SystemProgram), readonly(TokenProgram), readonly(PumpSwapProgram), writable(p.key), writable(authority),
		writable(AssociatedAddress(authority, mint, TokenProgram)), writable(AssociatedAddress(authority, NativeMint, TokenProgram)),
		readonly(pumpGlobal), readonly(NativeMint), writable(p.lp), writable(AssociatedAddress(authority, p.lp, Token2022Program)),
		writable(p.vaults[0]), writable(p.vaults[1]), readonly(Token2022Program), readonly(AssociatedProgram), readonly(pumpEvents),
		readonly(launchEvents), readonly(LauncherProgram)}}
}

// pumpPoolOf derives the addresses of a PumpSwap pool of t and wrapped SOL.
func (g *Generator) pumpPoolOf(t *token, creator Key) *pool {
	p := &pool{dex: pumpDex{}, tokens: [2]*token{t, g.tokens[0]}, quote: 1}
	p.key = pumpPoolKey(0, creator, t.mint, NativeMint)
	p.lp, _ = pda(PumpSwapProgram, []byte("pool_lp_mint"), p.key[:])
	for i, t := range p.tokens {
		p.vaults[i] = AssociatedAddress(p.key, t.mint, t.program)
	}
	return p
}
