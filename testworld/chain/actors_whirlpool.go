package chain

import (
	"encoding/binary"
	"math"

	"github.com/holiman/uint256"

	"github.com/mintlake/mintlake/testworld/layout"
)

// The position of a new Whirlpool: how many ticks it reaches to each side of the price, and its
// liquidity in parts of that of a pool over all prices. It takes about whirlParts/57 of what is
// meant for it.
const (
	whirlReach = 44 * whirlSpacing
	whirlParts = 40
)

// whirlTableKeys are what the transactions that make Whirlpools have in common.
func whirlTableKeys() []Key {
	return []Key{whirlConfigKey(), whirlTierKey(), whirlBadgeKey(NativeMint), NativeMint, MemoProgram, TokenProgram, SystemProgram, RentSysvar, AssociatedProgram}
}

// bornWhirlpool plans a Whirlpool of a token and wrapped SOL: the pool, its arrays, and a position
// around the price, all in one transaction.
func (g *Generator) bornWhirlpool(w *Signer, t *token, amounts [2]uint64) *plan {
	p := &pool{dex: whirlDex{}, config: whirlConfigKey(), tokens: [2]*token{t, g.tokens[0]}, quote: 1, creator: w}
	if string(t.mint[:]) > string(NativeMint[:]) {
		p.tokens[0], p.tokens[1], p.quote, amounts = p.tokens[1], p.tokens[0], 0, [2]uint64{amounts[1], amounts[0]}
	}
	if p.key = whirlPoolKey(p.tokens[0].mint, p.tokens[1].mint); g.st.get(p.key) != nil {
		return nil
	}
	p.observation, _ = pda(WhirlpoolProgram, []byte("oracle"), p.key[:])
	signers := []*Signer{}
	for _, family := range []string{"whirlpool a", "whirlpool b", "whirlpool position"} {
		signers = append(signers, deriveSigner(g.cfg.Seed, family, uint64(g.shortLivedMade)))
	}
	p.vaults, p.lp = [2]Key{signers[0].Key, signers[1].Key}, signers[2].Key
	price := new(uint256.Int).Lsh(uint256.NewInt(amounts[1]), 128)
	price.Sqrt(price.Div(price, uint256.NewInt(amounts[0])))
	tick := whirlTickAt(price)
	middle := tick - (tick%whirlSpacing+whirlSpacing)%whirlSpacing
	low, high := middle-whirlReach, middle+whirlReach
	ixs := []Instruction{ixWhirlCreate(w.Key, p, price)}
	for n := whirlNumber(low, whirlSpacing); n <= whirlNumber(high, whirlSpacing); n++ {
		start := binary.LittleEndian.AppendUint32(append([]byte(nil), whirlCreateArray[:]...), uint32(n*whirlWidth))
		ixs = append(ixs, Instruction{Program: WhirlpoolProgram, Data: start, Accounts: []AccountMeta{
			readonly(p.key), signerW(w.Key), writable(g.x.derived.array(p.key, n, whirlArrayKey)), readonly(SystemProgram)}})
	}
	liquidity := uint256.NewInt(isqrt(amounts[0], amounts[1]))
	liquidity.Mul(liquidity, uint256.NewInt(whirlParts))
	ixs = append(ixs, ixWhirlOpen(w.Key, p, low, high), g.ixWhirlLiquidity(p, whirlIncrease, liquidity, low, high, math.MaxUint64))
	return &plan{payer: w, signers: signers, ixs: ixs, v0: true, tables: []*Table{g.whirlTable}, done: func() { g.born(p, amounts) }}
}

func ixWhirlCreate(creator Key, p *pool, price *uint256.Int) Instruction {
	a, b := p.tokens[0], p.tokens[1]
	data := append(append([]byte(nil), whirlCreate[:]...), whirlSpacing, 0)
	data = layout.AppendU64(layout.AppendU64(data, price[0]), price[1])
	return Instruction{Program: WhirlpoolProgram, Data: data, Accounts: []AccountMeta{
		readonly(p.config), readonly(a.mint), readonly(b.mint), readonly(whirlBadgeKey(a.mint)), readonly(whirlBadgeKey(b.mint)), signerW(creator), writable(p.key),
		signerW(p.vaults[0]), signerW(p.vaults[1]), readonly(whirlTierKey()), readonly(a.program), readonly(b.program), readonly(SystemProgram), readonly(RentSysvar)}}
}

// ixWhirlOpen opens a position with the pool's lp as its mint.
func ixWhirlOpen(owner Key, p *pool, low, high int32) Instruction {
	position, bump := pda(WhirlpoolProgram, []byte("position"), p.lp[:])
	data := append(append([]byte(nil), whirlOpen[:]...), bump)
	data = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(data, uint32(low)), uint32(high))
	return Instruction{Program: WhirlpoolProgram, Data: data, Accounts: []AccountMeta{
		signerW(owner), readonly(owner), writable(position), signerW(p.lp), writable(AssociatedAddress(owner, p.lp, TokenProgram)), readonly(p.key),
		readonly(TokenProgram), readonly(SystemProgram), readonly(RentSysvar), readonly(AssociatedProgram)}}
}

// ixWhirlLiquidity adds liquidity to the position of a pool's creator, or takes it out. limit is of
// both tokens.
func (g *Generator) ixWhirlLiquidity(p *pool, kind [8]byte, liquidity *uint256.Int, low, high int32, limit uint64) Instruction {
	a, b, owner := p.tokens[0], p.tokens[1], p.creator.Key
	position, _ := pda(WhirlpoolProgram, []byte("position"), p.lp[:])
	array := func(tick int32) AccountMeta {
		return writable(g.x.derived.array(p.key, whirlNumber(tick, whirlSpacing), whirlArrayKey))
	}
	data := layout.AppendU64(layout.AppendU64(append([]byte(nil), kind[:]...), liquidity[0]), liquidity[1])
	data = append(layout.AppendU64(layout.AppendU64(data, limit), limit), 0)
	return Instruction{Program: WhirlpoolProgram, Data: data, Accounts: []AccountMeta{
		writable(p.key), readonly(a.program), readonly(b.program), readonly(MemoProgram), signer(owner), writable(position),
		readonly(AssociatedAddress(owner, p.lp, TokenProgram)), readonly(a.mint), readonly(b.mint), writable(g.ata(owner, a)), writable(g.ata(owner, b)),
		writable(p.vaults[0]), writable(p.vaults[1]), array(low), array(high)}}
}

// drainWhirlpool is the instruction that takes all out of the position of a pool's creator; nothing
// if there is none.
func (g *Generator) drainWhirlpool(p *pool) []Instruction {
	key, _ := pda(WhirlpoolProgram, []byte("position"), p.lp[:])
	position := g.st.get(key)
	if position == nil || getWide(position.Data[whirlPositionL:]).IsZero() {
		return nil
	}
	d := position.Data
	return []Instruction{g.ixWhirlLiquidity(p, whirlDecrease, getWide(d[whirlPositionL:]), getTick(d[whirlPositionLow:]), getTick(d[whirlPositionHigh:]), 0)}
}
