package chain

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"os"
	"testing"

	"github.com/holiman/uint256"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
)

// The chain's CLMM gives what the program gave for orders on pools of the main network.
func TestCLMMIsTheProgram(t *testing.T) {
	read := func(name string, into any) {
		raw, err := os.ReadFile(testkit.Shared(t, "data/swap-vectors/raydium-clmm/"+name))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(raw, into))
	}
	var file struct {
		Cases []struct {
			Fixture    string `json:"fixture"`
			ZeroForOne bool   `json:"zero_for_one"`
			BaseIn     bool   `json:"is_base_input"`
			Amount     uint64 `json:"amount,string"`
			Limit      string `json:"sqrt_price_limit_x64"`
			Run        struct {
				In    uint64          `json:"user_in,string"`
				Out   uint64          `json:"user_out,string"`
				Price string          `json:"sqrt_price_x64_after"`
				Tick  int32           `json:"tick_after"`
				Error json.RawMessage `json:"error"`
			} `json:"litesvm"`
		}
	}
	read("litesvm_raydium_clmm_acn.json", &file)
	require.NotEmpty(t, file.Cases)
	checked := 0
	for i, c := range file.Cases {
		var state struct {
			Pool   string `json:"pool_b64"`
			Arrays []struct {
				Data string `json:"data_b64"`
			} `json:"tick_arrays"`
		}
		read(c.Fixture, &state)
		pool, err := base64.StdEncoding.DecodeString(state.Pool)
		require.NoError(t, err)
		arrays := map[int32][]byte{}
		for _, a := range state.Arrays {
			data, err := base64.StdEncoding.DecodeString(a.Data)
			require.NoError(t, err)
			arrays[clmmNumber(int32(binary.LittleEndian.Uint32(data[40:])), 1)] = data
		}
		in := 1
		if c.ZeroForOne {
			in = 0
		}
		const rate = 400 // clmm_pool_metadata.json
		got, code := clmmSwap(pool, rate, in, c.Amount, c.BaseIn, func(number int32) []byte { return arrays[number] })
		if len(c.Run.Error) > 0 {
			require.NotZero(t, code, "case %d", i)
			continue
		}
		if limit := uint256.MustFromDecimal(c.Limit); !limit.IsZero() && (code != 0 || (in == 0) == got.price.Lt(limit)) {
			continue // it ended at a price limit, which the chain's program has not
		}
		require.Zero(t, code, "case %d", i)
		require.Equal(t, [2]uint64{c.Run.In, c.Run.Out}, [2]uint64{got.pays, got.sends}, "case %d", i)
		require.Equal(t, c.Run.Price, got.price.Dec(), "case %d", i)
		require.Equal(t, c.Run.Tick, got.tick, "case %d", i)
		checked++
	}
	require.Greater(t, checked, len(file.Cases)/2)
}
