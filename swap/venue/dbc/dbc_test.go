package dbc

import (
	"math"
	"os"
	"testing"

	"github.com/holiman/uint256"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/internal/testkit/venuetest"
	rpc "github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
)

func TestAuthority(t *testing.T) {
	require.Equal(t, "FhVo3mqL8PW5pH5U2CN4XE33DokiyZnUwuGpH2hmHLuM", Authority.String())
}

// drawPool draws a curve and a price on it.
func drawPool(t *rapid.T) *Pool {
	p := &Pool{keys: [2]venue.Key{swaptest.Named("a"), swaptest.Named("b")}, config: &config{threshold: math.MaxUint64}}
	for side, key := range p.keys {
		p.mints[side] = &mint.Mint{Address: key, Program: mint.Token}
	}
	c := p.config
	c.start.SetUint64(rapid.Uint64Range(1<<40, 1<<60).Draw(t, "start"))
	last := c.start
	c.count = rapid.IntRange(1, 5).Draw(t, "segments")
	for i := range c.count {
		s := &c.curve[i]
		s.price.Mul(&last, uint256.NewInt(rapid.Uint64Range(11, 40).Draw(t, "step")))
		s.price.Div(&s.price, uint256.NewInt(10))
		s.liquidity = uint256.Int{rapid.Uint64().Draw(t, "low"), rapid.Uint64Range(1, 1<<40).Draw(t, "liquidity")}
		last = s.price
	}
	c.migrationPrice = last
	c.collect = byte(rapid.IntRange(0, 1).Draw(t, "collect"))
	c.base = baseFee{cliff: rapid.Uint64Range(0, maxFee/2).Draw(t, "cliff")}
	var span uint256.Int
	span.Sub(&last, &c.start)
	span.Mul(&span, uint256.NewInt(rapid.Uint64Range(0, 100).Draw(t, "place")))
	span.Div(&span, uint256.NewInt(100))
	p.state.price.Add(&c.start, &span)
	return p
}

// After implements venuetest.Pool.
func (p *Pool) After(q venue.Quote) (venue.Pool, error) {
	r, err := p.swap(q.Order)
	if err != nil {
		return nil, err
	}
	next := *p
	next.state.price = r.price
	return &next, nil
}

func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		venuetest.Properties(t, venuetest.Case{Pool: drawPool(t), Held: [2]uint64{math.MaxUint64, math.MaxUint64}, Clock: venue.Clock{UnixTime: 1000}})
	})
}

// TestTheGrowingFeeIsNeverBelowTheFirst, whether it follows from an amount or from what is left.
func TestTheGrowingFeeIsNeverBelowTheFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := baseFee{
			cliff: rapid.Uint64Range(2_500_000, maxFee-1).Draw(t, "cliff"), mode: modeLimiter, first: rapid.Uint16Range(1, 9000).Draw(t, "step"),
			second: 100, third: rapid.Uint64Range(1000, 1<<50).Draw(t, "third"),
		}
		amount := rapid.Uint64Range(1, 1<<60).Draw(t, "amount")
		left, err := f.excluded(amount)
		require.NoError(t, err)
		rate, err := f.onExcluded(left)
		if err != nil {
			require.NotEmpty(t, venue.RefusalOf(err))
			return
		}
		require.GreaterOrEqual(t, rate, f.cliff)
	})
}

func account(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(testkit.Shared(t, vectors+"fixtures/"+name))
	require.NoError(t, err)
	return data
}

// TestACurveOfAnotherPairIsRefused: the config names the token in which the coin is quoted.
func TestACurveOfAnotherPairIsRefused(t *testing.T) {
	pool, config := account(t, "fee_in_quote_pool.bin"), account(t, "fee_in_quote_config.bin")
	s, err := decodeState(pool)
	require.NoError(t, err)
	other := swaptest.Named("other")
	_, err = Venue{}.Open(swaptest.Named("pool"), pool, other, swaptest.Named("another"))
	require.ErrorIs(t, err, venue.ErrMalformed)
	_, err = Venue{}.Open(swaptest.Named("pool"), pool)
	require.ErrorIs(t, err, venue.ErrMalformed)
	r, err := Venue{}.Open(swaptest.Named("pool"), pool, other, s.coin)
	require.NoError(t, err)
	_, err = r.Decode(venue.NewAccounts(map[venue.Key]*rpc.Account{swaptest.Named("pool"): {Owner: Program, Data: pool}, s.config: {Owner: Program, Data: config}}))
	require.ErrorIs(t, err, venue.ErrAnotherPair)
}

// TestCoinsWithATransferHookAreRefused, by name, and their pools found with the others.
func TestCoinsWithATransferHookAreRefused(t *testing.T) {
	pool, config := account(t, "fee_in_quote_pool.bin"), account(t, "fee_in_quote_config.bin")
	copy(pool, hookPoolDiscriminator[:])
	copy(config, hookConfigDiscriminator[:])
	config = append(config, make([]byte, 80)...) // the hook's program, and room
	s, err := decodeState(pool)
	require.NoError(t, err)
	quoted := venue.Key(config[configQuoteMint:])
	c := swaptest.New()
	c.Set(swaptest.Named("pool"), Program, pool)
	c.Set(s.config, Program, config)
	_, err = c.Pool(t, Venue{}, [2]venue.Key{s.coin, quoted})
	require.ErrorIs(t, err, venue.ErrUnverified)
	require.ErrorContains(t, err, "a coin with a transfer hook")
	_, err = c.Pool(t, Venue{}, [2]venue.Key{s.coin, swaptest.Named("another")})
	require.ErrorIs(t, err, venue.ErrAnotherPair)
	c.Edit(s.config, func(data []byte) { data[0]++ })
	_, err = c.Pool(t, Venue{}, [2]venue.Key{s.coin, quoted})
	require.ErrorIs(t, err, venue.ErrMalformed)
}

// FuzzDecode: accounts are hostile.
func FuzzDecode(f *testing.F) {
	f.Add(make([]byte, poolSize), make([]byte, configSize), uint64(5))
	f.Fuzz(func(t *testing.T, pool, config []byte, amount uint64) {
		if len(pool) >= 8 && len(config) >= 8 {
			copy(pool, poolDiscriminator[:])
			copy(config, configDiscriminator[:])
		}
		p := &Pool{}
		var err error
		if p.state, err = decodeState(pool); err != nil {
			return
		}
		if p.config, err = decodeConfig(config); err != nil {
			return
		}
		p.keys = [2]venue.Key{swaptest.Named("a"), swaptest.Named("b")}
		if p.state.price.Lt(&p.config.start) || p.state.price.Gt(&p.config.curve[p.config.count-1].price) {
			return
		}
		for side, key := range p.keys {
			p.mints[side] = &mint.Mint{Address: key, Program: mint.Token}
		}
		venuetest.Hostile(t, p, amount)
	})
}
