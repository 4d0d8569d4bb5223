package ammv4

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/venue"
)

// vector is one swap that the program of November 2024 executed or refused.
type vector struct {
	Coin      uint64 `json:"coin_vault,string"`
	Price     uint64 `json:"pc_vault,string"`
	CoinPnL   uint64 `json:"need_take_pnl_coin,string"`
	PricePnL  uint64 `json:"need_take_pnl_pc,string"`
	Numerator uint64 `json:"swap_fee_numerator,string"`
	Divisor   uint64 `json:"swap_fee_denominator,string"`
	Direction string `json:"direction"`
	Mode      string `json:"mode"`
	Amount    uint64 `json:"amount,string"`
	UserIn    uint64 `json:"user_in,string"`
	UserOut   uint64 `json:"user_out,string"`
	RayLog    string `json:"ray_log"`
	Error     string `json:"error"`
}

// TestProgramVectors: the build of the vectors has the ceiling of before 78c6a81, which returns for
// a quotient of 0 either 1 or 0. Where the fee is such dust, and only there, it differs.
func TestProgramVectors(t *testing.T) {
	raw, err := os.ReadFile(testkit.Shared(t, "data/swap-vectors/raydium-amm-v4/litesvm_raydium_v4_2024.json"))
	require.NoError(t, err)
	var file struct{ Cases []vector }
	require.NoError(t, json.Unmarshal(raw, &file))
	same, refused, dust := 0, 0, 0
	for i, v := range file.Cases {
		p := newPool([2]uint64{v.Coin, v.Price}, v.Numerator, v.Divisor)
		p.state.needTakePnL = [2]uint64{v.CoinPnL, v.PricePnL}
		o := venue.Order{In: p.state.mints[0], Amount: v.Amount, ExactOut: v.Mode == "base_out"}
		if v.Direction == "pc2coin" {
			o.In = p.state.mints[1]
		}
		q, err := p.Quote(o)
		if v.Error != "" {
			require.Error(t, err, i)
			require.NotEmpty(t, venue.RefusalOf(err), i)
			refused++
			continue
		}
		// The log holds the reserves before the swap.
		log, decodeErr := base64.StdEncoding.DecodeString(v.RayLog)
		require.NoError(t, decodeErr)
		require.Equal(t, v.Coin-v.CoinPnL, binary.LittleEndian.Uint64(log[33:]), i)
		if err == nil && q.AmountIn == v.UserIn && q.AmountOut == v.UserOut {
			same++
			continue
		}
		require.True(t, isDust(v), "case %d: %+v, got %d for %d: %v", i, v, q.AmountOut, q.AmountIn, err)
		dust++
	}
	t.Logf("%d swaps and %d refusals equal, %d dust cases of the old ceiling", same, refused, dust)
	require.LessOrEqual(t, dust, 28)
	require.Equal(t, len(file.Cases), same+refused+dust)
}

// isDust tells whether a ceiling of the swap has a quotient of 0: an amount below den/num (the
// fee), or an exact-out order whose input is below 1 unit before rounding.
func isDust(v vector) bool {
	in := v.UserIn
	return in*v.Numerator < v.Divisor || v.Mode == "base_out" && in < v.Divisor
}

func newPool(vaults [2]uint64, numerator, divisor uint64) *Pool {
	return &Pool{address: swaptest.Named("pool"), vaults: vaults, state: state{
		status: statusSwapOnly, feeNumerator: numerator, feeDiv: divisor, mints: [2]venue.Key{swaptest.Named("coin"), swaptest.Named("price")},
	}}
}
