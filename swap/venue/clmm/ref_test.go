package clmm

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/internal/testkit/venuetest"
	"github.com/mintlake/mintlake/schemas/pubkey"
	rpc "github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/testworld/layout"
)

// scene is a pool on a chain, with a position in each of some arrays, each over one array.
type scene struct {
	chain   *swaptest.Chain
	pool    layout.CLMMPool
	address venue.Key
}

const positionLiquidity = 1_000_000_000

func newScene(tick int32, numbers ...int32) *scene {
	s := &scene{chain: swaptest.New(), address: swaptest.Named("pool")}
	s.pool = layout.CLMMPool{Config: swaptest.Named("config"), Vaults: [2]venue.Key{swaptest.Named("vault 0"), swaptest.Named("vault 1")}, Spacing: 1, Tick: tick}
	s.pool.Mints[0], s.pool.Mints[1] = venue.Ordered(swaptest.Named("a"), swaptest.Named("b"))
	price := priceAt(tick)
	s.pool.Price = layout.U128{price.Lo, price.Hi}
	for _, key := range s.pool.Mints {
		s.chain.Mint(key, swaptest.TokenProgram, 6)
	}
	s.chain.Set(s.pool.Config, Raydium.program, layout.CLMMConfig(400, 1))
	var outside []int32
	for _, n := range numbers {
		start := n * arrayTicks
		if start+10 <= tick && tick < start+50 {
			s.pool.Liquidity = layout.U128{positionLiquidity}
		}
		if own(n) {
			s.pool.Bitmap[floorDiv(n, 64)+8] |= 1 << uint(n-64*floorDiv(n, 64))
		} else {
			outside = append(outside, n)
		}
		key, err := (&ref{venue: Raydium, address: s.address, state: state{spacing: 1}}).arrayKey(n, nil)
		if err != nil {
			panic(err)
		}
		s.chain.Set(key, Raydium.program, layout.CLMMArray(s.address, start, 1, []layout.CLMMTick{
			{Index: start + 10, Net: layout.U128{positionLiquidity}, Gross: layout.U128{positionLiquidity}},
			{Index: start + 50, Net: layout.U128{^uint64(positionLiquidity) + 1, ^uint64(0)}, Gross: layout.U128{positionLiquidity}},
		}))
	}
	if len(outside) > 0 {
		key, err := venue.Derive(Raydium.program, []byte("pool_tick_array_bitmap_extension"), s.address[:])
		if err != nil {
			panic(err)
		}
		s.chain.Set(key, Raydium.program, layout.CLMMExtension(s.address, outside))
	}
	s.chain.Set(s.address, Raydium.program, s.pool.Bytes())
	return s
}

func (s *scene) open(t testing.TB) *ref {
	t.Helper()
	opened, err := Raydium.Open(s.address, s.pool.Bytes())
	require.NoError(t, err)
	return opened.(*ref)
}

// most returns how many arrays the largest order may cross, and how it is refused beyond.
func most(t testing.TB, p venue.Pool, side int) (arrays int, refusal venue.Refusal) {
	t.Helper()
	for amount := uint64(1); amount < 1<<62; amount += amount/8 + 1 {
		q, err := p.Quote(venue.Order{In: p.Mints()[side], Amount: amount, Clock: now})
		if refusal = venue.RefusalOf(err); err == nil {
			r, err := p.(*Pool).swap(q.Order)
			require.NoError(t, err)
			arrays = int(r.last().touched)
		} else if refusal != venue.ErrTooSmall {
			return arrays, refusal
		}
	}
	return arrays, refusal
}

func TestWindows(t *testing.T) {
	var all []int32
	for n := int32(-20); n <= 20; n++ {
		all = append(all, n)
	}
	s := newScene(30, all...)
	r := s.open(t)
	require.Len(t, r.Near(), 1+2*narrow)
	require.Len(t, r.Spare(), 2*spares)
	p, err := s.chain.Decode(r)
	require.NoError(t, err)
	for side := range 2 {
		arrays, refusal := most(t, p, side)
		require.Equal(t, 1+narrow, arrays)
		require.Equal(t, venue.ErrBeyond, refusal)
	}

	wider := r.Wider().(*ref)
	require.Len(t, wider.Near(), 1+2*wide)
	require.Nil(t, wider.Wider())
	p, err = s.chain.Decode(wider)
	require.NoError(t, err)
	arrays, refusal := most(t, p, 0)
	require.Equal(t, 1+wide, arrays)
	require.Equal(t, venue.ErrBeyond, refusal)

	s.pool.Tick = 30 + arrayTicks
	price := priceAt(s.pool.Tick)
	s.pool.Price = layout.U128{price.Lo, price.Hi}
	moved, err := r.Next(s.pool.Bytes())
	require.NoError(t, err)
	fresh := s.open(t)
	require.Equal(t, fresh.Near(), moved.(*ref).Near())
	require.Equal(t, fresh.Spare(), moved.(*ref).Spare())
	again, err := moved.(*ref).Next(s.pool.Bytes())
	require.NoError(t, err)
	require.Same(t, &moved.(*ref).near[0], &again.(*ref).near[0], "nothing is derived anew")
}

