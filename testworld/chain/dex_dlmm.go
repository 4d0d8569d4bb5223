package chain

import (
	"encoding/binary"

	"github.com/holiman/uint256"

	"github.com/mintlake/mintlake/testworld/layout"
)

// The chain's DLMM pools: step from bin to bin, in parts of 10,000, and factor of the base fee,
// which is 0.1 %. Their fee has no variable part, so that a quote holds however late it lands.
const (
	dlmmStep   = 10
	dlmmFactor = 10_000
	// dlmmReach is how many bins on each side of the price hold something at genesis.
	dlmmReach = 5 * layout.DLMMArrayBins
)

type dlmmDex struct{}

// reserves returns the pool's worth, half of it in each token at the price. What it holds of each
// says nothing about the price.
func (dlmmDex) reserves(g *Generator, p *pool) [2]uint64 {
	d, held := g.st.get(p.key).Data, g.balances(p)
	price := dlmmPriceAt(int32(binary.LittleEndian.Uint32(d[layout.DLMMActive:])), dlmmStep)
	worth := new(uint256.Int).Mul(uint256.NewInt(held[0]), price)
	worth.Add(worth.Rsh(worth, 64), uint256.NewInt(held[1]))
	worth.Rsh(worth, 1)
	other := new(uint256.Int).Lsh(worth, 64)
	return [2]uint64{max(1, saturate(other.Div(other, price))), max(1, saturate(worth))}
}

// trade computes a swap over the arrays that the instruction names; ok is false if it fails.
func (dlmmDex) trade(g *Generator, p *pool, in int, amount uint64, exactIn bool) (t dlmmTrade, ok bool) {
	d := g.st.get(p.key).Data
	named := dlmmNamed(d, in, dlmmArrays)
	t, code := dlmmSwap(d, g.x.now, in, amount, exactIn, func(number int32) []byte {
		for _, n := range named {
			if n == number {
				return g.st.get(g.x.derived.array(p.key, n, dlmmArrayKey)).Data
			}
		}
		return nil
	})
	return t, code == 0
}

func (d dlmmDex) exactIn(g *Generator, p *pool, in int, amount uint64) uint64 {
	t, ok := d.trade(g, p, in, amount, true)
	if !ok {
		return 0
	}
	return t.sends
}

func (d dlmmDex) exactOut(g *Generator, p *pool, in int, amount uint64) uint64 {
	t, ok := d.trade(g, p, in, amount, false)
	if !ok {
		return 0
	}
	return t.pays
}

// swap: see dex. Both instructions have what comes in first.
func (dlmmDex) swap(g *Generator, user Key, p *pool, in int, accounts [2]Key, first, second uint64, base bool) Instruction {
	disc := layout.DLMMSwap
	if !base {
		disc = layout.DLMMSwapExactOut
	}
	data := append(layout.AppendU64(layout.AppendU64(disc[:], first), second), 0, 0, 0, 0)
	x, y := p.tokens[0], p.tokens[1]
	metas := []AccountMeta{writable(p.key), readonly(DLMMProgram), writable(p.vaults[0]), writable(p.vaults[1]), writable(accounts[in]),
		writable(accounts[1-in]), readonly(x.mint), readonly(y.mint), writable(p.observation), readonly(DLMMProgram), signer(user), readonly(x.program),
		readonly(y.program), readonly(MemoProgram), readonly(dlmmEvents), readonly(DLMMProgram)}
	for _, n := range dlmmNamed(g.st.get(p.key).Data, in, dlmmArrays) {
		metas = append(metas, writable(g.x.derived.array(p.key, n, dlmmArrayKey)))
	}
	return Instruction{Program: DLMMProgram, Data: data, Accounts: metas}
}

// dlmmArrayKey derives the address of a bin array by its number.
func dlmmArrayKey(pool Key, number int32) Key {
	key, _ := pda(DLMMProgram, []byte("bin_array"), pool[:], binary.LittleEndian.AppendUint64(nil, uint64(int64(number))))
	return key
}

// genesisDLMM adds a pool of x and y whose bins around the price hold equal parts of amounts: y up
// to it, x from it on.
func (g *Generator) genesisDLMM(x, y *token, amounts [2]uint64) {
	price := new(uint256.Int).Lsh(uint256.NewInt(amounts[1]), 64)
	active := dlmmBinAt(price.Div(price, uint256.NewInt(amounts[0])), dlmmStep)
	g.genesisVenue(dlmmDex{}, DLMMProgram, Key{}, x, y, amounts, func(p *pool) []byte {
		p.observation, _ = pda(DLMMProgram, []byte("oracle"), p.key[:])
		oracle := layout.DLMMOracle()
		g.place(p.observation, &Account{Lamports: RentExempt(len(oracle)), Owner: DLMMProgram, Data: oracle})
		pair := layout.DLMMPair{Mints: [2]Key{x.mint, y.mint}, Reserves: p.vaults, Oracle: p.observation, BaseFactor: dlmmFactor, Step: dlmmStep, Active: active}
		for n := dlmmNumber(active - dlmmReach); n <= dlmmNumber(active+dlmmReach); n++ {
			bit := uint(n + dlmmWindow)
			pair.Bitmap[bit/64] |= 1 << (bit % 64)
			data := layout.DLMMArray(p.key, int64(n), dlmmGenesisBins(n, active, amounts))
			g.place(dlmmArrayKey(p.key, n), &Account{Lamports: RentExempt(len(data)), Owner: DLMMProgram, Data: data})
		}
		return pair.Bytes()
	})
}

// dlmmGenesisBins are the bins of an array.
func dlmmGenesisBins(number, active int32, amounts [2]uint64) (bins []layout.DLMMBin) {
	for place := range int32(layout.DLMMArrayBins) {
		bin := number*layout.DLMMArrayBins + place
		if bin < active-dlmmReach || bin > active+dlmmReach {
			continue
		}
		price := dlmmPriceAt(bin, dlmmStep)
		b := layout.DLMMBin{Place: int(place), Price: layout.U128{price[0], price[1]}}
		if bin >= active {
			b.X = amounts[0] / (dlmmReach + 1)
		}
		if bin <= active {
			b.Y = amounts[1] / (dlmmReach + 1)
		}
		bins = append(bins, b)
	}
	return bins
}
