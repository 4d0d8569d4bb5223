package clmm

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/internal/testkit/venuetest"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

var now = venue.Clock{UnixTime: 1_790_000_000}

// drawPool draws a pool of some positions around its price, with or without each feature.
func drawPool(t *rapid.T) *Pool {
	spacing := rapid.SampledFrom([]int32{1, 10, 60}).Draw(t, "spacing")
	p := &Pool{config: &config{rate: rapid.Uint32Range(0, 50_000).Draw(t, "rate")}}
	s := &p.state
	s.spacing, s.feeOn = spacing, byte(rapid.IntRange(0, 2).Draw(t, "fee on"))
	s.tick = rapid.Int32Range(-40_000, 40_000).Draw(t, "tick")
	low, high := priceAt(s.tick).Wide(), priceAt(s.tick+1).Wide()
	high.Sub(&high, &low)
	low.AddUint64(&low, rapid.Uint64Range(0, high.Uint64()-1).Draw(t, "within the tick"))
	s.price = arith.Narrow(&low)
	for side, name := range []string{"a", "b"} {
		s.mints[side] = swaptest.Named(name)
		p.mints[side] = &mint.Mint{Address: swaptest.Named(name), Program: mint.Token}
	}
	ticks := drawTicks(t, s)
	if rapid.Bool().Draw(t, "limit orders") {
		for range rapid.IntRange(1, 5).Draw(t, "orders") {
			at := spacing * (floorDiv(s.tick, spacing) + rapid.Int32Range(-100, 100).Draw(t, "order at"))
			change := ticks[at]
			change.orders += rapid.Uint64Range(1, 1<<40).Draw(t, "order")
			ticks[at] = change
		}
	}
	if rapid.Bool().Draw(t, "dynamic") {
		s.dynamic = dynamicFee{
			on: true, filter: 10, decay: 120, reduction: 5000, control: rapid.Uint32Range(1, 50_000).Draw(t, "control"), most: rapid.Uint32Range(10_000, 400_000).Draw(t, "most"),
			reference: floorDiv(s.tick, spacing) + rapid.Int32Range(-5, 5).Draw(t, "reference"), updated: uint64(now.UnixTime) - rapid.Uint64Range(0, 200).Draw(t, "since"),
		}
		s.dynamic.volatility = rapid.Uint32Range(0, s.dynamic.most).Draw(t, "volatility")
	}
	p.arrange(ticks)
	return p
}

// drawTicks draws positions, some of them over all prices, and sets the liquidity at the price.
func drawTicks(t *rapid.T, s *state) map[int32]tick {
	ticks := map[int32]tick{}
	change := func(at int32, liquidity int64) {
		net := ticks[at].net.Wide()
		add := arith.U128{Lo: uint64(liquidity), Hi: uint64(liquidity >> 63)}.Wide()
		net.Add(&net, &add)
		ticks[at] = tick{liquid: true, net: arith.Narrow(&net)}
	}
	var all int64
	for range rapid.IntRange(1, 12).Draw(t, "positions") {
		middle := floorDiv(s.tick, s.spacing)
		low, high := middle-rapid.Int32Range(-50, 200).Draw(t, "low"), middle+rapid.Int32Range(-50, 200).Draw(t, "high")
		if low >= high {
			low, high = minTick/s.spacing, maxTick/s.spacing
		}
		liquidity := rapid.OneOf(rapid.Int64Range(1, 1000), rapid.Int64Range(1, 1<<40), rapid.Int64Range(1, 1<<55)).Draw(t, "liquidity")
		change(low*s.spacing, liquidity)
		change(high*s.spacing, -liquidity)
		if low*s.spacing <= s.tick && s.tick < high*s.spacing {
			all += liquidity
		}
	}
	s.liquidity = arith.U128{Lo: uint64(all)}
	return ticks
}

// arrange puts ticks into the pool's arrays and bitmaps.
func (p *Pool) arrange(ticks map[int32]tick) {
	byNumber := map[int32]*array{}
	indexes := make([]int32, 0, len(ticks))
	for index := range ticks {
		indexes = append(indexes, index)
	}
	slices.Sort(indexes)
	p.extension = &extension{}
	for _, index := range indexes {
		n := numberOf(index, p.state.spacing)
		if byNumber[n] == nil {
			byNumber[n] = &array{number: n}
		}
		t := ticks[index]
		t.index = index
		byNumber[n].ticks = append(byNumber[n].ticks, t)
		p.setBit(n)
	}
	_ = p.hold(func(number int32) (held, error) { return held{array: byNumber[number]}, nil })
}

