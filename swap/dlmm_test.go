package swap

import (
	"encoding/binary"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/dlmm"
	"github.com/mintlake/mintlake/testworld/layout"
)

// binned puts a DLMM pool of coin and SOL on a chain, with both tokens in the bin of price 1, and
// an empty array on the other side of a gap.
func binned(t *testing.T, c *swaptest.Chain) (address venue.Key, mints [2]venue.Key) {
	t.Helper()
	address, mints = swaptest.Named("bins"), [2]venue.Key{coin, swaptest.WrappedSOL}
	const step, held = 25, 1_000_000
	// The prices follow from the program's own arithmetic: of bin 0 exactly 1.
	pair := layout.DLMMPair{Mints: mints, Reserves: [2]venue.Key{swaptest.Named("x"), swaptest.Named("y")}, Oracle: swaptest.Named("oracle"), BaseFactor: 10_000, Step: step}
	for index := int64(-2); index <= 0; index += 2 {
		pair.Bitmap[(index+512)/64] |= 1 << uint((index+512)%64)
		bins := []layout.DLMMBin{}
		if index == 0 {
			bins = append(bins, layout.DLMMBin{X: held, Y: held, Price: layout.U128{0, 1}})
		}
		key, err := venue.Derive(dlmm.Program, []byte("bin_array"), address[:], binary.LittleEndian.AppendUint64(nil, uint64(index)))
		require.NoError(t, err)
		c.Set(key, dlmm.Program, layout.DLMMArray(address, index, bins))
	}
	c.Set(address, dlmm.Program, pair.Bytes())
	return address, mints
}

// TestDLMMPoolsAreQuoted: from bins in both directions, over a gap between arrays.
func TestDLMMPoolsAreQuoted(t *testing.T) {
	c := chain()
	_, mints := binned(t, c)
	f := start(t, Config{Hubs: []venue.Key{}}, c)
	for _, in := range []int{0, 1} {
		r := f.quoteOK(t, query(mints[in], mints[1-in], "1000"))
		require.Equal(t, dlmm.Name, r.Route[0].Venue)
		require.Equal(t, "997", r.AmountOut, "0.25 % of 1,000 are 3 in whole units")
		require.Zero(t, r.PriceImpactBps)
		_, body := f.do(t, http.MethodGet, query(mints[in], mints[1-in], "1000000000"), "")
		require.Contains(t, string(body), string(venue.ErrNoLiquidity), "there is no array behind the last one")
	}
}
