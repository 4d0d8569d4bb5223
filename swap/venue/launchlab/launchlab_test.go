package launchlab

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/internal/testkit/venuetest"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
)

var coin, price = swaptest.Named("coin"), swaptest.WrappedSOL

// terms of a curve on a chain. Numbers are by their offset in the account.
type terms struct {
	kind                      byte
	trade, site, creatorRate  uint64
	pool                      map[int]uint64
	status, programs          byte
	coinProgram, quoteOfTerms venue.Key
	extensions                []byte
}

// usual are the terms of most coins: 1,073 million coins and 30 SOL of virtual amounts.
func usual() terms {
	return terms{
		trade: 2_500, site: 10_000, coinProgram: mint.Token, quoteOfTerms: price,
		pool: map[int]uint64{
			poolTotalSell: 793_100_000_000_000, poolVirtualBase: 1_073_025_605_596_382, poolVirtualQuote: 30_000_852_951,
			poolRealBase: 100_000_000_000_000, poolRealQuote: 3_083_000_000,
		},
	}
}

// put puts a curve with its terms on a chain, and returns its address.
func (s terms) put(t testing.TB) (*swaptest.Chain, venue.Key) {
	t.Helper()
	c := swaptest.New()
	c.Mint(coin, s.coinProgram, 6, s.extensions...)
	keysAt := func(data []byte, keys map[int]venue.Key) {
		for at, key := range keys {
			copy(data[at:], key[:])
		}
	}
	config := make([]byte, 371)
	copy(config, configDiscriminator[:])
	config[configCurve] = s.kind
	binary.LittleEndian.PutUint64(config[configTradeRate:], s.trade)
	keysAt(config, map[int]venue.Key{configQuoteMint: s.quoteOfTerms})
	c.Set(swaptest.Named("config"), Program, config)
	site := make([]byte, 944)
	copy(site, platformDiscriminator[:])
	binary.LittleEndian.PutUint64(site[platformRate:], s.site)
	binary.LittleEndian.PutUint64(site[platformCreatorRate:], s.creatorRate)
	c.Set(swaptest.Named("site"), Program, site)
	pool := make([]byte, poolSize)
	copy(pool, poolDiscriminator[:])
	for at, number := range s.pool {
		binary.LittleEndian.PutUint64(pool[at:], number)
	}
	pool[poolStatus], pool[poolPrograms] = s.status, s.programs
	keysAt(pool, map[int]venue.Key{
		poolConfig: swaptest.Named("config"), poolPlatform: swaptest.Named("site"), poolMints: coin, poolMints + 32: price,
		poolVaults: swaptest.Named("vault 0"), poolVaults + 32: swaptest.Named("vault 1"), poolCreator: swaptest.Named("creator"),
	})
	address, err := Address(coin, price)
	require.NoError(t, err)
	c.Set(address, Program, pool)
	return c, address
}

func (s terms) decode(t testing.TB) (venue.Pool, error) {
	t.Helper()
	c, _ := s.put(t)
	return c.Pool(t, Venue{}, [2]venue.Key{coin, price})
}

// TestWhatIsNotUnderstoodIsRefused, by name.
func TestWhatIsNotUnderstoodIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s *terms)
		reason venue.Refusal
		text   string
	}{
		"a mint with a transfer fee": {func(s *terms) {
			s.coinProgram, s.programs, s.extensions = mint.Token2022, 1, swaptest.TransferFee(100, 1<<40)
		}, venue.ErrUnverified, "transfer fee"},
		"another token program": {func(s *terms) { s.coinProgram = mint.Token2022 }, venue.ErrMalformed, "another program"},
		"unknown flags":         {func(s *terms) { s.programs = 4 }, venue.ErrUnverified, "token programs 4"},
		"another quote token":   {func(s *terms) { s.quoteOfTerms = coin }, venue.ErrMalformed, "another token"},
		"fees of all":           {func(s *terms) { s.creatorRate = 990_000 }, venue.ErrClosed, "fees of all"},
		"fees that overflow":    {func(s *terms) { s.site, s.creatorRate = 1, math.MaxUint64 }, venue.ErrClosed, "fees of all"},
		"more sold than is":     {func(s *terms) { s.pool[poolTotalSell] = 5 }, venue.ErrMalformed, "more sold"},
	} {
		t.Run(name, func(t *testing.T) {
			s := usual()
			c.change(&s)
			_, err := s.decode(t)
			require.ErrorIs(t, err, c.reason)
			require.ErrorContains(t, err, c.text)
		})
	}
	for name, c := range map[string]struct {
		change func(s *terms)
		order  venue.Order
		reason venue.Refusal
		text   string
	}{
		"complete":       {func(s *terms) { s.status = 1 }, venue.Order{In: price, Amount: 1000}, venue.ErrClosed, "complete"},
		"moved":          {func(s *terms) { s.status = 2 }, venue.Order{In: coin, Amount: 1000}, venue.ErrClosed, "complete"},
		"a new kind":     {func(s *terms) { s.kind = 3 }, venue.Order{In: price, Amount: 1000}, venue.ErrUnverified, "kind 3"},
		"a root":         {func(s *terms) { s.kind = kindLinear }, venue.Order{In: price, Amount: 1000}, venue.ErrUnverified, "root"},
		"another root":   {func(s *terms) { s.kind = kindLinear }, venue.Order{In: coin, Amount: 1000, ExactOut: true}, venue.ErrUnverified, "root"},
		"beyond the end": {func(*terms) {}, venue.Order{In: price, Amount: 900_000_000_000}, venue.ErrNoLiquidity, "beyond the end"},
		"never sold":     {func(*terms) {}, venue.Order{In: coin, Amount: 100_000_000_000_001}, venue.ErrNoLiquidity, "never sold"},
		"no price":       {func(s *terms) { s.kind, s.pool[poolVirtualQuote] = kindFixed, 0 }, venue.Order{In: price, Amount: 1}, venue.ErrMalformed, "without a price"},
	} {
		t.Run(name, func(t *testing.T) {
			s := usual()
			c.change(&s)
			p, err := s.decode(t)
			require.NoError(t, err)
			_, err = p.Quote(c.order)
			require.ErrorIs(t, err, c.reason)
			require.ErrorContains(t, err, c.text)
		})
	}
}

