package pumpcurve

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
	"github.com/mintlake/mintlake/swap/venue/pumpfees"
	"github.com/mintlake/mintlake/testworld/layout"
)

func TestProperties(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := state{
			tokens: venuetest.Amount(r, "tokens"), quote: venuetest.Amount(r, "quote"), realTokens: venuetest.Amount(r, "real tokens"),
			realQuote: venuetest.Amount(r, "real quote"), creator: swaptest.Named("creator"),
		}
		// As on the chain: the virtual reserves are the real ones and more.
		s.realTokens, s.realQuote = min(s.realTokens, s.tokens), min(s.realQuote, s.quote)
		p := newPool(t, s, pumpfees.Rates{
			Protocol: rapid.Uint64Range(0, 500).Draw(r, "protocol"), Creator: rapid.Uint64Range(0, 500).Draw(r, "creator"),
		})
		venuetest.Properties(r, venuetest.Case{Pool: p, Held: [2]uint64{s.realTokens, s.realQuote}, SplitGains: true, Rounding: 6})
	})
}

// curve is an account of a length with 1,000,000,000 tokens left.
func curve(length int, quoteMint venue.Key) []byte {
	data := make([]byte, max(length, curveWithBuckets))
	copy(data, curveDiscriminator[:])
	for at, n := range map[int]uint64{
		curveTokens: 1_073_000_000_000_000, curveQuote: 30_000_000_000, curveRealTokens: 793_100_000_000_000, curveRealQuote: 1_000_000_000, curveSupply: 1_000_000_000_000_000,
	} {
		binary.LittleEndian.PutUint64(data[at:], n)
	}
	creator := swaptest.Named("creator")
	copy(data[curveCreator:], creator[:])
	copy(data[curveQuoteMint:], quoteMint[:])
	return data[:length]
}

var token = swaptest.Named("token")

func chain(t testing.TB, data []byte) *swaptest.Chain {
	t.Helper()
	c := swaptest.New()
	c.Mint(token, swaptest.Token2022Program, 6)
	c.Mint(swaptest.Named("dollar"), swaptest.TokenProgram, 6)
	address, err := Address(token)
	require.NoError(t, err)
	c.Set(address, Program, data)
	global := make([]byte, globalLength)
	copy(global, globalDiscriminator[:])
	for at, name := range map[int]string{globalRecipient: "recipient", globalReserved: "reserved", globalBuyback: "buyback"} {
		key := swaptest.Named(name)
		copy(global[at:], key[:])
	}
	c.Set(Global, Program, global)
	c.Set(FeeConfig, pumpfees.Program, feeConfig(pumpfees.Rates{Protocol: 95, Creator: 30}))
	return c
}

func TestVersionsOfTheInstructions(t *testing.T) {
	dollar := swaptest.Named("dollar")
	user := venue.UserAccounts{Owner: swaptest.Named("user"), Source: swaptest.Named("from"), Destination: swaptest.Named("to")}
	cashback := curve(200, venue.Key{})
	cashback[curveCashback] = 1
	for _, e := range []struct {
		name     string
		data     []byte
		quote    venue.Key
		accounts [2]int // to sell, to buy
		buyback  int    // of a purchase
	}{
		{"an old account", curve(125, venue.Key{}), mint.WrappedSOL, [2]int{26, 27}, 8},
		{"one with fees", curve(200, venue.Key{}), mint.WrappedSOL, [2]int{17, 17}, 13},
		{"with cashback", cashback, mint.WrappedSOL, [2]int{26, 27}, 8},
		{"in dollars", curve(200, dollar), dollar, [2]int{17, 17}, 13},
	} {
		p, err := chain(t, e.data).Pool(t, Venue{}, [2]venue.Key{token, e.quote})
		require.NoError(t, err, e.name)
		require.Equal(t, [2]venue.Key{token, e.quote}, p.Mints())
		for side, want := range e.accounts {
			q, err := p.Quote(venue.Order{In: p.Mints()[side], Amount: 1_000_000})
			require.NoError(t, err, e.name)
			require.Equal(t, e.quote == mint.WrappedSOL, q.Native)
			list, err := p.Instructions(q, 7, user)
			require.NoError(t, err)
			require.Len(t, list[0].Accounts, want, "%s, side %d", e.name, side)
			if side == 1 {
				buyback := swaptest.Named("buyback")
				if e.quote == dollar {
					buyback, err = venue.AssociatedAccount(buyback, dollar, mint.Token)
					require.NoError(t, err)
				}
				require.Equal(t, buyback, list[0].Accounts[e.buyback].Key, e.name)
			}
		}
	}
}

func TestTheRestOfACurve(t *testing.T) {
	p, err := chain(t, curve(200, venue.Key{})).Pool(t, Venue{}, [2]venue.Key{token, mint.WrappedSOL})
	require.NoError(t, err)
	q, err := p.Quote(venue.Order{In: mint.WrappedSOL, Amount: 1 << 40})
	require.NoError(t, err)
	require.EqualValues(t, 793_100_000_000_000, q.AmountOut)
	require.Less(t, q.AmountIn, uint64(1<<40), "what is left costs less than offered")
	list, err := p.Instructions(q, 1, venue.UserAccounts{})
	require.NoError(t, err)
	require.Equal(t, buyInV2[:], list[0].Data[:8], "version 3 would buy on")
	require.EqualValues(t, 1, list[0].Data[24], "a partial fill")
	after, err := p.(*Pool).After(q)
	require.NoError(t, err)
	_, err = after.Quote(venue.Order{In: mint.WrappedSOL, Amount: 1000})
	require.ErrorIs(t, err, venue.ErrClosed)
	_, err = p.Quote(venue.Order{In: mint.WrappedSOL, Amount: 793_100_000_000_001, ExactOut: true})
	require.ErrorIs(t, err, venue.ErrNoLiquidity)
}

func TestACurveIsOfItsCoin(t *testing.T) {
	address, err := Address(token)
	require.NoError(t, err)
	_, err = Venue{}.Open(address, curve(200, venue.Key{}), swaptest.Named("other"))
	require.ErrorIs(t, err, venue.ErrMalformed)
	_, err = Venue{}.Open(address, curve(200, mint.WrappedSOL), token)
	require.ErrorIs(t, err, venue.ErrUnverified, "whether tokens or lamports move is not proved")
}

// FuzzPool feeds hostile accounts: an error or a quote, never a panic.
func FuzzPool(f *testing.F) {
	global := make([]byte, globalLength)
	copy(global, globalDiscriminator[:])
	f.Add(curve(200, venue.Key{}), global, feeConfig(pumpfees.Rates{Protocol: 95, Creator: 30}), uint64(1<<40), uint64(1000))
	f.Fuzz(func(t *testing.T, data, global, fees []byte, supply, amount uint64) {
		address, err := Address(token)
		require.NoError(t, err)
		opened, err := Venue{}.Open(address, data, token)
		if err != nil {
			return
		}
		coin := layout.Mint{Supply: supply}
		held := map[venue.Key]*solana.Account{
			address: {Owner: Program, Data: data}, Global: {Owner: Program, Data: global}, FeeConfig: {Owner: pumpfees.Program, Data: fees},
		}
		for _, key := range opened.Mints() {
			held[key] = &solana.Account{Owner: mint.Token, Data: coin.Bytes()}
		}
		p, err := opened.Decode(venue.NewAccounts(held))
		if err != nil {
			return
		}
		venuetest.Hostile(t, p, amount)
	})
}
