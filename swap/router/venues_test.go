package router

import (
	"encoding/binary"
	"math/big"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/svmtest"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/ammv4"
	"github.com/mintlake/mintlake/swap/venue/dammv2"
	"github.com/mintlake/mintlake/swap/venue/pumpcurve"
	"github.com/mintlake/mintlake/swap/venue/pumpfees"
	"github.com/mintlake/mintlake/swap/venue/pumpswap"
)

// onInput and onOutput are models of a pool that takes its fee there, whatever is sold.
func onInput(a, b venue.Key, amounts [2]uint64, fee float64) rate {
	return rate{
		map[venue.Key]float64{a: float64(amounts[0]), b: float64(amounts[1])}, map[venue.Key]float64{a: 1 - fee, b: 1 - fee}, map[venue.Key]float64{a: 1, b: 1},
	}
}

func onOutput(a, b venue.Key, amounts [2]uint64, fee float64) rate {
	r := onInput(a, b, amounts, fee)
	r.in, r.out = r.out, r.in
	return r
}

// onQuote is the model of pump's pools, whose fee of a buy comes on top of what moves on the curve.
func onQuote(coin, quote venue.Key, amounts [2]uint64, fee float64) rate {
	return rate{
		map[venue.Key]float64{coin: float64(amounts[0]), quote: float64(amounts[1])},
		map[venue.Key]float64{coin: 1, quote: 1 / (1 + fee)}, map[venue.Key]float64{coin: 1 - fee, quote: 1},
	}
}

// ammV4 adds a pool of Raydium AMM v4, whose fee is 25 basis points.
func (w *world) ammV4(name string, a, b venue.Key, amounts [2]uint64) {
	address, vaults := swaptest.Named(name), [2]venue.Key{swaptest.Named(name + " 0"), swaptest.Named(name + " 1")}
	data := make([]byte, ammv4.PoolSize)
	svmtest.NumbersAt(data, map[int]uint64{0: 6, 176: 25, 184: 10_000})
	svmtest.KeysAt(data, map[int]venue.Key{336: vaults[0], 368: vaults[1], 400: a, 432: b})
	w.vaults(vaults, [2]venue.Key{a, b}, amounts)
	w.Set(address, ammv4.Program, data)
	w.add(ammv4.Venue{}, address, [2]venue.Key{a, b}, onInput(a, b, amounts, 0.0025))
}

func (w *world) vaults(keys, mints [2]venue.Key, amounts [2]uint64) {
	for i, key := range keys {
		w.TokenAccount(key, swaptest.TokenProgram, mints[i], amounts[i])
	}
}

// pumpFee is the fee of all of pump's pools and curves here, in basis points.
const pumpFee = 30

// configs adds the accounts that pump's pools and curves share.
func (w *world) configs() {
	fees := make([]byte, 41)
	copy(fees, []byte{0x8f, 0x34, 0x92, 0xbb, 0xdb, 0x7b, 0x4c, 0x9b})
	rates := func() {
		for _, n := range []uint64{0, pumpFee, 0} {
			fees = binary.LittleEndian.AppendUint64(fees, n)
		}
	}
	rates()
	// One tier, from a market cap of 0.
	fees = append(binary.LittleEndian.AppendUint32(fees, 1), make([]byte, 16)...)
	rates()
	w.Set(pumpswap.FeeConfig, pumpfees.Program, fees)
	w.Set(pumpcurve.FeeConfig, pumpfees.Program, fees)
	config := make([]byte, 643)
	copy(config, []byte{0x95, 0x08, 0x9c, 0xca, 0xa0, 0xfc, 0xb0, 0xd9})
	w.Set(pumpswap.GlobalConfig, pumpswap.Program, config)
	global := make([]byte, 1088)
	copy(global, []byte{0xa7, 0xe8, 0xe8, 0xb1, 0xc8, 0x6c, 0x72, 0x7f, 1})
	w.Set(pumpcurve.Global, pumpcurve.Program, global)
}

