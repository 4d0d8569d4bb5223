package swap

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/clmm"
	"github.com/mintlake/mintlake/swap/venue/dlmm"
	"github.com/mintlake/mintlake/swap/venue/whirlpool"
)

// allBits is a liquidity of 2¹²⁸-1.
var allBits = bytes.Repeat([]byte{0xff}, 16)

// hostilePools put a pool whose accounts lie on a chain.
var hostilePools = map[string]func(t *testing.T, c *swaptest.Chain){
	"raydium_clmm: liquidity of all bits": func(t *testing.T, c *swaptest.Chain) {
		pool, _ := concentrated(t, c, clmm.Raydium.Program(), 2)
		c.Edit(pool, func(data []byte) { copy(data[237:], allBits) })
	},
	"raydium_clmm: an array of another pool": func(t *testing.T, c *swaptest.Chain) {
		pool, _ := concentrated(t, c, clmm.Raydium.Program(), 2)
		c.Edit(clmmArrayOf(t, pool, 0), func(data []byte) { data[8]++ })
	},
	"raydium_clmm: an array of another place": func(t *testing.T, c *swaptest.Chain) {
		pool, _ := concentrated(t, c, clmm.Raydium.Program(), 2)
		c.Edit(clmmArrayOf(t, pool, 0), func(data []byte) { binary.LittleEndian.PutUint32(data[40:], 600) })
	},
	"raydium_clmm: ticks out of order": func(t *testing.T, c *swaptest.Chain) {
		pool, _ := concentrated(t, c, clmm.Raydium.Program(), 2)
		c.Edit(clmmArrayOf(t, pool, 0), func(data []byte) { binary.LittleEndian.PutUint32(data[44:], 500) })
	},
	"raydium_clmm: a bitmap that lies": func(t *testing.T, c *swaptest.Chain) {
		pool, _ := concentrated(t, c, clmm.Raydium.Program(), 2)
		c.Edit(pool, func(data []byte) {
			for i := range 128 {
				data[904+i] = 0xff
			}
		})
	},
	"orca_whirlpool: liquidity of all bits": func(t *testing.T, c *swaptest.Chain) {
		pool, _ := orca(t, c, "hostile", coin, swaptest.WrappedSOL)
		c.Edit(pool, func(data []byte) { copy(data[49:], allBits) })
	},
	"orca_whirlpool: an array of another pool": func(t *testing.T, c *swaptest.Chain) {
		pool, _ := orca(t, c, "hostile", coin, swaptest.WrappedSOL)
		c.Edit(whirlpoolArrayOf(t, pool, 0), func(data []byte) { data[12]++ })
	},
	"orca_whirlpool: an array of another place": func(t *testing.T, c *swaptest.Chain) {
		pool, _ := orca(t, c, "hostile", coin, swaptest.WrappedSOL)
		c.Edit(whirlpoolArrayOf(t, pool, 0), func(data []byte) { binary.LittleEndian.PutUint32(data[8:], 704) })
	},
	"orca_whirlpool: an array cut off": func(t *testing.T, c *swaptest.Chain) {
		pool, _ := orca(t, c, "hostile", coin, swaptest.WrappedSOL)
		c.Edit(whirlpoolArrayOf(t, pool, 0), func(data []byte) {
			for i := range 16 { // the bitmap says that all ticks have their bytes
				data[44+i] = 0xff
			}
		})
	},
	"meteora_dlmm: an array of another pool": func(t *testing.T, c *swaptest.Chain) {
		pool, _ := binned(t, c)
		c.Edit(dlmmArrayOf(t, pool, 0), func(data []byte) { data[24]++ })
	},
	"meteora_dlmm: an array of another place": func(t *testing.T, c *swaptest.Chain) {
		pool, _ := binned(t, c)
		c.Edit(dlmmArrayOf(t, pool, 0), func(data []byte) { data[8]++ })
	},
	"meteora_dlmm: a bitmap that lies": func(t *testing.T, c *swaptest.Chain) {
		pool, _ := binned(t, c)
		c.Edit(pool, func(data []byte) {
			for i := range 128 {
				data[584+i] = 0xff
			}
		})
	},
}

func clmmArrayOf(t *testing.T, pool venue.Key, start uint32) venue.Key {
	t.Helper()
	key, err := venue.Derive(clmm.Raydium.Program(), []byte("tick_array"), pool[:], binary.BigEndian.AppendUint32(nil, start))
	require.NoError(t, err)
	return key
}

func whirlpoolArrayOf(t *testing.T, pool venue.Key, start int) venue.Key {
	t.Helper()
	key, err := venue.Derive(whirlpool.Program, []byte("tick_array"), pool[:], []byte(strconv.Itoa(start)))
	require.NoError(t, err)
	return key
}

func dlmmArrayOf(t *testing.T, pool venue.Key, index uint64) venue.Key {
	t.Helper()
	key, err := venue.Derive(dlmm.Program, []byte("bin_array"), pool[:], binary.LittleEndian.AppendUint64(nil, index))
	require.NoError(t, err)
	return key
}

// TestAHostilePoolIsNoRoute: it is refused at once, and a pool with a bad price beside it takes the
// trade. Before it lied, the hostile one was the better one.
func TestAHostilePoolIsNoRoute(t *testing.T) {
	for name, put := range hostilePools {
		t.Run(name, func(t *testing.T) {
			c := chain()
			put(t, c)
			honest := c.CPMM(swaptest.Pool{Name: "honest", Mints: [2]venue.Key{coin, swaptest.WrappedSOL}, Amounts: [2]uint64{1 << 40, 1 << 40}, TradeRate: 500_000})
			f := start(t, Config{Hubs: []venue.Key{}}, c)
			for _, in := range []venue.Key{coin, swaptest.WrappedSOL} {
				out := coin
				if in == coin {
					out = swaptest.WrappedSOL
				}
				for _, amount := range []string{"400000", "1000000"} {
					began := time.Now()
					r := f.quoteOK(t, query(in, out, amount))
					require.Less(t, time.Since(began), 10*time.Second)
					require.Len(t, r.Route, 1)
					require.Equal(t, honest.Pool.String(), r.Route[0].Pool)
				}
			}
		})
	}
	c := chain()
	concentrated(t, c, clmm.Raydium.Program(), 2)
	orca(t, c, "hostile", coin, swaptest.WrappedSOL)
	binned(t, c)
	c.CPMM(swaptest.Pool{Name: "honest", Mints: [2]venue.Key{coin, swaptest.WrappedSOL}, Amounts: [2]uint64{1 << 40, 1 << 40}, TradeRate: 500_000})
	f := start(t, Config{Hubs: []venue.Key{}}, c)
	for _, name := range []string{clmm.Raydium.Name(), whirlpool.Name, dlmm.Name} {
		r := f.quoteOK(t, query(coin, swaptest.WrappedSOL, "400000", fieldDexes, "raydium_cpmm,"+name))
		require.Equal(t, name, r.Route[0].Venue)
	}
}
