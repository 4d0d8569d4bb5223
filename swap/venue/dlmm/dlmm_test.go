package dlmm

import (
	"encoding/binary"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"

	"github.com/mintlake/mintlake/internal/testkit/executed"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/internal/testkit/venuetest"
	rpc "github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/testworld/layout"
)

const now = 1_750_000_000

// drawPool draws a pool with bins around its price, in arrays with gaps between them.
func drawPool(t *rapid.T) *Pool {
	p := &Pool{address: swaptest.Named("pool"), state: state{
		mints: [2]venue.Key{swaptest.Named("x"), swaptest.Named("y")}, active: rapid.Int32Range(-20_000, 20_000).Draw(t, "active"),
		step: rapid.SampledFrom([]uint16{1, 5, 20, 100}).Draw(t, "step"), orders: rapid.Bool().Draw(t, "orders"), onlyY: rapid.Bool().Draw(t, "only y"),
	}}
	for side, key := range p.state.mints {
		p.mints[side] = &mint.Mint{Address: key, Program: mint.Token}
	}
	p.state.fee = fee{
		factor: rapid.Uint16Range(0, 10_000).Draw(t, "factor"), filter: 30, decay: 600, reduction: 5000, control: rapid.Uint32Range(0, 40_000).Draw(t, "control"),
		most: 350_000, accumulator: rapid.Uint32Range(0, 300_000).Draw(t, "accumulator"), volatility: rapid.Uint32Range(0, 300_000).Draw(t, "volatility"),
		reference: p.state.active + rapid.Int32Range(-20, 20).Draw(t, "reference"), updated: now - rapid.Int64Range(0, 1000).Draw(t, "elapsed"),
	}
	table := powersOf(p.state.step)
	for i := range p.sides {
		ahead, index := int32(1), arrayOf(p.state.active)
		if i == 0 {
			ahead = -1
		} else if len(p.sides[0].arrays) > 0 && p.sides[0].arrays[0].index == index {
			p.sides[1].arrays = append(p.sides[1].arrays, p.sides[0].arrays[0])
			index++
		}
		for range rapid.IntRange(0, 2).Draw(t, "arrays") {
			p.sides[i].arrays = append(p.sides[i].arrays, held{index: index, array: drawArray(t, p, &table, index)})
			index += ahead * rapid.Int32Range(1, 3).Draw(t, "gap")
		}
		p.sides[i].end = errEmpty
	}
	return p
}

func drawArray(t *rapid.T, p *Pool, table *powers, index int32) *array {
	a := &array{pool: p.address, index: int64(index)}
	for range rapid.IntRange(0, 4).Draw(t, "bins") {
		place := rapid.Uint8Range(0, binsPerArray-1).Draw(t, "place")
		if len(a.bins) > 0 && lastPlace(a) >= place {
			continue
		}
		number := index*binsPerArray + int32(place)
		b := bin{place: place, check: checkOf(table.at(number)), ask: number > p.state.active}
		// The program's exact-out orders do not pay for a bin whose fee is all that it gives.
		amount := rapid.OneOf(rapid.Just(uint64(0)), rapid.Uint64Range(20, 1<<50))
		if number >= p.state.active {
			b.x = amount.Draw(t, "x")
		}
		if number <= p.state.active {
			b.y = amount.Draw(t, "y")
		}
		if rapid.Bool().Draw(t, "has orders") {
			b.open, b.processed = amount.Draw(t, "open"), amount.Draw(t, "processed")
		}
		a.bins = appendBin(a.bins, &b)
	}
	return a
}

func lastPlace(a *array) (place uint8) {
	a.each(false, func(b bin) bool {
		place = b.place
		return true
	})
	return place
}

func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// An order may end in a bin with one or two units too few to go on: it gets nothing for
		// them. The second of two orders may pay a lower fee, as the first moves its reference.
		venuetest.Properties(t, venuetest.Case{
			Pool: drawPool(t), Held: [2]uint64{math.MaxUint64, math.MaxUint64}, SplitGains: true, Rounding: 3, Clock: venue.Clock{UnixTime: now},
		})
	})
}