// TestTheEndOfTheCurve: the rest can be bought exactly, and not a unit more.
func TestTheEndOfTheCurve(t *testing.T) {
	p, err := usual().decode(t)
	require.NoError(t, err)
	rest := uint64(693_100_000_000_000)
	q, err := p.Quote(venue.Order{In: price, Amount: rest, ExactOut: true})
	require.NoError(t, err)
	require.Equal(t, rest, q.AmountOut)
	_, err = p.Quote(venue.Order{In: price, Amount: rest + 1, ExactOut: true})
	require.ErrorIs(t, err, venue.ErrNoLiquidity)
}

// TestLinearAndFixedPrices: at 2⁴⁴/2⁶⁵ for a coin squared, 2³⁰ coins raised 2³⁹, and twice as many
// four times as much. A fixed price is the same at each amount.
func TestLinearAndFixedPrices(t *testing.T) {
	s := usual()
	s.trade, s.site, s.kind = 0, 0, kindLinear
	s.pool = map[int]uint64{poolTotalSell: 1 << 40, poolVirtualBase: 1 << 44, poolRealBase: 1 << 30, poolRealQuote: 1 << 39}
	p, err := s.decode(t)
	require.NoError(t, err)
	q, err := p.Quote(venue.Order{In: price, Amount: 1 << 30, ExactOut: true})
	require.NoError(t, err)
	require.EqualValues(t, 3<<39, q.AmountIn)
	require.EqualValues(t, 3334, q.ImpactBps, "on average 3 where the price was 2")
	require.Equal(t, featureExactOut|featureLinear, q.Features)
	q, err = p.Quote(venue.Order{In: coin, Amount: 1 << 29})
	require.NoError(t, err)
	require.EqualValues(t, 3<<37, q.AmountOut)
	require.EqualValues(t, 2500, q.ImpactBps, "on average 1.5 where the price was 2")

	s.kind, s.pool[poolVirtualBase], s.pool[poolVirtualQuote] = kindFixed, 3000, 7000
	p, err = s.decode(t)
	require.NoError(t, err)
	for _, c := range []struct {
		order venue.Order
		want  [2]uint64
	}{
		{venue.Order{In: price, Amount: 100}, [2]uint64{100, 42}},
		{venue.Order{In: price, Amount: 42, ExactOut: true}, [2]uint64{98, 42}},
		{venue.Order{In: coin, Amount: 100}, [2]uint64{100, 233}},
		{venue.Order{In: coin, Amount: 234, ExactOut: true}, [2]uint64{101, 234}},
	} {
		q, err := p.Quote(c.order)
		require.NoError(t, err)
		require.Equal(t, c.want, [2]uint64{q.AmountIn, q.AmountOut})
		require.Zero(t, q.ImpactBps)
	}
}

