package whirlpool

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/holiman/uint256"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"

	"github.com/mintlake/mintlake/internal/testkit/executed"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/internal/testkit/venuetest"
	"github.com/mintlake/mintlake/schemas/pubkey"
	rpc "github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
	"github.com/mintlake/mintlake/testworld/layout"
)

const now = 1_750_000_000

// drawPool draws a pool with positions around its price.
func drawPool(t *rapid.T) *Pool {
	spacing := rapid.SampledFrom([]int32{1, 2, 8, 64, 128, 32896}).Draw(t, "spacing")
	reach := min(400_000, 3*ticksPerArray*spacing)
	current := rapid.Int32Range(-200_000, 200_000).Draw(t, "tick")
	p := plainPool(spacing, current, rapid.Uint32Range(0, 60_000).Draw(t, "rate"), arith.U128{})
	if between := priceAt(current + 1).Wide(); rapid.Bool().Draw(t, "between ticks") {
		low := p.state.price.Wide()
		between.Add(&between, &low)
		p.state.price = arith.Narrow(between.Rsh(&between, 1))
	}
	nets, liquidity := map[int32]*uint256.Int{}, new(uint256.Int)
	add := func(index int32, amount *uint256.Int) {
		if nets[index] == nil {
			nets[index] = new(uint256.Int)
		}
		nets[index].Add(nets[index], amount)
	}
	for range rapid.IntRange(0, 12).Draw(t, "positions") {
		at := func(label string) int32 {
			index := current + rapid.Int32Range(-reach, reach).Draw(t, label)
			return int32(floorDiv(int64(min(max(index, minTick+spacing), maxTick)), int64(spacing))) * spacing
		}
		low, high := at("low"), at("high")
		if low > high {
			low, high = high, low
		}
		if low == high {
			continue
		}
		amount := new(uint256.Int).Lsh(uint256.NewInt(rapid.Uint64Range(1, 1<<32).Draw(t, "liquidity")), rapid.UintRange(0, 60).Draw(t, "bits"))
		add(low, amount)
		add(high, new(uint256.Int).Neg(amount))
		if low <= current && current < high {
			liquidity.Add(liquidity, amount)
		}
	}
	p.state.liquidity = arith.Narrow(liquidity)
	p.fill(nets)
	if rapid.Bool().Draw(t, "adaptive") {
		p.oracle = drawOracle(t, p)
	}
	return p
}

// fill makes the arrays of ticks.
func (p *Pool) fill(nets map[int32]*uint256.Int) {
	for i := range p.arrays {
		number := p.first + int32(i)
		start := number * ticksPerArray * p.state.spacing
		a := &array{pool: p.address, start: start}
		for place := range int32(ticksPerArray) {
			if net := nets[start+place*p.state.spacing]; net != nil {
				a.ticks = append(a.ticks, tick{arith.Narrow(net), uint8(place)})
			}
		}
		p.arrays[i] = held{number: number, array: a}
	}
}

func drawOracle(t *rapid.T, p *Pool) *oracle {
	o := &oracle{
		pool: p.address, filter: 30, decay: 600, reduction: 5000, control: rapid.Uint32Range(0, 90_000).Draw(t, "control"),
		most: rapid.Uint32Range(0, 50_000).Draw(t, "most"), major: 64, updated: now - rapid.Uint64Range(0, 5000).Draw(t, "age"),
		group: uint16(min(p.state.spacing, rapid.SampledFrom([]int32{1, 8, 64, 128}).Draw(t, "group"))),
	}
	o.volatility, o.accumulator = rapid.Uint32Range(0, o.most).Draw(t, "volatility"), rapid.Uint32Range(0, o.most).Draw(t, "accumulator")
	o.reference = p.state.tick/int32(o.group) + rapid.Int32Range(-5, 5).Draw(t, "reference")
	o.majorAt = o.updated
	return o
}

func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPool(t)
		// A swap may move the adaptive fee's reference, so that the second of two pays less.
		venuetest.Properties(t, venuetest.Case{
			Pool: p, Held: [2]uint64{math.MaxUint64, math.MaxUint64}, SplitGains: p.oracle != nil, Clock: venue.Clock{UnixTime: now},
		})
	})
}

