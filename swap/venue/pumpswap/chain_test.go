package pumpswap

import (
	"encoding/binary"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/pumpfees"
)

// Rates of the chain's scene, in basis points.
const lpRate, protocolRate, creatorRate = 20, 93, 30

var nearCoin, farCoin = swaptest.Named("near coin"), swaptest.Named("far coin")

// chainScene has a coin that is quoted in SOL, and one that is quoted in that coin.
func chainScene(t *testing.T) (c *swaptest.Chain, pools func() (near, far *Pool)) {
	t.Helper()
	c = swaptest.New()
	c.Mint(nearCoin, swaptest.Token2022Program, 6)
	c.Mint(farCoin, swaptest.TokenProgram, 6)
	config := make([]byte, configLength)
	copy(config, configDiscriminator[:])
	buyback := swaptest.Named("buyback")
	copy(config[configBuyback:], buyback[:])
	c.Set(GlobalConfig, Program, config)
	fees := append([]byte{0x8f, 0x34, 0x92, 0xbb, 0xdb, 0x7b, 0x4c, 0x9b}, make([]byte, 33)...)
	rates := func() {
		for _, rate := range []uint64{lpRate, protocolRate, creatorRate} {
			fees = binary.LittleEndian.AppendUint64(fees, rate)
		}
	}
	rates()
	// One tier, from a market cap of 0.
	fees = append(binary.LittleEndian.AppendUint32(fees, 1), make([]byte, 16)...)
	rates()
	c.Set(FeeConfig, pumpfees.Program, fees)
	put := func(coin, in, program, inProgram venue.Key, amounts [2]uint64) venue.Key {
		pool, name := make([]byte, poolLength), coin.String()
		copy(pool, poolDiscriminator[:])
		for at, key := range map[int]venue.Key{
			poolCreator: venue.MustDerive(Curve, []byte("pool-authority"), coin[:]), poolBaseMint: coin, poolQuoteMint: in, poolCoinCreator: creator,
			poolBaseVault: swaptest.Named(name + " base"), poolQuoteVault: swaptest.Named(name + " quote"),
		} {
			copy(pool[at:], key[:])
		}
		c.Set(swaptest.Named(name+" pool"), Program, pool)
		c.TokenAccount(swaptest.Named(name+" base"), program, coin, amounts[0])
		c.TokenAccount(swaptest.Named(name+" quote"), inProgram, in, amounts[1])
		return swaptest.Named(name + " pool")
	}
	put(nearCoin, mint.WrappedSOL, swaptest.Token2022Program, swaptest.TokenProgram, [2]uint64{500_000_000_000_000, 60_000_000_000})
	put(farCoin, nearCoin, swaptest.TokenProgram, swaptest.Token2022Program, [2]uint64{700_000_000_000_000, 3_000_000_000_000})
	open := func(a, b venue.Key) *Pool {
		p, err := c.Pool(t, Venue{}, [2]venue.Key{a, b})
		require.NoError(t, err)
		return p.(*Pool)
	}
	return c, func() (near, far *Pool) { return open(nearCoin, mint.WrappedSOL), open(farCoin, nearCoin) }
}

// feeOf is a fee on an amount, rounded up.
func feeOf(amount *big.Int, rate int64) *big.Int {
	n := new(big.Int).Mul(amount, big.NewInt(rate))
	return n.Add(n, big.NewInt(9999)).Quo(n, big.NewInt(10_000))
}

// bought and sold are multi_hop_swap's formulas, in numbers without a size. Each rate is a fee.
func bought(spend, coins, quotes uint64, rates ...int64) uint64 {
	whole, sum := new(big.Int).SetUint64(spend), int64(10_000)
	for _, rate := range rates {
		sum += rate
	}
	net := new(big.Int).Mul(whole, big.NewInt(10_000))
	net.Quo(net, big.NewInt(sum))
	left := new(big.Int).Set(whole) // what the fees on net leave buys
	for _, rate := range rates {
		left.Sub(left, feeOf(net, rate))
	}
	left.Sub(left, big.NewInt(1))
	out := new(big.Int).Mul(left, new(big.Int).SetUint64(coins))
	return out.Quo(out, left.Add(left, new(big.Int).SetUint64(quotes))).Uint64()
}

func sold(amount, coins, quotes uint64, rates ...int64) uint64 {
	in := new(big.Int).SetUint64(amount)
	gross := new(big.Int).Mul(in, new(big.Int).SetUint64(quotes))
	gross.Quo(gross, in.Add(in, new(big.Int).SetUint64(coins)))
	out := new(big.Int).Set(gross)
	for _, rate := range rates {
		out.Sub(out, feeOf(gross, rate))
	}
	return out.Uint64()
}

