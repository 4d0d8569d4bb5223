package chain

import (
	"encoding/binary"
	"math/bits"

	"github.com/mintlake/mintlake/testworld/layout"
)

// Raydium AMM v4: places in AmmInfo and the instructions without an order book (raydium-amm,
// state.rs and instruction.rs).
const (
	v4PoolSize   = 752
	v4FeeNum     = 176
	v4FeeDen     = 184
	v4Vaults     = 336
	v4Mints      = 400
	v4LPAmount   = 720
	v4SwapOnly   = 6
	v4BaseIn     = 16
	v4BaseOut    = 17
	v4Exceeded   = 30 // ExceededSlippage
	v4Wrong      = 3  // InvalidInput
	v4Numerator  = 25
	v4Divisor    = 10_000
	v4LogBaseIn  = 3
	v4LogBaseOut = 4
)

// v4ExactIn returns ⌊net·Ro/(Ri+net)⌋, where net = a − ⌈a·25/10000⌉.
func v4ExactIn(amount, ri, ro uint64) uint64 {
	fee, _ := mulDivUp(amount, v4Numerator, v4Divisor)
	net := amount - fee
	sum, carry := bits.Add64(ri, net, 0)
	if carry != 0 || sum == 0 {
		return 0
	}
	return mulDiv(net, ro, sum)
}

// v4ExactOut returns ⌈net·10000/9975⌉, where net = ⌈Ri·o/(Ro−o)⌉; 0 if the pool does not hold so
// much.
func v4ExactOut(amount, ri, ro uint64) uint64 {
	if amount == 0 || amount >= ro {
		return 0
	}
	net, ok := mulDivUp(ri, amount, ro-amount)
	if !ok {
		return 0
	}
	in, ok := mulDivUp(net, v4Divisor, v4Divisor-v4Numerator)
	if !ok {
		return 0
	}
	return in
}

// runAMMv4 runs swap_base_in_v2 (16: amount in, least out) and swap_base_out_v2 (17: most in,
// amount out). Accounts: token program, pool, authority, coin vault, price vault, source,
// destination, user.
func runAMMv4(x *machine, f *frame) error {
	x.used += 14_000
	if len(f.data) < 17 || f.data[0] != v4BaseIn && f.data[0] != v4BaseOut {
		return fail(ErrInvalidInstructionData)
	}
	if err := f.need(8); err != nil {
		return err
	}
	a := f.accs
	pool := x.acc(a[1])
	if pool.Owner != AMMv4Program || len(pool.Data) != v4PoolSize || x.key(a[0]) != TokenProgram || x.key(a[2]) != AMMv4Authority ||
		x.key(a[3]) != keyAt(pool.Data, v4Vaults) || x.key(a[4]) != keyAt(pool.Data, v4Vaults+32) || !a[7].signer {
		return failCustom(v4Wrong)
	}
	in := 1
	if x.holds(a[5], keyAt(pool.Data, v4Mints)) {
		in = 0
	}
	if !x.holds(a[5], keyAt(pool.Data, v4Mints+32*in)) || !x.holds(a[6], keyAt(pool.Data, v4Mints+32*(1-in))) {
		return failCustom(v4Wrong)
	}
	return v4Swap(x, f, in, binary.LittleEndian.Uint64(f.data[1:]), binary.LittleEndian.Uint64(f.data[9:]))
}

// v4Swap runs a swap of the token at side in. first and second are the instruction's two numbers:
// for v4BaseIn the input and the least output, for v4BaseOut the most input and the output.
func v4Swap(x *machine, f *frame, in int, first, second uint64) error {
	a := f.accs
	vaults := [2]ref{a[3], a[4]}
	reserves := [2]uint64{layout.Amount(x.acc(a[3]).Data), layout.Amount(x.acc(a[4]).Data)}
	pays, sends := first, v4ExactIn(first, reserves[in], reserves[1-in])
	log, told, slipped := byte(v4LogBaseIn), sends, sends < second
	if f.data[0] == v4BaseOut {
		sends = second
		pays = v4ExactOut(second, reserves[in], reserves[1-in])
		log, told, slipped = v4LogBaseOut, pays, pays > first
	}
	if pays == 0 || sends == 0 {
		return failCustom(v4Wrong)
	}
	if slipped {
		x.log("Program log: Error: exceeds desired slippage limit")
		return failCustom(v4Exceeded)
	}
	ray := layout.AppendU64(layout.AppendU64([]byte{log}, first), second)
	ray = layout.AppendU64(layout.AppendU64(ray, uint64(2-in)), layout.Amount(x.acc(a[5]).Data))
	ray = layout.AppendU64(layout.AppendU64(layout.AppendU64(ray, reserves[0]), reserves[1]), told)
	x.log("Program log: ray_log: " + base64Std(ray))
	if err := swapTransfer(x, f, TokenProgram, a[5], vaults[in], a[7], pays); err != nil {
		return err
	}
	return swapTransfer(x, f, TokenProgram, vaults[1-in], a[6], ref{idx: a[2].idx, signer: true}, sends)
}

type v4Dex struct{}

func (v4Dex) reserves(g *Generator, p *pool) [2]uint64 { return g.balances(p) }

func (v4Dex) exactIn(g *Generator, p *pool, in int, amount uint64) uint64 {
	res := g.balances(p)
	return v4ExactIn(amount, res[in], res[1-in])
}

func (v4Dex) exactOut(g *Generator, p *pool, in int, amount uint64) uint64 {
	res := g.balances(p)
	return v4ExactOut(amount, res[in], res[1-in])
}

// swap: with base, first is the exact amount in and second the least amount out; without, first is
// the most in and second the exact amount out.
func (v4Dex) swap(_ *Generator, user Key, p *pool, in int, accounts [2]Key, first, second uint64, base bool) Instruction {
	tag := byte(v4BaseIn)
	if !base {
		tag = v4BaseOut
	}
	return Instruction{Program: AMMv4Program, Data: layout.AppendU64(layout.AppendU64([]byte{tag}, first), second), Accounts: []AccountMeta{readonly(TokenProgram),
		writable(p.key), readonly(AMMv4Authority), writable(p.vaults[0]), writable(p.vaults[1]), writable(accounts[in]), writable(accounts[1-in]),
		signer(user)}}
}

// genesisAMMv4 adds a pool in the state SwapOnly, which has no order book.
func (g *Generator) genesisAMMv4(coin, price *token, amounts [2]uint64) {
	g.genesisVenue(v4Dex{}, AMMv4Program, AMMv4Authority, coin, price, amounts, func(p *pool) []byte {
		d := make([]byte, v4PoolSize)
		for at, n := range map[int]uint64{0: v4SwapOnly, 32: uint64(coin.decimals), 40: uint64(price.decimals), v4FeeNum: v4Numerator,
			v4FeeDen: v4Divisor, v4LPAmount: isqrt(amounts[0], amounts[1])} {
			binary.LittleEndian.PutUint64(d[at:], n)
		}
		for i, t := range p.tokens {
			copy(d[v4Vaults+32*i:], p.vaults[i][:])
			copy(d[v4Mints+32*i:], t.mint[:])
		}
		return d
	})
}
