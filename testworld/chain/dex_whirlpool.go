package chain

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/holiman/uint256"

	"github.com/mintlake/mintlake/testworld/layout"
)

// Spacing and fee, in millionths, of the chain's Whirlpools.
const (
	whirlSpacing = 8
	whirlRate    = 500
)

type whirlDex struct{}

// reserves returns the virtual reserves at the price: L·2⁶⁴/√P and L·√P/2⁶⁴.
func (whirlDex) reserves(g *Generator, p *pool) [2]uint64 {
	d := g.st.get(p.key).Data
	return virtualReserves(getWide(d[layout.WhirlpoolLiquidity:]), getWide(d[layout.WhirlpoolPrice:]))
}

func (whirlDex) trade(g *Generator, p *pool, in int, amount uint64, exactIn bool) (t clmmTrade, ok bool) {
	d := g.st.get(p.key).Data
	way := whirlWay(d, in, func(number int32) ([]whirlTick, bool) {
		return whirlTicks(g.st.get(g.x.derived.array(p.key, number, whirlArrayKey)), whirlSpacing), true
	})
	t, code := whirlSwap(d, in, amount, exactIn, way)
	return t, code == 0
}

func (d whirlDex) exactIn(g *Generator, p *pool, in int, amount uint64) uint64 {
	t, ok := d.trade(g, p, in, amount, true)
	if !ok {
		return 0
	}
	return t.sends
}

func (d whirlDex) exactOut(g *Generator, p *pool, in int, amount uint64) uint64 {
	t, ok := d.trade(g, p, in, amount, false)
	if !ok {
		return 0
	}
	return t.pays
}

// swap: see dex. The instruction has the exact amount first.
func (whirlDex) swap(g *Generator, user Key, p *pool, in int, accounts [2]Key, first, second uint64, base bool) Instruction {
	exact := byte(1)
	if !base {
		first, second, exact = second, first, 0
	}
	data := layout.AppendU64(layout.AppendU64(append([]byte(nil), layout.WhirlpoolSwapV2[:]...), first), second)
	data = append(append(data, make([]byte, 16)...), exact, byte(1-in), 0)
	metas := []AccountMeta{readonly(p.tokens[0].program), readonly(p.tokens[1].program), readonly(MemoProgram), signer(user), writable(p.key),
		readonly(p.tokens[0].mint), readonly(p.tokens[1].mint), writable(accounts[0]), writable(p.vaults[0]), writable(accounts[1]), writable(p.vaults[1])}
	numbers := whirlSequence(g.st.get(p.key).Data, in)
	for i := range whirlArrays {
		metas = append(metas, writable(g.x.derived.array(p.key, numbers[min(i, len(numbers)-1)], whirlArrayKey)))
	}
	return Instruction{Program: WhirlpoolProgram, Data: data, Accounts: append(metas, writable(p.observation))}
}

// whirlWidth is how many ticks an array of the chain's pools covers.
const whirlWidth = layout.WhirlpoolArrayTicks * whirlSpacing

// whirlArrayKey derives the address of a tick array by its number.
func whirlArrayKey(pool Key, number int32) Key {
	start := strconv.Itoa(int(number * whirlWidth))
	key, _ := pda(WhirlpoolProgram, []byte("tick_array"), pool[:], []byte(start))
	return key
}

// whirlConfigKey is the configuration of the chain's Whirlpools.
func whirlConfigKey() Key { return MadeUp("mintlake demo whirlpools config", 0) }

// whirlEnds are the lowest and the highest tick of a position over all prices.
const whirlEnds = whirlLast / whirlSpacing * whirlSpacing

// whirlPositions are the pool's positions: how many ticks they reach to each side of the price, and
// their liquidity in parts of that of a pool over all prices.
var whirlPositions = []struct{ ticks, parts int32 }{{whirlEnds, 1}, {whirlWidth, 3}, {12 * whirlSpacing, 6}}

// genesisWhirlpool adds a pool with three positions around its price. amounts are what a pool over
// all prices would hold at it; the vaults hold twice as much.
func (g *Generator) genesisWhirlpool(a, b *token, amounts [2]uint64) {
	quote := 1
	if string(a.mint[:]) > string(b.mint[:]) {
		a, b, amounts, quote = b, a, [2]uint64{amounts[1], amounts[0]}, 0
	}
	price := new(uint256.Int).Lsh(uint256.NewInt(amounts[1]), 128)
	price.Sqrt(price.Div(price, uint256.NewInt(amounts[0])))
	tick := whirlTickAt(price)
	arrays, all := map[int32][]layout.WhirlpoolTick{}, uint64(0)
	place := func(index int32, net, gross layout.U128) {
		n := whirlNumber(index, whirlSpacing)
		at := int(index/whirlSpacing - n*layout.WhirlpoolArrayTicks)
		arrays[n] = append(arrays[n], layout.WhirlpoolTick{Place: at, Net: net, Gross: gross})
	}
	middle := tick - (tick%whirlSpacing+whirlSpacing)%whirlSpacing
	for _, position := range whirlPositions {
		liquidity := isqrt(amounts[0], amounts[1]) * uint64(position.parts)
		all += liquidity
		place(max(middle-position.ticks, -whirlEnds), layout.U128{liquidity}, layout.U128{liquidity})
		place(min(middle+position.ticks, whirlEnds), layout.U128{-liquidity, ^uint64(0)}, layout.U128{liquidity})
	}
	vaults := [2]uint64{2 * amounts[0], 2 * amounts[1]}
	g.genesisVenue(whirlDex{}, WhirlpoolProgram, Key{}, a, b, vaults, func(p *pool) []byte {
		p.config, p.quote = whirlConfigKey(), quote
		p.observation, _ = pda(WhirlpoolProgram, []byte("oracle"), p.key[:])
		g.genesisWhirlArrays(p.key, arrays)
		account := layout.Whirlpool{
			Config: p.config, Mints: [2]Key{a.mint, b.mint}, Vaults: p.vaults, Spacing: whirlSpacing, Rate: whirlRate,
			Liquidity: layout.U128{all}, Price: layout.U128{price[0], price[1]}, Tick: tick,
		}
		return account.Bytes()
	})
}

// genesisWhirlArrays places tick arrays. Those of even numbers are fixed ones, the others dynamic.
func (g *Generator) genesisWhirlArrays(pool Key, arrays map[int32][]layout.WhirlpoolTick) {
	for _, n := range slices.Sorted(maps.Keys(arrays)) {
		ticks, start := arrays[n], n*whirlWidth
		slices.SortFunc(ticks, func(a, b layout.WhirlpoolTick) int { return cmp.Compare(a.Place, b.Place) })
		data := layout.WhirlpoolDynamicArray(pool, start, ticks)
		if n%2 == 0 {
			data = layout.WhirlpoolFixedArray(pool, start, ticks)
		}
		g.place(whirlArrayKey(pool, n), &Account{Lamports: RentExempt(len(data)), Owner: WhirlpoolProgram, Data: data})
	}
}

// virtualReserves returns L·2⁶⁴/√P and L·√P/2⁶⁴.
func virtualReserves(liquidity, price *uint256.Int) [2]uint64 {
	one := new(uint256.Int).Mul(liquidity, price)
	zero := new(uint256.Int).Lsh(liquidity, 64)
	return [2]uint64{zero.Div(zero, price).Uint64(), one.Rsh(one, 64).Uint64()}
}
