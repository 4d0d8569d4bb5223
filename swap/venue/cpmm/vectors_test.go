package cpmm

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/swap/venue"
)

// vector is one swap that the real program (November 2024, before the creator fee) executed or
// refused.
type vector struct {
	Vault0       u64    `json:"vault_0"`
	Vault1       u64    `json:"vault_1"`
	Protocol0    u64    `json:"protocol_fees_0"`
	Protocol1    u64    `json:"protocol_fees_1"`
	Fund0        u64    `json:"fund_fees_0"`
	Fund1        u64    `json:"fund_fees_1"`
	TradeRate    u64    `json:"trade_fee_rate"`
	ProtocolRate u64    `json:"protocol_fee_rate"`
	FundRate     u64    `json:"fund_fee_rate"`
	ZeroForOne   bool   `json:"zero_for_one"`
	Mode         string `json:"mode"`
	Amount       u64    `json:"amount"`
	UserIn       u64    `json:"user_in"`
	UserOut      u64    `json:"user_out"`
	P0After      u64    `json:"protocol_fees_0_after"`
	P1After      u64    `json:"protocol_fees_1_after"`
	F0After      u64    `json:"fund_fees_0_after"`
	F1After      u64    `json:"fund_fees_1_after"`
	Error        string `json:"error"`
}

// u64 is a number in a JSON string.
type u64 uint64

func (u *u64) UnmarshalJSON(b []byte) error {
	n, err := strconv.ParseUint(strings.Trim(string(b), `"`), 10, 64)
	*u = u64(n)
	return err
}

func TestProgramVectors(t *testing.T) {
	raw, err := os.ReadFile(testkit.Shared(t, "data/swap-vectors/raydium-cpmm/litesvm_raydium_cpmm_2024.json"))
	require.NoError(t, err)
	var file struct{ Cases []vector }
	require.NoError(t, json.Unmarshal(raw, &file))
	require.NotEmpty(t, file.Cases)
	same, refused := 0, 0
	for i, v := range file.Cases {
		in := 1
		if v.ZeroForOne {
			in = 0
		}
		state := PoolState{
			ProtocolFees: [2]uint64{uint64(v.Protocol0), uint64(v.Protocol1)}, FundFees: [2]uint64{uint64(v.Fund0), uint64(v.Fund1)},
		}
		config := Config{TradeRate: uint64(v.TradeRate), ProtocolRate: uint64(v.ProtocolRate), FundRate: uint64(v.FundRate), CreatorRate: 777}
		curve, err := state.curve(config, [2]uint64{uint64(v.Vault0), uint64(v.Vault1)}, in)
		require.NoError(t, err, i)
		var r Result
		switch v.Mode {
		case "base_input":
			r, err = curve.ExactIn(uint64(v.Amount))
		case "base_output":
			r, err = curve.ExactOut(uint64(v.Amount))
		default:
			t.Fatalf("case %d: mode %q", i, v.Mode)
		}
		if v.Error != "" {
			// All refusals of this set are RequireGtViolated at swap_base_input.rs:163: nothing
			// would come out.
			require.ErrorIs(t, err, venue.ErrTooSmall, "case %d: %s", i, v.Error)
			refused++
			continue
		}
		require.NoError(t, err, i)
		require.Equal(t, uint64(v.UserIn), r.AmountIn, i)
		require.Equal(t, uint64(v.UserOut), r.AmountOut, i)
		state.afterSwap(config, r, in, curve.CreatorOnInput)
		require.Equal(t, [2]uint64{uint64(v.P0After), uint64(v.P1After)}, state.ProtocolFees, i)
		require.Equal(t, [2]uint64{uint64(v.F0After), uint64(v.F1After)}, state.FundFees, i)
		same++
	}
	t.Logf("%d swaps equal, %d refusals equal", same, refused)
}
