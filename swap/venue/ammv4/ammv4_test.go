package ammv4

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/internal/testkit/venuetest"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/testworld/layout"
)

func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPool([2]uint64{venuetest.Amount(t, "coin"), venuetest.Amount(t, "price")}, rapid.Uint64Range(0, 100).Draw(t, "fee"), 10_000)
		venuetest.Properties(t, venuetest.Case{Pool: p, Held: p.vaults})
	})
}

var (
	coin, price = swaptest.Named("coin"), swaptest.Named("price")
	address     = swaptest.Named("pool")
	vaults      = [2]venue.Key{swaptest.Named("vault 0"), swaptest.Named("vault 1")}
	orders      = swaptest.Named("orders")
	market      = swaptest.Named("market program")
)

// account makes a pool account of a status.
func account(status, openTime uint64) []byte {
	data := make([]byte, PoolSize)
	put := func(at int, n uint64) { binary.LittleEndian.PutUint64(data[at:], n) }
	put(poolStatus, status)
	put(poolOpenTime, openTime)
	put(poolFeeNumerator, 25)
	put(poolFeeDivisor, 10_000)
	for at, key := range map[int]venue.Key{poolVaults: vaults[0], poolVaults + 32: vaults[1], poolMints: coin, poolMints + 32: price, poolOpenOrders: orders, poolMarketProgram: market} {
		copy(data[at:], key[:])
	}
	return data
}

func chain(status, openTime uint64) *swaptest.Chain {
	c := swaptest.New()
	c.Mint(coin, swaptest.TokenProgram, 6)
	c.Mint(price, swaptest.TokenProgram, 9)
	c.Set(address, Program, account(status, openTime))
	for side, m := range []venue.Key{coin, price} {
		c.TokenAccount(vaults[side], swaptest.TokenProgram, m, 1_000_000_000)
	}
	return c
}

func TestStatusSaysWhetherItTrades(t *testing.T) {
	for _, status := range []uint64{0, 1, 2, 3, 4, 5, 6, 7, 8} {
		p, err := chain(status, 100).Pool(t, Venue{}, [2]venue.Key{coin, price})
		require.NoError(t, err)
		for _, now := range []int64{-1, 99, 100} {
			_, err = p.Quote(venue.Order{In: coin, Amount: 1000, Clock: venue.Clock{UnixTime: now}})
			if status == 1 || status == 6 || status == 7 && now == 100 {
				require.NoError(t, err, status)
			} else {
				require.ErrorIs(t, err, venue.ErrClosed, status)
			}
		}
	}
}

func TestTokensInAnOrderBookAreRefused(t *testing.T) {
	for _, at := range []int{ordersCoinTotal, ordersPriceTotal} {
		c := chain(statusInitialized, 0)
		data := make([]byte, 3228)
		c.Set(orders, market, data)
		_, err := c.Pool(t, Venue{}, [2]venue.Key{price, coin})
		require.NoError(t, err)
		data[at] = 1
		c.Set(orders, market, data)
		_, err = c.Pool(t, Venue{}, [2]venue.Key{coin, price})
		require.ErrorIs(t, err, venue.ErrUnverified)
		c.Edit(address, func(d []byte) { d[poolStatus] = statusSwapOnly })
		_, err = c.Pool(t, Venue{}, [2]venue.Key{coin, price})
		require.NoError(t, err, "with swaps alone the order book is not looked at")
	}
}

func TestInstructions(t *testing.T) {
	p, err := chain(statusSwapOnly, 0).Pool(t, Venue{}, [2]venue.Key{coin, price})
	require.NoError(t, err)
	user := venue.UserAccounts{Owner: swaptest.Named("user"), Source: swaptest.Named("from"), Destination: swaptest.Named("to")}
	q, err := p.Quote(venue.Order{In: price, Amount: 1000})
	require.NoError(t, err)
	list, err := p.Instructions(q, 7, user)
	require.NoError(t, err)
	require.Equal(t, []byte{16, 0xe8, 3, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0}, list[0].Data)
	require.Equal(t, []venue.Meta{
		{Key: mint.Token}, {Key: address, Writable: true}, {Key: Authority}, {Key: vaults[0], Writable: true}, {Key: vaults[1], Writable: true},
		{Key: user.Source, Writable: true}, {Key: user.Destination, Writable: true}, {Key: user.Owner, Signer: true},
	}, list[0].Accounts)
	q, err = p.Quote(venue.Order{In: price, Amount: 1000, ExactOut: true})
	require.NoError(t, err)
	list, err = p.Instructions(q, 7, user)
	require.NoError(t, err)
	require.Equal(t, []byte{17, 7, 0, 0, 0, 0, 0, 0, 0, 0xe8, 3, 0, 0, 0, 0, 0, 0}, list[0].Data)
}

// FuzzPool feeds hostile accounts: an error or a quote, never a panic.
func FuzzPool(f *testing.F) {
	f.Add(account(statusInitialized, 0), make([]byte, 165), make([]byte, 3228), uint64(1000))
	f.Fuzz(func(t *testing.T, pool, vault, book []byte, amount uint64) {
		opened, err := Venue{}.Open(address, pool)
		if err != nil {
			return
		}
		s, err := decodeState(pool)
		require.NoError(t, err)
		token := func(key venue.Key) *solana.Account {
			data := append(append([]byte{}, key[:]...), vault...)
			return &solana.Account{Owner: mint.Token, Data: data}
		}
		coin := layout.Mint{}
		p, err := opened.Decode(venue.NewAccounts(map[venue.Key]*solana.Account{
			address: {Owner: Program, Data: pool}, s.vaults[0]: token(s.mints[0]), s.vaults[1]: token(s.mints[1]),
			s.openOrders: {Owner: s.marketProgram, Data: book}, s.mints[0]: {Owner: mint.Token, Data: coin.Bytes()}, s.mints[1]: {Owner: mint.Token, Data: coin.Bytes()},
		}))
		if err != nil {
			return
		}
		venuetest.Hostile(t, p, amount)
	})
}