// TestTheLadderIsTheWalk compares quotes with a swap that goes from bin to bin.
func TestTheLadderIsTheWalk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, forY, exactOut := drawPool(t), rapid.Bool().Draw(t, "for y"), rapid.Bool().Draw(t, "exact out")
		amount := venuetest.Amount(t, "amount")
		l, err := p.ladder(forY, venue.Clock{UnixTime: now})
		require.NoError(t, err)
		got, failed := l.swap(amount, exactOut)
		walked, rest := result{}, amount
		for i := 0; rest > 0; i++ {
			if i == len(l.steps) {
				err = l.end
				break
			}
			s := &l.steps[i]
			o := l.offer(s)
			compute := o.sell
			if exactOut {
				compute = o.buy
			}
			var f filled
			if f, err = compute(rest); err != nil {
				break
			}
			if rest -= f.in; exactOut {
				rest += f.in - f.out
			}
			require.True(t, walked.add(f))
			walked.bin, walked.bins, walked.arrays = s.bin, i+1, int(s.arrays)
		}
		require.Equal(t, err == nil, failed == nil, "%v, %v", err, failed)
		if err == nil {
			require.Equal(t, walked, got)
		}
	})
}

// TestPrices compares with the formula in numbers without a size. The program's roundings add up to
// some units of the last places.
func TestPrices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		step, number := rapid.Uint16Range(1, 400).Draw(t, "step"), rapid.Int32Range(-500, 500).Draw(t, "bin")
		table := powersOf(step)
		got, _ := new(big.Float).SetInt(table.price(number)).Float64()
		want := math.Exp(float64(number)*math.Log1p(float64(step)/10_000)) * 0x1p64
		require.InEpsilon(t, want, got, 1e-6)
	})
}

func (p *powers) price(number int32) *big.Int {
	price := p.at(number).Wide()
	return price.ToBig()
}

func TestTheBitmapsAreOneLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s state
		outer := &extension{}
		set := map[int32]bool{}
		for range rapid.IntRange(0, 8).Draw(t, "arrays") {
			index := rapid.Int32Range(-outerArrays, outerArrays-1).Draw(t, "index")
			set[index] = true
			switch i := int(index); {
			case i >= innerArrays:
				outer.above[(i-innerArrays)/64] |= 1 << ((i - innerArrays) % 64)
			case i >= -innerArrays:
				s.bitmap[(i+innerArrays)/64] |= 1 << ((i + innerArrays) % 64)
			default:
				i = -i - 1 - innerArrays
				outer.below[i/64] |= 1 << (i % 64)
			}
		}
		from, down := rapid.Int32Range(-outerArrays, outerArrays-1).Draw(t, "from"), rapid.Bool().Draw(t, "down")
		index, answer := s.next(from, down, outer)
		want, has := from, false
		for ; want >= -outerArrays && want < outerArrays; want++ {
			if has = set[want]; has {
				break
			}
			if down {
				want -= 2
			}
		}
		require.Equal(t, has, answer == found)
		if has {
			require.Equal(t, want, index)
		}
	})
}

// example returns a state of the vectors.
func example(t testing.TB, tag string) (f *orders, state int) {
	t.Helper()
	f = executed.Read[args, after](t, vectors+"executed_dlmm_0.12.json.gz")
	for i := range f.Cases {
		if c := &f.Cases[i]; c.Has(tag) && c.Error == nil {
			return f, c.State
		}
	}
	require.Fail(t, "no such case", tag)
	return nil, 0
}

func same(data []byte) []byte { return data }

func TestTheWindowFollowsThePrice(t *testing.T) {
	f, state := example(t, "style dense")
	account, _ := f.Held(state, same).Account(f.Key(t, state, "pool"))
	r, err := open(f.Key(t, state, "pool"), account.Data, nil, narrowWindow)
	require.NoError(t, err)
	require.LessOrEqual(t, len(r.near), 2*narrowWindow)
	require.LessOrEqual(t, len(r.Spare()), 2*spares)
	wide := r.Wider()
	require.NotNil(t, wide)
	require.Subset(t, wide.(venue.Windowed).Near(), r.Near())
	require.Nil(t, wide.(venue.Windowed).Wider())
	data := append([]byte(nil), account.Data...)
	binary.LittleEndian.PutUint32(data[poolActive:], uint32(r.state.active+binsPerArray))
	moved, err := r.Next(data)
	require.NoError(t, err)
	fresh, err := open(r.address, data, nil, narrowWindow)
	require.NoError(t, err)
	require.Equal(t, fresh, moved)
}

// TestTheExtensionIsOfAnotherAccount: a pool beyond its own bitmap needs the extension, and names
// it.
func TestTheExtensionIsOfAnotherAccount(t *testing.T) {
	f, state := example(t, "bitmap_extension")
	p := executedPool(t, f, state, same)
	require.Equal(t, f.Key(t, state, "bitmap_extension"), p.extension)
	for i := range p.sides {
		for _, h := range p.sides[i].arrays {
			require.NotEqual(t, venue.Key{}, h.address)
		}
	}
}

