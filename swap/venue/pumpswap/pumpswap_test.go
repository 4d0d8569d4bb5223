package pumpswap

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"
	"github.com/mintlake/mintlake/schemas/pubkey"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/internal/testkit/venuetest"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/pumpfees"
)

func TestProperties(t *testing.T) {
	fees := mainnetFees(t)
	rapid.Check(t, func(t *rapid.T) {
		v := vector{
			Base: venuetest.Amount(t, "base"), Quote: venuetest.Amount(t, "quote"), Supply: venuetest.Amount(t, "supply"),
			Canonical: rapid.Bool().Draw(t, "canonical"), CreatorSet: rapid.Bool().Draw(t, "creator"), Mayhem: rapid.Bool().Draw(t, "mayhem"),
			QuoteMint: rapid.SampledFrom([]string{"WSOL", "USDC"}).Draw(t, "quote mint"), Configurable: rapid.Bool().Draw(t, "configurable"),
			CreatorRate: rapid.Uint64Range(0, 1000).Draw(t, "creator rate"), Virtual: rapid.Int64Range(-1<<40, 1<<40).Draw(t, "virtual"),
		}
		p := v.pool(fees)
		// The liquidity providers' part of a sale stays in the reserve that is bought, and tiers
		// fall as the price rises. Three fees round up each, and a buy prices one unit less than
		// it pays.
		venuetest.Properties(t, venuetest.Case{Pool: p, Held: p.vaults, SplitGains: true, Rounding: 6})
	})
}

var address, creator = swaptest.Named("pool"), swaptest.Named("creator")

// chain has the mainnet configuration and one pool.
func chain(t testing.TB, edit func(pool []byte)) (*swaptest.Chain, [2]venue.Key) {
	t.Helper()
	var config struct {
		Data []byte `json:"data_base64"`
	}
	c := swaptest.New()
	readShared(t, "mainnet_global_config_ADyA8hde.json", &config)
	c.Set(GlobalConfig, Program, config.Data)
	readShared(t, "mainnet_amm_fee_config_5PHirr8joyTMp9JMm6nW7hNDVyEYdkzDqazxPD7RaTjx_slot445186127.json", &config)
	c.Set(FeeConfig, pumpfees.Program, config.Data)
	base := swaptest.Named("coin")
	c.Mint(base, swaptest.Token2022Program, 6)
	pool := make([]byte, 301)
	copy(pool, poolDiscriminator[:])
	authority := venue.MustDerive(Curve, []byte("pool-authority"), base[:])
	for at, key := range map[int]venue.Key{
		poolCreator: authority, poolBaseMint: base, poolQuoteMint: mint.WrappedSOL, poolCoinCreator: creator,
		poolBaseVault: swaptest.Named("base vault"), poolQuoteVault: swaptest.Named("quote vault"),
	} {
		copy(pool[at:], key[:])
	}
	if edit != nil {
		edit(pool)
	}
	c.Set(address, Program, pool)
	c.TokenAccount(swaptest.Named("base vault"), swaptest.Token2022Program, base, 500_000_000_000_000)
	c.TokenAccount(swaptest.Named("quote vault"), swaptest.TokenProgram, mint.WrappedSOL, 50_000_000_000)
	return c, [2]venue.Key{base, mint.WrappedSOL}
}

func TestOfTheMainnetPool(t *testing.T) {
	var account struct {
		Pubkey string `json:"pubkey"`
		Data   []byte `json:"data_base64"`
	}
	readShared(t, "mainnet_pool_sol_usdc_Gf7sXMoP.json", &account)
	opened, err := Venue{}.Open(pubkey.MustParse(account.Pubkey), account.Data)
	require.NoError(t, err)
	require.Contains(t, opened.Mints(), mint.WrappedSOL)
	require.False(t, opened.(*ref).canonical)
	require.Equal(t, "ADyA8hdefvWN2dbGGWFotbzWxrAvLW83WG6QCVXvJKqw", GlobalConfig.String())
	require.Equal(t, "5PHirr8joyTMp9JMm6nW7hNDVyEYdkzDqazxPD7RaTjx", FeeConfig.String())
}