// pumpSwap adds a pool of PumpSwap, which pump made itself if canonical is set.
func (w *world) pumpSwap(name string, a, b venue.Key, amounts [2]uint64, canonical bool) {
	address, vaults := swaptest.Named(name), [2]venue.Key{swaptest.Named(name + " 0"), swaptest.Named(name + " 1")}
	data := make([]byte, 301)
	copy(data, []byte{0xf1, 0x9a, 0x6d, 0x04, 0x11, 0xb1, 0x6d, 0xbc})
	svmtest.KeysAt(data, map[int]venue.Key{43: a, 75: b, 139: vaults[0], 171: vaults[1]})
	if canonical {
		svmtest.KeysAt(data, map[int]venue.Key{11: venue.MustDerive(pumpswap.Curve, []byte("pool-authority"), a[:])})
	}
	w.vaults(vaults, [2]venue.Key{a, b}, amounts)
	w.Set(address, pumpswap.Program, data)
	w.add(pumpswap.Venue{}, address, [2]venue.Key{a, b}, onQuote(a, b, amounts, float64(pumpFee)/1e4))
}

// curve adds a coin's curve in SOL. It returns false if the coin has one.
func (w *world) curve(coin venue.Key, amounts [2]uint64) bool {
	address, err := pumpcurve.Address(coin)
	require.NoError(w.t, err)
	if _, known := w.rates[address]; known {
		return false
	}
	data := make([]byte, 166)
	copy(data, []byte{0x17, 0xb7, 0xf8, 0x37, 0x60, 0xd8, 0xac, 0x60})
	svmtest.NumbersAt(data, map[int]uint64{8: amounts[0], 16: amounts[1], 24: amounts[0] / 4 * 3, 32: amounts[1] / 2, 40: amounts[0]})
	w.Set(address, pumpcurve.Program, data)
	w.add(pumpcurve.Venue{}, address, [2]venue.Key{coin, sol}, onQuote(coin, sol, amounts, float64(pumpFee)/1e4))
	return true
}

// dammV2 adds a pool of DAMM v2 whose price may move by a factor of a million each way, and whose
// fee is in the token that is bought.
func (w *world) dammV2(name string, a, b venue.Key, amounts [2]uint64, fee uint64) {
	address := swaptest.Named(name)
	data := make([]byte, dammv2.PoolSize)
	copy(data, []byte{0xf1, 0x9a, 0x6d, 0x04, 0x11, 0xb1, 0x6d, 0xbc})
	svmtest.KeysAt(data, map[int]venue.Key{168: a, 200: b, 232: swaptest.Named(name + " 0"), 264: swaptest.Named(name + " 1")})
	svmtest.NumbersAt(data, map[int]uint64{8: fee * 1000})
	root := func(x *big.Float) *big.Float { return x.Sqrt(x) }
	number := func(n uint64) *big.Float { return new(big.Float).SetPrec(200).SetUint64(n) }
	// Liquidity is √(ab)·2^64, the price √(b/a)·2^64.
	wide := func(at int, x *big.Float, times float64) {
		scaled, _ := x.Mul(x, new(big.Float).SetMantExp(big.NewFloat(times), 64)).Int(nil)
		raw := scaled.FillBytes(make([]byte, 16))
		for i := range raw {
			data[at+i] = raw[15-i]
		}
	}
	price := func() *big.Float { q := number(amounts[1]); return root(q.Quo(q, number(amounts[0]))) }
	liquidity := number(amounts[0])
	wide(360, root(liquidity.Mul(liquidity, number(amounts[1]))), 1)
	wide(424, price(), 1e-3)
	wide(440, price(), 1e3)
	wide(456, price(), 1)
	w.Set(address, dammv2.Program, data)
	w.add(dammv2.Venue{}, address, [2]venue.Key{a, b}, onOutput(a, b, amounts, float64(fee)/1e6))
}
