package cpmm

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/swap/venue"
)

// vector is one swap that the program executed or refused: in November 2024, before the creator
// fee, or in April 2026.
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
	Creator0     u64    `json:"creator_fees_0"`
	Creator1     u64    `json:"creator_fees_1"`
	CreatorRate  u64    `json:"creator_fee_rate"`
	CreatorOn    byte   `json:"creator_fee_on"`
	CreatorFee   byte   `json:"enable_creator_fee"`
	C0After      u64    `json:"creator_fees_0_after"`
	C1After      u64    `json:"creator_fees_1_after"`
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

// TestProgramVectors compares with the program before and after it had the creator fee, case by
// case.
func TestProgramVectors(t *testing.T) {
	for _, name := range []string{"litesvm_raydium_cpmm_2024.json", "litesvm_cpmm_creator_fee_2026-04.json.gz"} {
		t.Run(name, func(t *testing.T) {
			var file struct{ Cases []vector }
			require.NoError(t, json.Unmarshal(read(t, name), &file))
			require.NotEmpty(t, file.Cases)
			same, refused := 0, 0
			for i, v := range file.Cases {
				if v.judge(t, i) {
					same++
				} else {
					refused++
				}
			}
			t.Logf("%d swaps equal, %d refusals equal", same, refused)
			require.Equal(t, len(file.Cases), same+refused)
		})
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(testkit.Shared(t, "data/swap-vectors/raydium-cpmm/"+name))
	require.NoError(t, err)
	if !strings.HasSuffix(name, ".gz") {
		return raw
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(raw))
	require.NoError(t, err)
	raw, err = io.ReadAll(unpacked)
	require.NoError(t, err)
	return raw
}

// judge compares one case. It returns false for a refusal.
func (v *vector) judge(t *testing.T, i int) bool {
	t.Helper()
	in := 1
	if v.ZeroForOne {
		in = 0
	}
	state := PoolState{
		ProtocolFees: [2]uint64{uint64(v.Protocol0), uint64(v.Protocol1)}, FundFees: [2]uint64{uint64(v.Fund0), uint64(v.Fund1)},
		CreatorFees: [2]uint64{uint64(v.Creator0), uint64(v.Creator1)}, CreatorFeeOn: v.CreatorOn, EnableCreatorFee: v.CreatorFee != 0,
	}
	config := Config{TradeRate: uint64(v.TradeRate), ProtocolRate: uint64(v.ProtocolRate), FundRate: uint64(v.FundRate), CreatorRate: uint64(v.CreatorRate)}
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
		require.NotEmpty(t, venue.RefusalOf(err), "case %d: %s", i, v.Error)
		return false
	}
	require.NoError(t, err, i)
	require.Equal(t, uint64(v.UserIn), r.AmountIn, i)
	require.Equal(t, uint64(v.UserOut), r.AmountOut, i)
	state.afterSwap(config, r, in, curve.CreatorOnInput)
	require.Equal(t, [2]uint64{uint64(v.P0After), uint64(v.P1After)}, state.ProtocolFees, i)
	require.Equal(t, [2]uint64{uint64(v.F0After), uint64(v.F1After)}, state.FundFees, i)
	require.Equal(t, [2]uint64{uint64(v.C0After), uint64(v.C1After)}, state.CreatorFees, i)
	return true
}
