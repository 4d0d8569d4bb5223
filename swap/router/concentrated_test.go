package router

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/svmtest"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/whirlpool"
)

const (
	tickSpacing = 64
	arrayTicks  = 88 * tickSpacing
)

// position is a range of prices in ticks, and how much liquidity there is in it.
type position struct {
	low, high int
	liquidity float64
}

// concentrate adds pools of Whirlpool beside some of the pools that there are: with a price within
// half a percent of theirs, and with the liquidity of several positions, most of it near the price.
func (w *world) concentrate(share float64, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 2))
	for i, e := range w.edges {
		if random.Float64() >= share {
			continue
		}
		var amounts [2]float64
		mints := e.Mints()
		mints[0], mints[1] = venue.Ordered(mints[0], mints[1])
		for side, m := range mints {
			amounts[side] = w.rates[e.Address()].reserves[m]
		}
		price := amounts[1] / amounts[0] * (1 + (random.Float64()-0.5)/100)
		tick := int(math.Floor(math.Log(price) / math.Log(1.0001)))
		if tick < -400_000 || tick > 400_000 {
			continue
		}
		whole := math.Sqrt(amounts[0]*amounts[1]) * math.Exp(random.NormFloat64())
		var list []position
		for _, width := range []int{200, 800, 4000} {
			grid := func(t int) int { return int(math.Floor(float64(t)/tickSpacing)) * tickSpacing }
			list = append(list, position{grid(tick - width), grid(tick+width) + tickSpacing, whole * (0.2 + random.Float64()*3)})
		}
		w.whirlpool(fmt.Sprint("whirlpool ", i), mints, tick, list, uint16([]int{100, 400, 3000}[random.IntN(3)]))
	}
}

// whirlpool adds a pool and its tick arrays. The fee is in millionths.
func (w *world) whirlpool(name string, mints [2]venue.Key, tick int, positions []position, fee uint16) {
	address := swaptest.Named(name)
	data := make([]byte, whirlpool.PoolSize)
	copy(data, []byte{0x3f, 0x95, 0xd1, 0x0c, 0xe1, 0x80, 0x63, 0x09})
	svmtest.KeysAt(data, map[int]venue.Key{101: mints[0], 133: swaptest.Named(name + " 0"), 181: mints[1], 213: swaptest.Named(name + " 1")})
	data[41], data[43] = tickSpacing, tickSpacing
	data[45], data[46] = byte(fee), byte(fee>>8)
	liquidity, nets := 0.0, map[int]float64{}
	for _, p := range positions {
		nets[p.low] += math.Floor(p.liquidity)
		nets[p.high] -= math.Floor(p.liquidity)
		liquidity += math.Floor(p.liquidity)
	}
	wideAt(data, 49, big.NewFloat(liquidity))
	wideAt(data, 65, new(big.Float).SetMantExp(big.NewFloat(math.Exp((float64(tick)+0.5)/2*math.Log(1.0001))), 64))
	// The four bytes behind the tick are fees that are owed.
	svmtest.NumbersAt(data, map[int]uint64{81: uint64(uint32(int32(tick)))})
	arrays := map[int][]byte{}
	for at, net := range nets {
		start := int(math.Floor(float64(at)/arrayTicks)) * arrayTicks
		if arrays[start] == nil {
			array := make([]byte, 9988)
			copy(array, []byte{0x45, 0x61, 0xbd, 0xbe, 0x6e, 0x07, 0x42, 0xbb})
			svmtest.NumbersAt(array, map[int]uint64{8: uint64(uint32(int32(start)))})
			svmtest.KeysAt(array, map[int]venue.Key{9956: address})
			arrays[start] = array
		}
		place := 12 + 113*(at-start)/tickSpacing
		arrays[start][place] = 1
		wideAt(arrays[start], place+1, big.NewFloat(net))
		wideAt(arrays[start], place+17, big.NewFloat(math.Abs(net)))
	}
	for start, array := range arrays {
		key, err := venue.Derive(whirlpool.Program, []byte("tick_array"), address[:], []byte(strconv.Itoa(start)))
		require.NoError(w.t, err)
		w.Set(key, whirlpool.Program, array)
	}
	w.Set(address, whirlpool.Program, data)
	w.add(whirlpool.Venue{}, address, mints, rate{})
}

// wideAt writes a number of 128 bits, in two's complement.
func wideAt(data []byte, at int, x *big.Float) {
	n, _ := x.Int(nil)
	if n.Sign() < 0 {
		n.Add(n, new(big.Int).Lsh(big.NewInt(1), 128))
	}
	raw := n.FillBytes(make([]byte, 16))
	for i := range raw {
		data[at+i] = raw[15-i]
	}
}