// TestInstructions: each is read as the order that it was made of, and names what the program wants
// behind the accounts of its interface.
func TestInstructions(t *testing.T) {
	s := usual()
	s.creatorRate = 5_000
	p, err := s.decode(t)
	require.NoError(t, err)
	user := venue.UserAccounts{Owner: swaptest.Named("user"), Source: swaptest.Named("source"), Destination: swaptest.Named("destination")}
	for _, in := range []venue.Key{coin, price} {
		for _, exactOut := range []bool{false, true} {
			o := venue.Order{In: in, Amount: 1_000_000_000, ExactOut: exactOut}
			q, err := p.Quote(o)
			require.NoError(t, err)
			require.Equal(t, in == coin, q.Fees.List()[0].OnOutput, "fees are in the quote token")
			require.Equal(t, venue.FeeCreator, q.Fees.List()[1].Kind)
			list, err := p.Instructions(q, 77, user)
			require.NoError(t, err)
			require.Len(t, list, 1)
			call := venue.Call{Data: list[0].Data}
			for _, m := range list[0].Accounts {
				call.Accounts = append(call.Accounts, m.Key)
			}
			require.Len(t, call.Accounts, accountsOfSwap-1)
			require.EqualValues(t, 77, binary.LittleEndian.Uint64(call.Data[16:]))
			trade, ok := Venue{}.Trade(call)
			require.True(t, ok)
			require.Equal(t, venue.Trade{Pool: p.Address(), User: user.Owner, Source: user.Source, Destination: user.Destination, Amount: o.Amount, ExactOut: exactOut}, trade)
			binary.LittleEndian.PutUint64(call.Data[24:], 1)
			_, ok = Venue{}.Trade(call)
			require.False(t, ok, "a referrer gets a share")
			opens, err := p.(venue.Opener).Opens(q, user.Owner)
			require.NoError(t, err)
			require.Equal(t, []venue.Key{call.Accounts[16], call.Accounts[17]}, []venue.Key{opens[0].Account, opens[1].Account})
		}
	}
}

// After implements venuetest.Pool.
func (p *Pool) After(q venue.Quote) (venue.Pool, error) {
	r, err := p.swap(q.Order)
	if err != nil {
		return nil, err
	}
	next := *p
	if s := &next.state; r.side == quote {
		s.realBase, s.realQuote = s.realBase+r.out, s.realQuote+r.in-r.fee
	} else {
		s.realBase, s.realQuote = s.realBase-r.in, s.realQuote-r.out-r.fee
	}
	return &next, nil
}

// drawPool draws a curve of a kind.
func drawPool(t *rapid.T) *Pool {
	p := &Pool{address: swaptest.Named("pool"), config: &config{kind: byte(rapid.IntRange(0, 2).Draw(t, "kind"))}, platform: &platform{}}
	p.state.mints = [2]venue.Key{coin, price}
	for side, key := range p.state.mints {
		p.mints[side] = &mint.Mint{Address: key, Program: mint.Token}
	}
	rate := func(label string) uint64 { return rapid.Uint64Range(0, 300_000).Draw(t, label) }
	p.config.tradeRate, p.platform.rate, p.platform.creatorRate = rate("trade"), rate("site"), rate("creator")
	s := &p.state
	s.totalSell = rapid.Uint64Range(1, 1<<50).Draw(t, "total")
	s.realBase = rapid.Uint64Range(0, s.totalSell).Draw(t, "sold")
	s.virtualBase = rapid.Uint64Range(1, 1<<60).Draw(t, "virtual base")
	s.virtualQuote = rapid.Uint64Range(1, 1<<60).Draw(t, "virtual quote")
	s.realQuote = rapid.Uint64Range(0, 1<<60).Draw(t, "raised")
	if p.config.kind == kindLinear {
		raised, ok := s.raised(s.realBase)
		if !ok {
			t.Skip("it raised more than 64 bits")
		}
		s.realQuote = raised
	}
	return p
}

func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPool(t)
		venuetest.Properties(t, venuetest.Case{Pool: p, Held: [2]uint64{p.state.totalSell - p.state.realBase, p.state.realQuote}})
	})
}

// FuzzDecode: accounts are hostile.
func FuzzDecode(f *testing.F) {
	f.Add(make([]byte, poolSize), make([]byte, configPrefix), make([]byte, platformPrefix), uint64(5))
	f.Fuzz(func(t *testing.T, pool, terms, site []byte, amount uint64) {
		if len(pool) >= 8 && len(terms) >= 8 && len(site) >= 8 {
			copy(pool, poolDiscriminator[:])
			copy(terms, configDiscriminator[:])
			copy(site, platformDiscriminator[:])
		}
		p := &Pool{}
		var err error
		if p.state, err = decodeState(pool); err != nil {
			return
		}
		if p.config, err = decodeConfig(terms); err != nil {
			return
		}
		if p.platform, err = decodePlatform(site); err != nil {
			return
		}
		p.state.mints, p.config.quoteMint, p.state.programs = [2]venue.Key{coin, price}, price, 0
		for side, key := range p.state.mints {
			p.mints[side] = &mint.Mint{Address: key, Program: mint.Token}
		}
		if p.check() == nil {
			venuetest.Hostile(t, p, amount)
		}
	})
}