// TestArraysOutsideThePool: where the pool's bits end, those of the extension say how it goes on.
func TestArraysOutsideThePool(t *testing.T) {
	outermost := numberOf(maxTick, 1)
	s := newScene(30, 0, 600, outermost)
	p, err := s.chain.Decode(s.open(t))
	require.NoError(t, err)
	arrays, refusal := most(t, p, 1)
	require.Equal(t, 1, arrays)
	require.Equal(t, venue.ErrBeyond, refusal, "array 600 is not in the window")
	_, refusal = most(t, p, 0)
	require.Equal(t, venue.ErrNoLiquidity, refusal)

	s = newScene(30, 0, outermost-1, outermost)
	s.chain.Remove(s.open(t).extension)
	p, err = s.chain.Decode(s.open(t))
	require.NoError(t, err)
	_, refusal = most(t, p, 1)
	require.Equal(t, venue.ErrNoLiquidity, refusal, "without the extension there is nothing outside")

	at := int32(600*arrayTicks + 30)
	s = newScene(at, 598, 599, 600, 601, outermost)
	p, err = s.chain.Decode(s.open(t))
	require.NoError(t, err)
	arrays, refusal = most(t, p, 1)
	require.Equal(t, 2, arrays)
	require.Equal(t, venue.ErrBeyond, refusal)
	arrays, refusal = most(t, p, 0)
	require.Equal(t, 3, arrays)
	require.Equal(t, venue.ErrNoLiquidity, refusal)
	q, err := p.Quote(venue.Order{In: p.Mints()[0], Amount: 1000, Clock: now})
	require.NoError(t, err)
	list, err := p.Instructions(q, 1, venue.UserAccounts{})
	require.NoError(t, err)
	require.Equal(t, s.open(t).extension, list[0].Accounts[fixedAccounts].Key)
	require.Len(t, list[0].Accounts, int(q.Accounts)-1)
}

func TestBitmapsThatLie(t *testing.T) {
	s := newScene(30, 0, 1)
	s.pool.Bitmap[8] |= 1 << 2
	s.chain.Set(s.address, Raydium.program, s.pool.Bytes())
	_, err := s.chain.Decode(s.open(t))
	require.ErrorIs(t, err, venue.ErrMalformed, "there is no such array")
	s = newScene(30, 0, 1)
	key, _ := s.open(t).keyOf(1)
	s.chain.Edit(key, func(data []byte) { data[arrayPool]++ })
	_, err = s.chain.Decode(s.open(t))
	require.ErrorIs(t, err, venue.ErrMalformed, "an array of another pool")
	s = newScene(30, 0, 1)
	s.chain.Edit(key, func(data []byte) { copy(data, "unknown ") })
	_, err = s.chain.Decode(s.open(t))
	require.ErrorIs(t, err, venue.ErrUnverified, "an array of an unknown kind")
}