func (p *Pool) setBit(n int32) {
	bit := uint64(1) << uint(n-64*floorDiv(n, 64))
	switch w := floorDiv(n, 64); {
	case own(n):
		p.state.bitmap[w+8] |= bit
	case n > 0:
		p.extension.above[w-8] |= bit
	default:
		p.extension.below[w+8+112] |= bit
	}
}

// loop answers an order as the program's loop does, step by step, without sums. It moves the pool.
func (p *Pool) loop(side int, rest uint64, exactOut bool, now uint64) (sum amounts, ok bool) {
	w := newWalk(p, side, p.state.dynamic.phaseAt(now), ends[side])
	for rest > 0 {
		w.steps, w.sum = nil, amounts{}
		if w.advance(); len(w.steps) == 0 && w.stopped != nil {
			return sum, false
		}
		for i := range w.steps {
			s := w.steps[i]
			s.before = amounts{}
			part, all := s.alone(rest, exactOut)
			if !all {
				return sum, false
			}
			if sum, ok = sum.plus(part); !ok {
				return sum, false
			}
			if rest -= part.in; exactOut {
				rest += part.in - part.out
			}
			if rest == 0 {
				return sum, true
			}
		}
	}
	return sum, true
}

// alone makes one step as the program does: it goes to the end, or as far as what is left suffices.
func (s *step) alone(rest uint64, exactOut bool) (amounts, bool) {
	var a amounts
	var err error
	switch {
	case s.orders > 0 && exactOut:
		a, _, err = s.offer(s.orders).buy(rest)
	case s.orders > 0:
		o := s.offer(s.orders)
		if gives := o.gives(rest - feeIf(o.onInput, rest, o.rate)); gives.GtUint64(s.orders) {
			return o.whole()
		}
		a, _ = o.sell(rest)
	case exactOut:
		if whole, ok := s.whole(); ok && whole.out < rest {
			return whole, true
		}
		a, _, err = s.buy(rest)
	default:
		a, _, err = s.sell(rest)
	}
	return a, err == nil
}

func feeIf(on bool, amount uint64, rate uint32) uint64 {
	if !on {
		return 0
	}
	fee, _ := arith.MulDivUp(amount, uint64(rate), feeUnit)
	return fee
}

// TestSumsAreTheLoop compares quotes with the program's loop.
func TestSumsAreTheLoop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPool(t)
		side, exactOut := rapid.IntRange(0, 1).Draw(t, "side"), rapid.Bool().Draw(t, "exact out")
		for range 5 {
			amount := venuetest.Amount(t, "amount")
			r, err := p.swap(venue.Order{In: p.state.mints[side], Amount: amount, ExactOut: exactOut, Clock: now})
			sum, ok := p.loop(side, amount, exactOut, uint64(now.UnixTime))
			if err != nil {
				require.True(t, !ok || sum.in == 0 || sum.out == 0, "%v, and the loop gives %+v", err, sum)
				continue
			}
			require.True(t, ok, "%+v", r.amounts)
			require.Equal(t, sum, r.amounts)
		}
	})
}

func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPool(t)
		venuetest.Properties(t, venuetest.Case{
			Pool: p, Held: [2]uint64{math.MaxUint64, math.MaxUint64}, SplitGains: true, Rounding: 600, Clock: now,
		})
	})
}

func TestTicks(t *testing.T) {
	require.Equal(t, arith.U128{Lo: 4295048016}, minPrice)
	require.Equal(t, number(t, "79226673521066979257578248091"), maxPrice)
	rapid.Check(t, func(t *rapid.T) {
		tick := rapid.Int32Range(minTick, maxTick-1).Draw(t, "tick")
		require.True(t, priceAt(tick).Less(priceAt(tick+1)))
		require.Equal(t, tick, tickAt(priceAt(tick)))
		below := priceAt(tick + 1).Wide()
		below.SubUint64(&below, 1)
		require.Equal(t, tick, tickAt(arith.Narrow(&below)))
	})
}

