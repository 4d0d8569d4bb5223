package router

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/cpmm"
)

var (
	sol   = mint.WrappedSOL
	usdc  = swaptest.Named("usdc")
	coin  = swaptest.Named("coin")
	clock = venue.Clock{Slot: 1000, Epoch: 2, UnixTime: 1_700_000_000}
)

// world is a chain in memory whose pools become a graph.
type world struct {
	*swaptest.Chain
	t     testing.TB
	edges []Edge
	rates map[venue.Key]rate
}

// rate is what the float model of a test must know of a pool: the reserves by mint that make its
// price, and by the mint that is sold what is left of the input after the fee, and of the output.
type rate struct {
	reserves map[venue.Key]float64
	in, out  map[venue.Key]float64
}

func newWorld(t testing.TB) *world {
	w := &world{Chain: swaptest.New(), t: t, rates: map[venue.Key]rate{}}
	w.Mint(usdc, swaptest.TokenProgram, 6)
	w.Mint(coin, swaptest.TokenProgram, 6)
	return w
}

// pool adds a CPMM pool; fee is in millionths.
func (w *world) pool(name string, a, b venue.Key, ofA, ofB, fee uint64) venue.Key {
	left := 1 - float64(fee)/1e6
	keys := w.CPMM(swaptest.Pool{Name: name, Mints: [2]venue.Key{a, b}, Amounts: [2]uint64{ofA, ofB}, TradeRate: fee})
	return w.add(cpmm.Venue{}, keys.Pool, [2]venue.Key{a, b}, rate{
		map[venue.Key]float64{a: float64(ofA), b: float64(ofB)}, map[venue.Key]float64{a: left, b: left}, map[venue.Key]float64{a: 1, b: 1},
	})
}

// add opens a pool whose accounts are on the chain.
func (w *world) add(v venue.Venue, address venue.Key, mints [2]venue.Key, model rate) venue.Key {
	w.t.Helper()
	read := func(list ...venue.Key) map[venue.Key]*solana.Account {
		_, accounts, err := w.GetMultipleAccounts(w.t.Context(), list, solana.AccountOptions{})
		require.NoError(w.t, err)
		found := map[venue.Key]*solana.Account{}
		for i, k := range list {
			found[k] = accounts[i]
		}
		return found
	}
	ref, err := v.Open(address, read(address)[address].Data, mints[:]...)
	require.NoError(w.t, err)
	pool, err := ref.Decode(venue.NewAccounts(read(slices.Concat(venue.Needs(ref), mints[:])...)))
	require.NoError(w.t, err)
	w.edges = append(w.edges, Edge{Pool: pool, Venue: v.Name(), Slot: 1000, Clock: clock})
	w.rates[address] = model
	return address
}

// graphOf makes a graph of edges in any order.
func graphOf(edges []Edge) *Graph {
	at := map[[2]venue.Key]int{}
	var pairs []Pair
	for _, e := range edges {
		mints := e.Mints()
		mints[0], mints[1] = venue.Ordered(mints[0], mints[1])
		i, known := at[mints]
		if !known {
			i = len(pairs)
			at[mints], pairs = i, append(pairs, Pair{Mints: mints})
		}
		pairs[i].Edges = append(pairs[i].Edges, e)
	}
	return NewGraph(pairs)
}

// market makes pools of all venues and of realistic depth: a few hubs, many tokens with one to four
// pools, depths that spread over five orders of magnitude, prices within half a percent of each
// other.
func market(t testing.TB, pools int, seed uint64) (*world, []venue.Key) {
	w := newWorld(t)
	w.configs()
	random := rand.New(rand.NewPCG(seed, 1))
	hubs := []venue.Key{sol, usdc, swaptest.Named("usdt"), coin}
	// units for one of SOL
	prices := map[venue.Key]float64{sol: 1, usdc: 100, hubs[2]: 100, coin: 5000}
	w.Mint(hubs[2], swaptest.TokenProgram, 6)
	tokens := append([]venue.Key{}, hubs...)
	fees := []uint64{100, 500, 2500, 2500, 10_000, 20_000}
	depth := func(scale float64) float64 { return math.Exp(random.NormFloat64()*2.3) * scale }
	add := func(a, b venue.Key, inSOL float64) {
		noise := 1 + (random.Float64()-0.5)/100
		name, amounts := fmt.Sprint("pool ", len(w.edges)), [2]uint64{units(inSOL * prices[a]), units(inSOL * prices[b] * noise)}
		switch fee := fees[random.IntN(len(fees))]; random.IntN(8) {
		case 0:
			w.ammV4(name, a, b, amounts)
		case 1:
			w.pumpSwap(name, a, b, amounts, false)
		case 2:
			w.dammV2(name, a, b, amounts, fee)
		case 3:
			if b == sol && w.curve(a, amounts) {
				return
			}
			w.pumpSwap(name, a, b, amounts, false)
		default:
			w.pool(name, a, b, amounts[0], amounts[1], fee)
		}
	}
	for i, a := range hubs {
		for _, b := range hubs[:i] {
			for range 6 {
				add(a, b, depth(3e12))
			}
		}
	}
	for len(w.edges) < pools {
		token := swaptest.Named(fmt.Sprint("token ", len(tokens)))
		w.Mint(token, swaptest.TokenProgram, 6)
		prices[token] = math.Exp(random.NormFloat64() * 3)
		tokens = append(tokens, token)
		for range 1 + random.IntN(4) {
			other := hubs[min(random.IntN(8), 7)%len(hubs)]
			if random.IntN(10) == 0 && len(tokens) > 10 {
				other = tokens[4+random.IntN(len(tokens)-5)]
			}
			if other != token && len(w.edges) < pools {
				add(token, other, depth(5e10))
			}
		}
	}
	return w, tokens
}

func units(n float64) uint64 { return uint64(min(max(n, 1e4), 1e18)) }

// question is a sale of amount of a for b.
func question(a, b venue.Key, amount uint64) Question {
	return Question{In: a, Out: b, Amount: amount, Native: sol, Slack: 10}
}
