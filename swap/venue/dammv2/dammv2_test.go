package dammv2

import (
	"encoding/binary"
	"math"
	"math/big"
	"os"
	"testing"

	"github.com/gagliardetto/solana-go"
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
	"github.com/mintlake/mintlake/testworld/layout"
)

func TestAuthority(t *testing.T) {
	require.Equal(t, "HLnpSz9h2S4hiLQ43rnSD9XkcUThA7B8hQMKmDaiTLcC", Authority.String())
}

// drawPool draws a pool whose price lies in its range.
func drawPool(t *rapid.T) *Pool {
	p := &Pool{}
	for side, name := range []string{"a", "b"} {
		p.state.mints[side] = swaptest.Named(name)
		p.mints[side] = &mint.Mint{Address: swaptest.Named(name), Program: mint.Token}
	}
	wide := func(label string, least, most uint64) uint256.Int {
		return uint256.Int{rapid.Uint64().Draw(t, label), rapid.Uint64Range(least, most).Draw(t, label+" high")}
	}
	s := &p.state
	s.low = *uint256.NewInt(4295048016)
	s.high = uint256.Int{0, 1 << 32}
	s.price = rapid.Custom(func(t *rapid.T) uint256.Int {
		bits := rapid.UintRange(33, 95).Draw(t, "bits")
		var price uint256.Int
		price.Lsh(uint256.NewInt(rapid.Uint64Range(1<<31, 1<<32-1).Draw(t, "price")), bits-31)
		return price
	}).Draw(t, "price")
	s.liquidity = wide("liquidity", 1, 1<<60)
	s.base = baseFee{cliff: rapid.Uint64Range(0, feeDivisor/2).Draw(t, "cliff")}
	s.collect = byte(rapid.IntRange(0, 1).Draw(t, "collect"))
	if rapid.Bool().Draw(t, "dynamic") {
		s.dynamic = dynamicFee{
			on: true, maxAccumulator: 14_460_000, control: rapid.Uint32Range(0, 100_000).Draw(t, "control"), binStep: 1, filter: 10, decay: 120, reduction: 5000,
			binStepQ64: *uint256.NewInt(1844674407370955), priceReference: s.price, accumulator: *uint256.NewInt(rapid.Uint64Range(0, 14_460_000).Draw(t, "accumulator")),
		}
	}
	return p
}

func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPool(t)
		// A swap moves the dynamic fee, so the second of two may pay less.
		venuetest.Properties(t, venuetest.Case{
			Pool: p, Held: [2]uint64{math.MaxUint64, math.MaxUint64}, SplitGains: p.state.dynamic.on, Clock: venue.Clock{UnixTime: 1000},
		})
	})
}

func exact(n *uint256.Int) *big.Int { return n.ToBig() }

// TestTheRangeIsTheFormula compares with the formula in numbers without a size.
func TestTheRangeIsTheFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPool(t)
		s, amount := &p.state, venuetest.Amount(t, "amount")
		var m move
		if s.sellExact(&m, amount, true) != nil {
			return
		}
		liquidity, price := exact(&s.liquidity), exact(&s.price)
		product := new(big.Int).Mul(liquidity, price)
		divisor := new(big.Int).Add(liquidity, new(big.Int).Mul(new(big.Int).SetUint64(amount), price))
		next, rest := new(big.Int).QuoRem(product, divisor, new(big.Int))
		if rest.Sign() > 0 {
			next.Add(next, big.NewInt(1))
		}
		require.Equal(t, next.String(), m.price.Dec())
		out := new(big.Int).Mul(liquidity, new(big.Int).Sub(price, next))
		require.Equal(t, out.Rsh(out, 128).String(), new(big.Int).SetUint64(m.out).String())
	})
}