// TestBitmapsFindTheNearestArray compares the search with one that tries every array.
func TestBitmapsFindTheNearestArray(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spacing := rapid.SampledFrom([]int32{1, 2, 14, 15, 60}).Draw(t, "spacing")
		low, high := numberOf(minTick, spacing), numberOf(maxTick, spacing)
		p := &Pool{extension: &extension{}}
		set := map[int32]bool{}
		for range rapid.IntRange(0, 10).Draw(t, "arrays") {
			n := rapid.OneOf(rapid.Int32Range(low, high), rapid.Int32Range(max(low, -600), min(high, 600))).Draw(t, "array")
			set[n] = true
			p.setBit(n)
		}
		known := arrays{own: &p.state.bitmap, extension: p.extension, spacing: spacing}
		from, up := rapid.Int32Range(low, high).Draw(t, "from"), rapid.Bool().Draw(t, "up")
		step := int32(-1)
		if up {
			step = 1
		}
		want, found := int32(0), false
		for n := from + step; n >= low && n <= high && !found; n += step {
			want, found = n, set[n]
		}
		got, ok := known.next(from, up)
		require.Equal(t, found, ok)
		if found {
			require.Equal(t, want, got)
		}
		require.Equal(t, set[from], known.initialized(from))
	})
}

// TestBitsOfTheExtension: the bits lie where the program has them.
func TestBitsOfTheExtension(t *testing.T) {
	for _, e := range []struct{ number, side, bitmap, bit int }{
		{512, 0, 0, 0}, {1023, 0, 0, 511}, {1024, 0, 1, 0}, {7393, 0, 13, 225},
		{-513, 1, 0, 511}, {-1024, 1, 0, 0}, {-1025, 1, 1, 511}, {-7394, 1, 13, 286},
	} {
		pool := swaptest.Named("pool")
		data := append(append(extensionDiscriminator[:], pool[:]...), make([]byte, extensionSize-extensionBits)...)
		data[extensionBits+bitmapsAside*bitmapBytes*e.side+bitmapBytes*e.bitmap+e.bit/8] |= 1 << (e.bit % 8)
		decoded, err := decodeExtension(data, pool)
		require.NoError(t, err)
		var bits [16]uint64
		known := arrays{own: &bits, extension: decoded, spacing: 1}
		require.True(t, known.initialized(int32(e.number)), "%+v", e)
		_, err = decodeExtension(data, swaptest.Named("another"))
		require.ErrorIs(t, err, venue.ErrMalformed)
	}
}

func TestRefusals(t *testing.T) {
	var f executed
	load(t, "executed_clmm_2026-04.json.gz", &f)
	data := f.data(t, f.single(t).State, "pool")
	for name, e := range map[string]struct {
		fork bool
		want venue.Refusal
		edit func(data []byte)
	}{
		"fee mode":      {false, venue.ErrUnverified, func(data []byte) { data[poolFeeOn] = 3 }},
		"a fork's fee":  {true, venue.ErrUnverified, func(data []byte) { data[poolDynamic] = 1 }},
		"a fork's mode": {true, venue.ErrUnverified, func(data []byte) { data[poolFeeOn] = 1 }},
		"tick": {false, venue.ErrMalformed, func(data []byte) {
			binary.LittleEndian.PutUint32(data[poolTick:], binary.LittleEndian.Uint32(data[poolTick:])+2)
		}},
		"spacing":        {false, venue.ErrMalformed, func(data []byte) { data[poolSpacing], data[poolSpacing+1] = 0, 0 }},
		"wide spacing":   {false, venue.ErrMalformed, func(data []byte) { data[poolSpacing+1] = 255 }},
		"one mint":       {false, venue.ErrMalformed, func(data []byte) { copy(data[poolMints:], data[poolMints+32:poolMints+64]) }},
		"dynamic fee":    {false, venue.ErrMalformed, func(data []byte) { binary.LittleEndian.PutUint32(data[poolDynamic+10:], math.MaxUint32) }},
		"short":          {false, venue.ErrMalformed, func(data []byte) { data[0]++ }},
		"price at zero":  {false, venue.ErrMalformed, func(data []byte) { clear(data[poolPrice : poolPrice+16]) }},
		"tick in orbit":  {false, venue.ErrMalformed, func(data []byte) { binary.LittleEndian.PutUint32(data[poolTick:], math.MaxInt32) }},
		"tick far below": {false, venue.ErrMalformed, func(data []byte) { binary.LittleEndian.PutUint32(data[poolTick:], 1<<31) }},
	} {
		edited := slices.Clone(data)
		e.edit(edited)
		_, err := Venue{name: "test", program: Raydium.program, fork: e.fork}.Open(swaptest.Named("pool"), edited)
		require.ErrorIs(t, err, e.want, name)
	}
}
