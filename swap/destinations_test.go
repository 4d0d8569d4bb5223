package swap

import (
	"net/http"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/clmm"
	"github.com/mintlake/mintlake/swap/venue/dbc"
	executed "github.com/mintlake/mintlake/testworld/chain"
)

// launched puts a curve of Meteora's on a chain, at price 1 and with 2³² units of each token up to
// price 4.
func launched(t *testing.T, c *swaptest.Chain, of, in venue.Key) venue.Key {
	t.Helper()
	address, config := swaptest.Named("launched"), swaptest.Named("launched config")
	keysAt := func(data []byte, keys map[int]venue.Key) []byte {
		for at, key := range keys {
			copy(data[at:], key[:])
		}
		return data
	}
	terms := keysAt(append([]byte{0x1a, 0x6c, 0x0e, 0x7b, 0x74, 0xe6, 0x81, 0x2b}, make([]byte, 1040)...), map[int]venue.Key{8: in})
	// The threshold, the prices of the migration and the start, and one segment.
	terms[264+7], terms[280+8], terms[392+8], terms[408+8], terms[424+12] = 1, 2, 1, 2, 1
	c.Set(config, dbc.Program, terms)
	pool := keysAt(append([]byte{0xd5, 0xe0, 0x05, 0xd1, 0x62, 0x45, 0x77, 0x5c}, make([]byte, 416)...), map[int]venue.Key{
		72: config, 136: of, 168: swaptest.Named("launched vault 0"), 200: swaptest.Named("launched vault 1"),
	})
	pool[280+8] = 1
	c.Set(address, dbc.Program, pool)
	return address
}

// TestEveryVenuePaysADestination: the swap's instruction has it where the venue's program pays, and
// the user's own account where it takes.
func TestEveryVenuePaysADestination(t *testing.T) {
	middle := swaptest.Named("middle")
	theirs := swaptest.Named("theirs")
	for name, of := range map[string]struct {
		put func(c *swaptest.Chain)
		// step is the instruction, source and destination are the user's accounts in it.
		step                string
		source, destination int
	}{
		"raydium_clmm":   {func(c *swaptest.Chain) { concentrated(t, c, clmm.Raydium.Program(), 2) }, "CAMMC 43", 3, 4},
		"orca_whirlpool": {func(c *swaptest.Chain) { orca(t, c, "orca", coin, swaptest.WrappedSOL) }, "whirL 43", 0, 0},
		"two of orca_whirlpool": {func(c *swaptest.Chain) {
			c.Mint(middle, swaptest.TokenProgram, 6)
			orca(t, c, "first", swaptest.WrappedSOL, middle)
			orca(t, c, "second", middle, coin)
		}, "whirL 186", 8, 13},
		"meteora_dlmm": {func(c *swaptest.Chain) { binned(t, c) }, "LBUZK 65", 4, 5},
		"meteora_dbc":  {func(c *swaptest.Chain) { launched(t, c, coin, swaptest.WrappedSOL) }, "dbcij 65", 3, 4},
	} {
		t.Run(name, func(t *testing.T) {
			c := chain()
			of.put(c)
			c.Set(theirs, swaptest.TokenProgram, holding(coin, second(1), holdingInit))
			f := start(t, Config{Hubs: []venue.Key{middle}}, c)
			r := f.quoteOK(t, query(swaptest.WrappedSOL, coin, "1000", fieldUser, wallet.String(), fieldDestination, theirs.String()))
			require.Zero(t, r.Rent, "no account of the user is opened for what he does not get")
			_, steps := stepsOf(t, r.Txn)
			accounts := named(t, steps, of.step).accounts
			if of.destination == 0 { // the places are those of the pool's mints
				of.source, of.destination = 7, 9
				if accounts[5] == coin {
					of.source, of.destination = 9, 7
				}
			}
			wrapped, err := venue.AssociatedAccount(venue.Key(wallet), swaptest.WrappedSOL, swaptest.TokenProgram)
			require.NoError(t, err)
			require.Equal(t, []venue.Key{wrapped, theirs}, []venue.Key{accounts[of.source], accounts[of.destination]})
			c.Edit(theirs, func(data []byte) { data[holdingStateAt] = holdingFrozen })
			f.refused(t, http.MethodGet, query(swaptest.WrappedSOL, coin, "1000", fieldUser, wallet.String(), fieldDestination, theirs.String()), "", http.StatusBadRequest, "frozen")
		})
	}
	for _, fork := range []clmm.Venue{clmm.PancakeSwap, clmm.Byreal, clmm.Stabble} {
		require.False(t, paysAnywhere[fork.Name()], "no run shows whom it pays")
	}
}

// TestADestinationIsPaid: sent and executed, its owner has what was quoted, and the user has paid.
func TestADestinationIsPaid(t *testing.T) {
	w := newWorld(t)
	f := startOver(t, Config{Hubs: []venue.Key{}, routing: hang}, w.rpc)
	user, friend := walletOf(1), walletOf(2)
	w.fund(user.PublicKey())
	w.fund(friend.PublicKey())
	paid := 0
	for _, name := range []string{"raydium_amm_v4", "raydium_cpmm", "raydium_clmm", "orca_whirlpool", "meteora_dlmm", "meteora_damm_v2"} {
		for _, mint := range w.majors() {
			buy := query(executed.NativeMint, mint, "1000000000", fieldDexes, name)
			if status, _ := f.do(t, http.MethodGet, buy, ""); status != http.StatusOK {
				continue
			}
			// The friend's own purchase opens his account.
			w.send(friend, f.quoteOK(t, buy+"&"+fieldUser+"="+friend.PublicKey().String()))
			w.step()
			account, err := venue.AssociatedAccount(venue.Key(friend.PublicKey()), mint, swaptest.TokenProgram)
			require.NoError(t, err)
			had, own := w.holds(friend.PublicKey(), mint.String()), w.holds(user.PublicKey(), mint.String())
			require.NotZero(t, had)
			r := f.quoteOK(t, buy+"&"+fieldUser+"="+user.PublicKey().String()+"&"+fieldDestination+"="+solana.PublicKey(account).String())
			require.Equal(t, name, r.Route[0].Venue)
			w.send(user, r)
			w.step()
			require.Equal(t, number(t, r.AmountOut), w.holds(friend.PublicKey(), mint.String())-had, name)
			require.Equal(t, own, w.holds(user.PublicKey(), mint.String()))
			paid++
			break
		}
	}
	require.Equal(t, 6, paid)
}