// TestTheLadderIsTheWalk compares quotes with a swap that is computed step by step.
func TestTheLadderIsTheWalk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, aToB := drawPool(t), rapid.Bool().Draw(t, "a to b")
		limit := maxPrice
		if aToB {
			limit = minPrice
		}
		_, _, _, _ = both(t, p, venuetest.Amount(t, "amount"), rapid.Bool().Draw(t, "exact out"), aToB, limit, now)
	})
}

func TestTicksAndPrices(t *testing.T) {
	require.Equal(t, arith.U128{Lo: 4295048016}, minPrice)
	require.Equal(t, arith.Narrow(uint256.MustFromDecimal("79226673515401279992447579055")), maxPrice)
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.Int32Range(minTick, maxTick-1).Draw(t, "tick")
		low, high := priceAt(at), priceAt(at+1)
		require.True(t, low.Less(high))
		require.Equal(t, at, tickAt(low))
		last := high.Wide()
		require.Equal(t, at, tickAt(arith.Narrow(last.SubUint64(&last, 1))))
	})
}

// example returns a pool account of the vectors with its state in the file.
func example(t testing.TB, tag string) (f *orders, state int) {
	t.Helper()
	f = executed.Read[args, after](t, vectors+"executed_whirlpool_0.9.json.gz")
	for i := range f.Cases {
		if c := &f.Cases[i]; c.Has(tag) && c.Name == "swap_v2" && c.Error == nil {
			return f, c.State
		}
	}
	require.Fail(t, "no such case", tag)
	return nil, 0
}

func same(data []byte) []byte { return data }

func TestTheWindowFollowsThePrice(t *testing.T) {
	f, state := example(t, "adaptive")
	account, _ := f.Held(state, same).Account(f.Key(t, state, "pool"))
	program := pubkey.MustParse(f.Program)
	r, err := open(program, f.Key(t, state, "pool"), account.Data, nil)
	require.NoError(t, err)
	near, spare := r.Near(), r.Spare()
	require.Contains(t, near, f.Key(t, state, "oracle"))
	require.LessOrEqual(t, len(near), 2*arraysPerSwap+1)
	require.Len(t, spare, 2*spares)
	for role := range f.States[state].Keys {
		if len(role) > 10 && role[:10] == "tick_array" {
			require.Contains(t, append(near, spare...), f.Key(t, state, role), role)
		}
	}
	// A price one array higher needs a new address at one end only.
	data := append([]byte(nil), account.Data...)
	next := r.state.tick + ticksPerArray*r.state.spacing
	price := priceAt(next)
	copy(data[poolPrice:], price.Append(nil))
	binary.LittleEndian.PutUint32(data[poolTick:], uint32(next))
	moved, err := r.Next(data)
	require.NoError(t, err)
	fresh, err := open(program, r.address, data, nil)
	require.NoError(t, err)
	require.Equal(t, fresh, moved)
	known := map[venue.Key]bool{}
	for _, p := range r.places {
		known[p.address] = true
	}
	added := 0
	for _, p := range fresh.places {
		if !known[p.address] {
			added++
		}
	}
	require.Equal(t, 1, added)
	require.Nil(t, r.Wider())
}

func TestItTradesFromATimeOn(t *testing.T) {
	f, state := example(t, "adaptive")
	p := executedPool(t, f, state, "", same)
	changed := *p.oracle
	changed.enabled = uint64(f.Clock(state).UnixTime) + 1
	p.oracle = &changed
	_, err := p.Quote(venue.Order{In: p.state.mints[0], Amount: 1000, Clock: f.Clock(state)})
	require.ErrorIs(t, err, venue.ErrClosed)
}

