package chain

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/holiman/uint256"

	"github.com/mintlake/mintlake/testworld/layout"
)

type clmmDex struct{}

// reserves returns the virtual reserves at the price: L·2⁶⁴/√P and L·√P/2⁶⁴.
func (clmmDex) reserves(g *Generator, p *pool) [2]uint64 {
	d := g.st.get(p.key).Data
	return virtualReserves(getWide(d[clmmL:]), getWide(d[clmmPrice:]))
}

// trade computes a swap over the arrays that the instruction names; ok is false if it fails.
func (clmmDex) trade(g *Generator, p *pool, in int, amount uint64, exactIn bool) (t clmmTrade, ok bool) {
	d := g.st.get(p.key).Data
	named := map[int32]bool{}
	for _, number := range clmmNamed(d, in) {
		named[number] = true
	}
	t, code := clmmSwap(d, clmmRate, in, amount, exactIn, func(number int32) []byte {
		if !named[number] {
			return nil
		}
		return g.st.get(g.x.derived.array(p.key, number, clmmArrayKey)).Data
	})
	return t, code == 0
}

func (c clmmDex) exactIn(g *Generator, p *pool, in int, amount uint64) uint64 {
	t, ok := c.trade(g, p, in, amount, true)
	if !ok {
		return 0
	}
	return t.sends
}

func (c clmmDex) exactOut(g *Generator, p *pool, in int, amount uint64) uint64 {
	t, ok := c.trade(g, p, in, amount, false)
	if !ok {
		return 0
	}
	return t.pays
}

// clmmNamed returns the arrays that an instruction names: the first three with ticks from the price
// on.
func clmmNamed(pool []byte, in int) (numbers []int32) {
	step := int32(1)
	if in == 0 {
		step = -1
	}
	for n := clmmNumber(int32(binary.LittleEndian.Uint32(pool[clmmTick:])), clmmSpacing); n >= -clmmArrays && n < clmmArrays && len(numbers) < 3; n += step {
		bit := uint(n + clmmArrays)
		if binary.LittleEndian.Uint64(pool[clmmBitmap+8*(bit/64):])>>(bit%64)&1 == 1 {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

func clmmArrayKey(pool Key, number int32) Key {
	key, _ := pda(CLMMProgram, []byte("tick_array"), pool[:], binary.BigEndian.AppendUint32(nil, uint32(number*clmmArray)))
	return key
}

// swap: see dex. The instruction has the exact amount first.
func (clmmDex) swap(g *Generator, user Key, p *pool, in int, accounts [2]Key, first, second uint64, base bool) Instruction {
	exact := byte(1)
	if !base {
		first, second, exact = second, first, 0
	}
	data := layout.AppendU64(layout.AppendU64(append([]byte(nil), layout.CLMMSwapV2[:]...), first), second)
	data = append(layout.AppendU64(layout.AppendU64(data, 0), 0), exact)
	metas := []AccountMeta{signer(user), readonly(p.config), writable(p.key), writable(accounts[in]), writable(accounts[1-in]), writable(p.vaults[in]),
		writable(p.vaults[1-in]), writable(p.observation), readonly(TokenProgram), readonly(Token2022Program), readonly(MemoProgram),
		readonly(p.tokens[in].mint), readonly(p.tokens[1-in].mint)}
	for _, number := range clmmNamed(g.st.get(p.key).Data, in) {
		metas = append(metas, writable(g.x.derived.array(p.key, number, clmmArrayKey)))
	}
	return Instruction{Program: CLMMProgram, Data: data, Accounts: metas}
}

// clmmConfigKey is the config of the chain's pools.
func clmmConfigKey() Key {
	key, _ := pda(CLMMProgram, []byte("amm_config"), []byte{0, 2})
	return key
}

// clmmPositions are the pool's positions: how many arrays, or ticks, they reach to each side of the
// price, and their liquidity in parts of that of a pool over all prices.
var clmmPositions = []struct {
	ticks, parts int32
}{{6 * clmmArray, 1}, {clmmArray, 3}, {10 * clmmSpacing, 6}}

// genesisCLMM adds a pool with three positions around its price. amounts are what a pool over all
// prices would hold at it.
func (g *Generator) genesisCLMM(a, b *token, amounts [2]uint64) {
	quote := 1
	if string(a.mint[:]) > string(b.mint[:]) {
		a, b, amounts, quote = b, a, [2]uint64{amounts[1], amounts[0]}, 0
	}
	config := clmmConfigKey()
	if g.st.get(config) == nil {
		data := layout.CLMMConfig(clmmRate, clmmSpacing)
		g.place(config, &Account{Lamports: RentExempt(len(data)), Owner: CLMMProgram, Data: data})
	}
	price := new(uint256.Int).Lsh(uint256.NewInt(amounts[1]), 128)
	price.Sqrt(price.Div(price, uint256.NewInt(amounts[0])))
	tick := clmmTickAt(price)
	one := isqrt(amounts[0], amounts[1])
	ticks, all := map[int32][]layout.CLMMTick{}, uint64(0)
	var bitmap [2 * clmmArrays / 64]uint64
	place := func(index int32, net, gross layout.U128) {
		n := clmmNumber(index, clmmSpacing)
		ticks[n] = append(ticks[n], layout.CLMMTick{Index: index, Net: net, Gross: gross})
		bitmap[uint(n+clmmArrays)/64] |= 1 << (uint(n+clmmArrays) % 64)
	}
	start := clmmNumber(tick, clmmSpacing) * clmmArray
	middle := start + (tick-start)/clmmSpacing*clmmSpacing
	for _, position := range clmmPositions {
		liquidity := one * uint64(position.parts)
		all += liquidity
		place(middle-position.ticks, layout.U128{liquidity}, layout.U128{liquidity})
		place(middle+position.ticks, layout.U128{-liquidity, ^uint64(0)}, layout.U128{liquidity})
	}
	g.genesisVenue(clmmDex{}, CLMMProgram, Key{}, a, b, amounts, func(p *pool) []byte {
		p.config, p.quote = config, quote
		p.observation, _ = pda(CLMMProgram, []byte("observation"), p.key[:])
		observation := layout.CPMMObservation(p.key)
		g.place(p.observation, &Account{Lamports: RentExempt(len(observation)), Owner: CLMMProgram, Data: observation})
		for _, n := range slices.Sorted(maps.Keys(ticks)) {
			data := layout.CLMMArray(p.key, n*clmmArray, clmmSpacing, ticks[n])
			g.place(clmmArrayKey(p.key, n), &Account{Lamports: RentExempt(len(data)), Owner: CLMMProgram, Data: data})
		}
		account := layout.CLMMPool{
			Config: config, Owner: g.treasury.Key, Mints: [2]Key{a.mint, b.mint}, Vaults: p.vaults, Observation: p.observation, Decimals: [2]byte{a.decimals, b.decimals},
			Spacing: clmmSpacing, Liquidity: layout.U128{all}, Price: layout.U128{price[0], price[1]}, Tick: tick, Bitmap: bitmap,
		}
		return account.Bytes()
	})
}
