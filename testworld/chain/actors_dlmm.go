package chain

import (
	"encoding/binary"

	"github.com/holiman/uint256"

	"github.com/mintlake/mintlake/testworld/layout"
)

// dlmmBelow is how many bins below the price the position of a new pool reaches; it has as many
// bins as an array.
const dlmmBelow = layout.DLMMArrayBins / 2

// bornDLMM plans a DLMM pool of a token and wrapped SOL: the pool, two arrays at most, and a
// position around the price, all in one transaction.
func (g *Generator) bornDLMM(w *Signer, t *token, amounts [2]uint64) *plan {
	sol := g.tokens[0]
	p := &pool{dex: dlmmDex{}, key: dlmmPairKey(t.mint, sol.mint), config: dlmmPresetKey(), tokens: [2]*token{t, sol}, quote: 1, creator: w}
	if g.st.get(p.key) != nil {
		return nil
	}
	p.observation, _ = pda(DLMMProgram, []byte("oracle"), p.key[:])
	for i, t := range p.tokens {
		p.vaults[i] = dlmmReserveKey(p.key, t.mint)
	}
	position := deriveSigner(g.cfg.Seed, "position", uint64(g.shortLivedMade))
	p.lp = position.Key
	price := new(uint256.Int).Lsh(uint256.NewInt(amounts[1]), 64)
	active := dlmmBinAt(price.Div(price, uint256.NewInt(amounts[0])), dlmmStep)
	low := active - dlmmBelow
	high := low + layout.DLMMArrayBins - 1
	number := func(n int32) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(n)) }
	ixs := []Instruction{{Program: DLMMProgram, Data: append(append(append([]byte(nil), dlmmCreate[:]...), number(active)...), make([]byte, 96)...), Accounts: []AccountMeta{
		writable(p.key), readonly(DLMMProgram), readonly(t.mint), readonly(sol.mint), writable(p.vaults[0]), writable(p.vaults[1]), writable(p.observation),
		readonly(p.config), signerW(w.Key), readonly(DLMMProgram), readonly(DLMMProgram), readonly(t.program), readonly(sol.program), readonly(SystemProgram),
		readonly(dlmmEvents), readonly(DLMMProgram)}}}
	for n := dlmmNumber(low); n <= dlmmNumber(high); n++ {
		ixs = append(ixs, Instruction{Program: DLMMProgram, Data: layout.AppendU64(append([]byte(nil), dlmmCreateArray[:]...), uint64(int64(n))), Accounts: []AccountMeta{
			readonly(p.key), writable(g.x.derived.array(p.key, n, dlmmArrayKey)), signerW(w.Key), readonly(SystemProgram)}})
	}
	ixs = append(ixs, Instruction{Program: DLMMProgram, Data: append(append(append([]byte(nil), dlmmOpen[:]...), number(low)...), number(layout.DLMMArrayBins)...), Accounts: []AccountMeta{
		signerW(w.Key), signerW(p.lp), readonly(p.key), signer(w.Key), readonly(SystemProgram), readonly(RentSysvar), readonly(dlmmEvents), readonly(DLMMProgram)}})
	add := layout.AppendU64(layout.AppendU64(append([]byte(nil), dlmmAdd[:]...), amounts[0]), amounts[1])
	for _, n := range []int32{active, 0, low, high} {
		add = append(add, number(n)...)
	}
	const spot = 3 // SpotImBalanced
	add = append(append(add, spot), make([]byte, 64+4)...)
	ixs = append(ixs, g.ixDLMMLiquidity(w.Key, p, low, high, add, false))
	return &plan{payer: w, signers: []*Signer{position}, ixs: ixs, v0: true, done: func() { g.born(p, amounts) }}
}

// ixDLMMLiquidity adds to a position, or removes from it.
func (g *Generator) ixDLMMLiquidity(user Key, p *pool, low, high int32, data []byte, memo bool) Instruction {
	x, y := p.tokens[0], p.tokens[1]
	metas := []AccountMeta{writable(p.lp), writable(p.key), readonly(DLMMProgram), writable(g.ata(user, x)), writable(g.ata(user, y)), writable(p.vaults[0]),
		writable(p.vaults[1]), readonly(x.mint), readonly(y.mint), signer(user), readonly(x.program), readonly(y.program)}
	if memo {
		metas = append(metas, readonly(MemoProgram))
	}
	metas = append(metas, readonly(dlmmEvents), readonly(DLMMProgram))
	for n := dlmmNumber(low); n <= dlmmNumber(high); n++ {
		metas = append(metas, writable(g.x.derived.array(p.key, n, dlmmArrayKey)))
	}
	return Instruction{Program: DLMMProgram, Data: data, Accounts: metas}
}

// drainDLMM is the instruction that takes all out of a pool's only position; nothing if that is
// gone.
func (g *Generator) drainDLMM(p *pool) []Instruction {
	position := g.st.get(p.lp)
	if position == nil {
		return nil
	}
	low := position.Data[dlmmPositionLow:][:4]
	high := position.Data[dlmmPositionHigh:][:4]
	const all = 10_000
	data := append(append(append([]byte(nil), dlmmRemove[:]...), low...), high...)
	data = append(binary.LittleEndian.AppendUint16(data, all), 0, 0, 0, 0)
	return []Instruction{g.ixDLMMLiquidity(p.creator.Key, p, int32(binary.LittleEndian.Uint32(low)), int32(binary.LittleEndian.Uint32(high)), data, true)}
}