func TestArraysOfOthersAreRefused(t *testing.T) {
	f, state := example(t, "arrays three")
	pool := f.Key(t, state, "pool")
	account, _ := f.Held(state, same).Account(pool)
	r, err := open(pubkey.MustParse(f.Program), pool, account.Data, nil)
	require.NoError(t, err)
	for name, edit := range map[string]func(a *array){
		"another pool's": func(a *array) { a.pool = venue.Key{1} },
		"another place":  func(a *array) { a.start += ticksPerArray * r.state.spacing },
	} {
		held := f.Held(state, func(data []byte) []byte {
			a, err := decodeArray(data)
			if err != nil {
				return data
			}
			edit(a)
			return a.compact()
		})
		_, err := r.Decode(anyArray{held})
		require.ErrorIs(t, err, venue.ErrMalformed, name)
	}
}

func TestAQuoteDoesNotAllocate(t *testing.T) {
	f, state := example(t, "arrays three")
	p := executedPool(t, f, state, "", same)
	o := venue.Order{In: p.state.mints[0], Amount: 1000, Clock: f.Clock(state)}
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = p.Quote(o) }))
}

// FuzzArray feeds hostile tick arrays: the compact form says the same as the whole one.
func FuzzArray(f *testing.F) {
	file, state := example(f, "arrays three")
	for _, hash := range file.States[state].Accounts {
		if hash != nil {
			f.Add(file.Accounts[*hash])
			f.Add(Venue{}.Shrink(file.Accounts[*hash]))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		compact := Venue{}.Shrink(data)
		require.Equal(t, compact, Venue{}.Shrink(compact))
		before, failed := decodeArray(data)
		after, err := decodeArray(compact)
		require.Equal(t, failed == nil, err == nil)
		require.Equal(t, before, after)
	})
}

// FuzzPool feeds hostile accounts: an error or a quote, never a panic.
func FuzzPool(f *testing.F) {
	for _, tag := range []string{"arrays three", "adaptive"} {
		file, state := example(f, tag)
		s := file.States[state]
		data := func(role string) []byte {
			if hash := s.Accounts[role]; hash != nil {
				return file.Accounts[*hash]
			}
			return nil
		}
		for role := range s.Accounts {
			if len(role) > 10 && role[:10] == "tick_array" {
				f.Add(data("pool"), data("oracle"), Venue{}.Shrink(data(role)), uint64(1000))
			}
		}
	}
	f.Fuzz(func(t *testing.T, data, oracle, ticks []byte, amount uint64) {
		address := swaptest.Named("pool")
		opened, err := Venue{}.Open(address, data)
		if err != nil {
			return
		}
		coin := layout.Mint{}
		held := map[venue.Key]*rpc.Account{address: {Owner: Program, Data: data}}
		for _, key := range opened.Mints() {
			held[key] = &rpc.Account{Owner: mint.Token, Data: coin.Bytes()}
		}
		r := opened.(*ref)
		for _, p := range r.places {
			a, err := decodeArray(ticks)
			if err != nil {
				break
			}
			a.pool, a.start = address, p.number*ticksPerArray*r.state.spacing
			held[p.address] = &rpc.Account{Owner: Program, Data: a.compact()}
		}
		if len(oracle) >= oracleSize {
			oracle = append([]byte(nil), oracle...)
			copy(oracle[oraclePool:], address[:])
		}
		held[r.oracle] = &rpc.Account{Owner: Program, Data: oracle}
		p, err := opened.Decode(anyArray{venue.NewAccounts(held)})
		if err != nil {
			return
		}
		venuetest.Hostile(t, p, amount)
	})
}

func BenchmarkQuote(b *testing.B) {
	f, state := example(b, "arrays three")
	p := executedPool(b, f, state, "", same)
	o := venue.Order{In: p.state.mints[0], Amount: 1_000_000, Clock: f.Clock(state)}
	b.ReportAllocs()
	for b.Loop() {
		_, _ = p.Quote(o)
	}
}

func BenchmarkLadder(b *testing.B) {
	f, state := example(b, "arrays three")
	p := executedPool(b, f, state, "", same)
	b.ReportAllocs()
	steps := 0
	for b.Loop() {
		steps = len(p.climb(true, regimeKeep, minPrice).steps)
	}
	b.ReportMetric(float64(steps), "steps")
}