// TestInstructionsAreTheExecuted: our instruction for an executed order has its data and its
// accounts. Of arrays it may have more.
func TestInstructionsAreTheExecuted(t *testing.T) {
	var f executed
	load(t, "executed_clmm_2026-04.json.gz", &f)
	count := 0
	for i := range f.Cases {
		c := &f.Cases[i]
		if c.IX != "swap_v2" || c.Error != nil || c.Args.Limit != "0" {
			continue
		}
		count++
		p := f.pool(t, c.State, "", false, "mint_0", "mint_1")
		side := 1
		if c.Args.ZeroForOne {
			side = 0
		}
		q, err := p.Quote(venue.Order{In: p.state.mints[side], Amount: c.Args.Amount, ExactOut: !c.Args.BaseIn, Clock: f.clock(c.State)})
		require.NoError(t, err)
		require.GreaterOrEqual(t, q.ComputeUnits, c.Units, "case %d", c.ID)
		data := decode64(t, c.Data)
		keys := f.States[c.State].Keys
		user := venue.UserAccounts{Owner: pubkey.MustParse(f.States[c.State].User), Source: swaptest.Named("in"), Destination: swaptest.Named("out")}
		list, err := p.Instructions(q, binary.LittleEndian.Uint64(data[16:]), user)
		require.NoError(t, err)
		require.Equal(t, data, list[0].Data)
		require.Len(t, list[0].Accounts, int(q.Accounts)-1)
		for at, meta := range list[0].Accounts[:fixedAccounts] {
			role := c.Accounts[at]
			require.Equal(t, strings.HasSuffix(role, ":w"), meta.Writable, role)
			require.Equal(t, strings.HasSuffix(role, ":s"), meta.Signer, role)
			if key, ok := keys[strings.TrimSuffix(role, ":w")]; ok {
				require.Equal(t, key, meta.Key.String(), role)
			}
		}
		var starts []string
		for _, meta := range list[0].Accounts[fixedAccounts:] {
			for role, key := range keys {
				if key == meta.Key.String() {
					starts = append(starts, role)
				}
			}
		}
		r, err := p.swap(q.Order)
		require.NoError(t, err)
		require.True(t, c.accepted(t, p, &r, starts, ""), "case %d", c.ID)
		trade, ok := Raydium.Trade(venue.Call{Accounts: keysOf(list[0]), Data: data})
		require.True(t, ok)
		require.Equal(t, venue.Trade{Pool: p.address, User: user.Owner, Source: user.Source, Destination: user.Destination, Amount: c.Args.Amount, ExactOut: !c.Args.BaseIn}, trade)
	}
	require.NotZero(t, count)
}

func keysOf(i venue.Instruction) (keys []venue.Key) {
	for _, meta := range i.Accounts {
		keys = append(keys, meta.Key)
	}
	return keys
}

// FuzzPool feeds hostile accounts: an error or a quote, never a panic.
func FuzzPool(f *testing.F) {
	s := newScene(30, -1, 0, 1)
	key, _ := s.open(f).keyOf(0)
	array := layout.CLMMArray(s.address, 0, 1, []layout.CLMMTick{{Index: 10, Net: layout.U128{5}, Gross: layout.U128{5}, Orders: 7}, {Index: 50, Net: layout.U128{1, 1 << 63}, Gross: layout.U128{5}}})
	f.Add(s.pool.Bytes(), array, layout.CLMMExtension(s.address, []int32{600, -7000}), uint64(1000))
	f.Add(s.pool.Bytes(), Raydium.Shrink(array), []byte{}, uint64(1)<<40)
	config := layout.CLMMConfig(400, 1)
	f.Fuzz(func(t *testing.T, pool, array, extension []byte, amount uint64) {
		Raydium.Shrink(array)
		opened, err := Raydium.Open(s.address, pool)
		if err != nil {
			return
		}
		r := opened.(*ref)
		if _, err = r.Next(pool); err != nil {
			t.Fatalf("opened, but not again: %v", err)
		}
		read := map[venue.Key]*rpc.Account{s.address: {Owner: Raydium.program, Data: pool}, r.state.config: {Owner: Raydium.program, Data: config}}
		coin := layout.Mint{}
		for _, mintKey := range r.Mints() {
			read[mintKey] = &rpc.Account{Owner: mint.Token, Data: coin.Bytes()}
		}
		for _, near := range r.Near() {
			read[near] = &rpc.Account{Owner: Raydium.program, Data: array}
		}
		read[key] = &rpc.Account{Owner: Raydium.program, Data: array}
		if r.extended {
			read[r.extension] = &rpc.Account{Owner: Raydium.program, Data: extension}
		}
		p, err := r.Decode(venue.NewAccounts(read))
		if err != nil {
			return
		}
		venuetest.Hostile(t, p, amount)
	})
}

func BenchmarkQuote(b *testing.B) {
	var f executed
	load(b, "executed_clmm_2026-04.json.gz", &f)
	state := f.single(b).State
	p := f.pool(b, state, "", false, "mint_0", "mint_1")
	o := venue.Order{In: p.state.mints[1], Amount: 10_000_000, Clock: f.clock(state)}
	_, err := p.Quote(o)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = p.Quote(o)
	}
}