func TestHostilePoolsAreRefused(t *testing.T) {
	f, state := example(t, "style dense")
	pool := f.Key(t, state, "pool")
	account, _ := f.Held(state, same).Account(pool)
	r, err := open(pool, account.Data, nil, wideWindow)
	require.NoError(t, err)
	for name, edit := range map[string]func(a *array){
		"another pool's": func(a *array) { a.pool = venue.Key{1} },
		"another place":  func(a *array) { a.index++ },
	} {
		held := f.Held(state, func(data []byte) []byte {
			a, err := decodeArray(data)
			if err != nil {
				return data
			}
			edit(a)
			return a.compact()
		})
		_, err := r.Decode(anyAccount{held})
		require.ErrorIs(t, err, venue.ErrMalformed, name)
	}
	for name, edit := range map[string]func(data []byte){
		"function": func(data []byte) { data[poolFunction] = 3 },
		"fee mode": func(data []byte) { data[poolCollect] = 2 },
		"type":     func(data []byte) { data[poolType] = 4 },
	} {
		data := append([]byte(nil), account.Data...)
		edit(data)
		_, err := open(pool, data, nil, narrowWindow)
		require.ErrorIs(t, err, venue.ErrUnverified, name)
	}
	p := executedPool(t, f, state, same)
	p.state.status = 1
	_, err = p.Quote(venue.Order{In: p.state.mints[0], Amount: 1000, Clock: f.Clock(state)})
	require.ErrorIs(t, err, venue.ErrClosed)
}

// compact returns the compact form.
func (a *array) compact() []byte {
	data := binary.LittleEndian.AppendUint64(append([]byte(nil), compactMark[:]...), uint64(a.index))
	return append(append(data, a.pool[:]...), a.bins...)
}

func TestAQuoteDoesNotAllocate(t *testing.T) {
	f, state := example(t, "style dense")
	p := executedPool(t, f, state, same)
	p.state.activation = 0
	o := venue.Order{In: p.state.mints[0], Amount: 100_000, Clock: f.Clock(state)}
	_, err := p.Quote(o)
	require.NoError(t, err)
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = p.Quote(o) }))
}

// FuzzArray feeds hostile bin arrays: the compact form says the same as the whole one.
func FuzzArray(f *testing.F) {
	file, state := example(f, "style dense")
	for _, hash := range file.States[state].Accounts {
		if hash != nil {
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
		if err != nil {
			return
		}
		count := 0
		after.each(true, func(bin) bool { count++; return true })
		require.LessOrEqual(t, count, binsPerArray)
	})
}

// FuzzPool feeds hostile accounts: an error or a quote, never a panic.
func FuzzPool(f *testing.F) {
	for _, tag := range []string{"style dense", "bitmap_extension"} {
		file, state := example(f, tag)
		s := file.States[state]
		var extra []byte
		if hash := s.Accounts["bitmap_extension"]; hash != nil {
			extra = file.Accounts[*hash]
		}
		for role, hash := range s.Accounts {
			if len(role) > 10 && role[:10] == "bin_array_" && hash != nil {
				f.Add(file.Accounts[*s.Accounts["pool"]], extra, Venue{}.Shrink(file.Accounts[*hash]), uint64(1000))
			}
		}
	}
	f.Fuzz(func(t *testing.T, data, extra, bins []byte, amount uint64) {
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
		for _, p := range r.near {
			if a, err := decodeArray(bins); err == nil {
				a.pool, a.index = address, int64(p.index)
				held[p.address] = &rpc.Account{Owner: Program, Data: a.compact()}
			}
		}
		if len(extra) >= extensionSize {
			extra = append([]byte(nil), extra...)
			copy(extra[extensionPool:], address[:])
		}
		held[r.extension] = &rpc.Account{Owner: Program, Data: extra}
		p, err := opened.Decode(anyAccount{venue.NewAccounts(held)})
		if err != nil {
			return
		}
		venuetest.Hostile(t, p, amount)
	})
}

func BenchmarkQuote(b *testing.B) {
	f, state := example(b, "style dense")
	p := executedPool(b, f, state, same)
	p.state.activation = 0
	o := venue.Order{In: p.state.mints[0], Amount: 1_000_000, Clock: f.Clock(state)}
	b.ReportAllocs()
	for b.Loop() {
		_, _ = p.Quote(o)
	}
}

func BenchmarkLadder(b *testing.B) {
	f, state := example(b, "style dense")
	p := executedPool(b, f, state, same)
	b.ReportAllocs()
	steps := 0
	for b.Loop() {
		steps = len(p.climb(true, regimeKeep).steps)
	}
	b.ReportMetric(float64(steps), "steps")
}
