package txn

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
)

// TestWhatSurelyFitsFits, whatever the tokens of the swaps are, with the platform's fee and
// without: if all accounts of the swaps differ, and their data is as long as it may be.
func TestWhatSurelyFitsFits(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	tokens := []Side{{Mint: mint.WrappedSOL, Program: mint.Token}}
	for i := range 4 {
		tokens = append(tokens, Side{Mint: venue.Key{1, byte(i)}, Program: venue.Key{2, byte(i)}})
	}
	surely := map[bool]int{}
	for range 20_000 {
		r := Request{In: tokens[random.IntN(5)], Out: tokens[random.IntN(5)], MaxAccounts: 20 + random.IntN(45)}
		if random.IntN(2) == 0 {
			r.Fee = &Fee{Amount: 1}
		}
		accounts, units := 0, uint64(0)
		for i := range 1 + random.IntN(3) {
			s := Swap{
				In: tokens[random.IntN(5)], Out: tokens[random.IntN(5)], Spend: 1, Native: random.IntN(2) == 0,
				Units: uint32(random.IntN(2_000_000)) >> random.IntN(12),
			}
			if i == 0 {
				s.In = r.In
			}
			count := 3 + random.IntN(14)
			s.Instructions = func(user venue.UserAccounts) ([]venue.Instruction, error) {
				in := venue.Instruction{Program: venue.Key{3, byte(i)}, Data: make([]byte, venue.MostData)}
				in.Accounts = []venue.Meta{{Key: user.Source, Writable: true}, {Key: user.Destination, Writable: true}}
				for len(in.Accounts)+1 < count {
					in.Accounts = append(in.Accounts, venue.Meta{Key: venue.Key{4, byte(i), byte(len(in.Accounts))}})
				}
				return []venue.Instruction{in}, nil
			}
			r.Swaps = append(r.Swaps, s)
			accounts, units = accounts+count, units+uint64(s.Units)
		}
		sure := SurelyFits(len(r.Swaps), accounts, units, r.MaxAccounts)
		surely[sure]++
		if sure {
			require.NoError(t, Fits(r), "%+v", r)
		}
	}
	require.Greater(t, surely[true], 1000)
	require.Greater(t, surely[false], 1000)
	require.True(t, SurelyFits(1, 15, 60_000, 0), "one swap of Meteora DAMM v2")
	require.False(t, SurelyFits(1, 15, 60_000, 20), "of 20 accounts at most")
	require.False(t, SurelyFits(1, 15, maxUnits, 0))
}