func TestABoostCountsInThePriceAndIsNotPaidOut(t *testing.T) {
	c, mints := chain(t, func(pool []byte) { binary.LittleEndian.PutUint64(pool[poolVirtual:], 500_000_000_000) })
	p, err := c.Pool(t, Venue{}, mints)
	require.NoError(t, err)
	small, err := p.Quote(venue.Order{In: mints[0], Amount: 10_000_000_000_000})
	require.NoError(t, err)
	require.Greater(t, small.AmountOut, uint64(10_000_000_000), "eleven times the price without it")
	_, err = p.Quote(venue.Order{In: mints[0], Amount: 100_000_000_000_000})
	require.ErrorIs(t, err, venue.ErrNoLiquidity)
}

func TestAccountsDependOnTheCoin(t *testing.T) {
	user := venue.UserAccounts{Owner: swaptest.Named("user"), Source: swaptest.Named("from"), Destination: swaptest.Named("to")}
	for _, e := range []struct {
		name      string
		edit      func(pool []byte)
		buy, sell int
	}{
		{"plain", nil, 26, 24},
		{"cashback", func(pool []byte) { pool[poolCashback] = 1 }, 27, 26},
		{"no creator", func(pool []byte) { copy(pool[poolCoinCreator:], make([]byte, 32)) }, 25, 23},
		{"a creator who gets nothing", func(pool []byte) { pool[poolCreator]++; pool[poolCashback] = 1 }, 25, 23},
	} {
		c, mints := chain(t, e.edit)
		p, err := c.Pool(t, Venue{}, mints)
		require.NoError(t, err)
		for side, want := range []int{e.sell, e.buy} {
			q, err := p.Quote(venue.Order{In: mints[side], Amount: 1_000_000_000})
			require.NoError(t, err)
			list, err := p.Instructions(q, 7, user)
			require.NoError(t, err)
			swap := list[len(list)-1]
			require.Len(t, swap.Accounts, want, "%s, side %d", e.name, side)
			require.Equal(t, []venue.Key{user.Source, user.Destination}[side], swap.Accounts[5].Key, "the user's base account")
		}
	}
}

func TestWhatIsRefused(t *testing.T) {
	taxed := func(c *swaptest.Chain, mints [2]venue.Key) {
		c.Mint(mints[0], swaptest.Token2022Program, 6, swaptest.TransferFee(100, 5)...)
	}
	c, mints := chain(t, nil)
	taxed(c, mints)
	_, err := c.Pool(t, Venue{}, mints)
	require.ErrorIs(t, err, venue.ErrUnverified)
	c, mints = chain(t, nil)
	c.Edit(GlobalConfig, func(data []byte) { data[configFlags] = disabledBuy })
	p, err := c.Pool(t, Venue{}, mints)
	require.NoError(t, err)
	_, err = p.Quote(venue.Order{In: mints[1], Amount: 1_000_000})
	require.ErrorIs(t, err, venue.ErrClosed)
	_, err = p.Quote(venue.Order{In: mints[0], Amount: 1_000_000})
	require.NoError(t, err)
}

// FuzzPool feeds hostile accounts: an error or a quote, never a panic.
func FuzzPool(f *testing.F) {
	c, _ := chain(f, nil)
	_, accounts, err := c.GetMultipleAccounts(f.Context(), []venue.Key{address, GlobalConfig, FeeConfig}, solana.AccountOptions{})
	require.NoError(f, err)
	f.Add(accounts[0].Data, accounts[1].Data, accounts[2].Data, uint64(1<<40), uint64(1<<40), uint64(1000))
	f.Fuzz(func(t *testing.T, pool, config, fees []byte, baseVault, quoteVault, amount uint64) {
		opened, err := Venue{}.Open(address, pool)
		if err != nil {
			return
		}
		s, err := decodeState(pool)
		require.NoError(t, err)
		chain := swaptest.New()
		chain.Mint(s.base, mint.Token, 6)
		chain.Mint(s.quote, mint.Token, 6)
		chain.TokenAccount(s.baseVault, mint.Token, s.base, baseVault)
		chain.TokenAccount(s.quoteVault, mint.Token, s.quote, quoteVault)
		chain.Set(address, Program, pool)
		chain.Set(GlobalConfig, Program, config)
		chain.Set(FeeConfig, pumpfees.Program, fees)
		p, err := chain.Decode(opened)
		if err != nil {
			return
		}
		venuetest.Hostile(t, p, amount)
	})
}