// TestAChainPaysEachFeeOnce: the protocol's where the user's currency is traded, those of the far
// coin's creator and liquidity providers on its own pool. Everything that the first swap gives is
// sold.
func TestAChainPaysEachFeeOnce(t *testing.T) {
	_, pools := chainScene(t)
	near, far := pools()
	const spend, coins = 1_234_567_891, 9_876_543_210_123
	first, err := near.QuoteFirst(venue.Order{In: mint.WrappedSOL, Amount: spend})
	require.NoError(t, err)
	second, err := near.QuoteNext(first, far)
	require.NoError(t, err)
	require.Equal(t, bought(spend, near.vaults[base], near.vaults[quote], protocolRate), first.AmountOut)
	require.Equal(t, bought(first.AmountOut, far.vaults[base], far.vaults[quote], lpRate, creatorRate), second.AmountOut)
	require.EqualValues(t, spend, first.AmountIn, "nothing of it is left over")
	require.Equal(t, first.AmountOut, second.AmountIn)
	require.Equal(t, farCoin, second.Out)
	require.NotZero(t, first.Features&second.Features&FeatureMultiHop)
	alone, err := near.Quote(venue.Order{In: mint.WrappedSOL, Amount: spend})
	require.NoError(t, err)
	require.Less(t, alone.AmountOut, first.AmountOut, "a swap of its own pays all fees")

	first, err = far.QuoteFirst(venue.Order{In: farCoin, Amount: coins})
	require.NoError(t, err)
	second, err = far.QuoteNext(first, near)
	require.NoError(t, err)
	require.Equal(t, sold(coins, far.vaults[base], far.vaults[quote], lpRate, creatorRate), first.AmountOut)
	require.Equal(t, sold(first.AmountOut, near.vaults[base], near.vaults[quote], protocolRate), second.AmountOut)

	user := venue.UserAccounts{Owner: swaptest.Named("user"), Source: swaptest.Named("from"), Destination: swaptest.Named("to")}
	list, err := far.ChainInstructions(first, second, near, 77, user)
	require.NoError(t, err)
	require.Len(t, list, 2)
	swap := list[1]
	require.Len(t, swap.Accounts, 26)
	require.Equal(t, append(multiHop[:], append(binary.LittleEndian.AppendUint64(nil, coins), 77, 0, 0, 0, 0, 0, 0, 0)...), swap.Data)
	require.Equal(t, []venue.Key{far.address, near.address}, []venue.Key{swap.Accounts[18].Key, swap.Accounts[23].Key})
	opens, err := far.ChainOpens(first, user.Owner)
	require.NoError(t, err)
	require.Len(t, opens, 1, "the account of the user's volume")
}

// TestWhatIsNotChained: the program refuses it, or would take other fees.
func TestWhatIsNotChained(t *testing.T) {
	ask := func(first, next *Pool, in venue.Key, exactOut bool) error {
		one, err := first.QuoteFirst(venue.Order{In: in, Amount: 1_000_000_000, ExactOut: exactOut})
		if err != nil {
			return err
		}
		_, err = first.QuoteNext(one, next)
		return err
	}
	_, pools := chainScene(t)
	near, far := pools()
	require.NoError(t, ask(near, far, mint.WrappedSOL, false))
	require.ErrorIs(t, ask(near, far, mint.WrappedSOL, true), venue.ErrUnverified)
	require.ErrorIs(t, ask(far, near, farCoin, true), venue.ErrUnverified)
	require.Error(t, ask(near, near, mint.WrappedSOL, false), "one pool twice")
	require.Error(t, ask(near, far, nearCoin, false), "the second pool does not trade what the first gives")
	for name, edit := range map[string]func(near, far *Pool){
		"not pump's":           func(near, _ *Pool) { near.canonical = false },
		"the other not pump's": func(_, far *Pool) { far.canonical = false },
		"mayhem":               func(near, _ *Pool) { near.state.mayhem = true },
		"cashback of the far":  func(_, far *Pool) { far.state.cashback = true },
		"too short":            func(_, far *Pool) { far.state.short = true },
		"nobody is paid":       func(near, _ *Pool) { near.config.buyback = venue.Key{} },
	} {
		near, far := pools()
		edit(near, far)
		require.ErrorIs(t, ask(near, far, mint.WrappedSOL, false), venue.ErrUnverified, name)
	}
	near, far = pools()
	near.state.cashback = true // it is not the target
	require.NoError(t, ask(near, far, mint.WrappedSOL, false))

	// Two coins in SOL: one hop would sell, the other buy.
	across := *near
	across.address = swaptest.Named("across")
	across.state.base = swaptest.Named("third coin")
	require.ErrorIs(t, ask(near, &across, nearCoin, false), venue.ErrUnverified)
}