func TestTheBaseFeeFallsWithTime(t *testing.T) {
	linear := baseFee{cliff: 500_000_000, periods: 10, frequency: 60, factor: 40_000_000}
	exponential := baseFee{cliff: 500_000_000, mode: modeExponential, periods: 120, frequency: 60, factor: 265}
	for _, e := range []struct {
		fee   baseFee
		point uint64
		want  uint64
	}{
		{linear, 100, 500_000_000}, {linear, 159, 500_000_000}, {linear, 160, 460_000_000}, {linear, 100_000, 100_000_000}, {linear, 99, 100_000_000},
		{exponential, 100, 500_000_000}, {exponential, 160, 486_750_000}, {exponential, 100_000, 19_919_787},
	} {
		got, ok := e.fee.at(e.point, 100)
		require.True(t, ok)
		require.Equal(t, e.want, got, "at %d", e.point)
	}
	_, ok := (&baseFee{cliff: 1, periods: 2, frequency: 1, factor: 1}).at(200, 100)
	require.False(t, ok)
}

func poolAccount(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile(testkit.Shared(t, "data/swap-vectors/meteora-damm-v2/fixtures/pool_account.bin"))
	require.NoError(t, err)
	return data
}

func load(t testing.TB, data []byte) (venue.Pool, error) {
	t.Helper()
	c := swaptest.New()
	s, err := decodeState(data)
	require.NoError(t, err)
	for _, key := range s.mints {
		c.Mint(key, swaptest.TokenProgram, 6)
	}
	c.Set(swaptest.Named("pool"), Program, data)
	return c.Pool(t, Venue{}, s.mints)
}

func TestWhatIsNotProvedIsRefused(t *testing.T) {
	for name, edit := range map[string]func(data []byte){
		"rate limiter":    func(data []byte) { data[poolBaseFee+8] = 2 },
		"market cap fee":  func(data []byte) { data[poolBaseFee+8] = 3 },
		"compounding":     func(data []byte) { data[poolCollect] = 2 },
		"new fee version": func(data []byte) { data[poolFeeVersion] = 2 },
	} {
		data := poolAccount(t)
		edit(data)
		_, err := load(t, data)
		require.ErrorIs(t, err, venue.ErrUnverified, name)
	}
	data := poolAccount(t)
	data[poolStatus] = 1
	p, err := load(t, data)
	require.NoError(t, err)
	_, err = p.Quote(venue.Order{In: p.Mints()[0], Amount: 1000, Clock: venue.Clock{UnixTime: 1_800_000_000}})
	require.ErrorIs(t, err, venue.ErrClosed)
	p, err = load(t, poolAccount(t))
	require.NoError(t, err)
	_, err = p.Quote(venue.Order{In: p.Mints()[0], Amount: 1000, Clock: venue.Clock{UnixTime: 1_700_000_000}})
	require.ErrorIs(t, err, venue.ErrClosed, "not open yet")
}

func TestExactOutIsSwap2(t *testing.T) {
	p, err := load(t, poolAccount(t))
	require.NoError(t, err)
	q, err := p.Quote(venue.Order{In: p.Mints()[0], Amount: 1000, ExactOut: true, Clock: venue.Clock{UnixTime: 1_800_000_000}})
	require.NoError(t, err)
	list, err := p.Instructions(q, 7, venue.UserAccounts{})
	require.NoError(t, err)
	require.Equal(t, swap2[:], list[0].Data[:8])
	require.EqualValues(t, 1000, binary.LittleEndian.Uint64(list[0].Data[8:]))
	require.EqualValues(t, 7, binary.LittleEndian.Uint64(list[0].Data[16:]))
	require.Equal(t, []byte{2}, list[0].Data[24:])
	require.Equal(t, solana.PublicKey(Program), solana.PublicKey(list[0].Accounts[11].Key), "no referral")
}

// FuzzPool feeds hostile accounts: an error or a quote, never a panic.
func FuzzPool(f *testing.F) {
	f.Add(poolAccount(f), uint64(1000))
	f.Fuzz(func(t *testing.T, data []byte, amount uint64) {
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
		p, err := opened.Decode(venue.NewAccounts(held))
		if err != nil {
			return
		}
		venuetest.Hostile(t, p, amount)
	})
}

func BenchmarkQuote(b *testing.B) {
	p, err := load(b, poolAccount(b))
	require.NoError(b, err)
	o := venue.Order{In: p.Mints()[0], Amount: 1_000_000, Clock: venue.Clock{UnixTime: 1_800_000_000}}
	b.ReportAllocs()
	for b.Loop() {
		_, _ = p.Quote(o)
	}
}
