package dammv2

import (
	"encoding/json"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/holiman/uint256"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
)

// vector is one swap that the program executed or refused.
type vector struct {
	Fixture string `json:"pool_fixture"`
	Time    int64  `json:"clock_unix_timestamp,string"`
	Slot    uint64 `json:"clock_slot,string"`
	AToB    bool   `json:"a_to_b"`
	Mode    string `json:"swap_mode"`
	Amount  uint64 `json:"amount,string"`
	UserIn  uint64 `json:"user_in,string"`
	UserOut uint64 `json:"user_out,string"`
	Price   string `json:"sqrt_price_after"`
	Error   string `json:"error"`
}

func fixture(t testing.TB, name string) *Pool {
	t.Helper()
	data, err := os.ReadFile(testkit.Shared(t, "data/swap-vectors/meteora-damm-v2/fixtures/"+name))
	require.NoError(t, err)
	p := &Pool{address: swaptest.Named(name)}
	p.state, err = decodeState(data)
	require.NoError(t, err)
	require.NoError(t, p.state.check())
	for side, key := range p.state.mints {
		p.mints[side] = &mint.Mint{Address: key, Program: mint.Token}
	}
	return p
}

// TestProgramVectors compares with what the program did. A partial fill is an exact-in order that
// may stop at the end of the price range. One that stops there is not quoted; any other is as an
// exact-in order.
func TestProgramVectors(t *testing.T) {
	raw, err := os.ReadFile(testkit.Shared(t, "data/swap-vectors/meteora-damm-v2/litesvm_damm_v2_sdk.json"))
	require.NoError(t, err)
	var file struct{ Cases []vector }
	require.NoError(t, json.Unmarshal(raw, &file))
	same, refused, nothing, partial := 0, 0, 0, 0
	for i, v := range file.Cases {
		p := fixture(t, path.Base(v.Fixture))
		o := venue.Order{In: p.state.mints[1], Amount: v.Amount, ExactOut: v.Mode == "ExactOut", Clock: venue.Clock{Slot: v.Slot, UnixTime: v.Time}}
		if v.AToB {
			o.In = p.state.mints[0]
		}
		q, err := p.Quote(o)
		switch {
		case v.Error != "":
			require.NotEmpty(t, venue.RefusalOf(err), "case %d: %s", i, v.Error)
			refused++
		case v.UserOut == 0:
			require.ErrorIs(t, err, venue.ErrTooSmall, "case %d: the program takes it and gives nothing", i)
			nothing++
		case v.Mode == "PartialFill" && v.UserIn < v.Amount:
			require.ErrorIs(t, err, venue.ErrNoLiquidity, "case %d: %+v", i, v)
			partial++
		default:
			require.NoError(t, err, "case %d: %+v", i, v)
			require.Equal(t, [2]uint64{v.UserIn, v.UserOut}, [2]uint64{q.AmountIn, q.AmountOut}, "case %d: %+v", i, v)
			after, err := p.After(q)
			require.NoError(t, err)
			want := uint256.MustFromDecimal(strings.TrimSpace(v.Price))
			got := after.(*Pool).state.price
			require.Equal(t, want.Dec(), got.Dec(), "case %d", i)
			same++
		}
	}
	t.Logf("%d swaps and %d refusals equal; %d give nothing, %d stop at the end of the range", same, refused, nothing, partial)
	require.Equal(t, len(file.Cases), same+refused+nothing+partial)
}
