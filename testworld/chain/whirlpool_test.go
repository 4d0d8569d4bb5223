package chain

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/holiman/uint256"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/testworld/layout"
)

// whirlRun is an order that the program executed or refused, with the pool as a list of ticks.
type whirlRun struct {
	Spacing   uint16          `json:"tick_spacing"`
	Rate      uint16          `json:"fee_rate"`
	Liquidity string          `json:"liquidity"`
	Price     string          `json:"sqrt_price"`
	Tick      int32           `json:"tick_current_index"`
	Ticks     [][2]any        `json:"ticks"`
	Adaptive  json.RawMessage `json:"adaptive_fee"`
	AToB      bool            `json:"a_to_b"`
	ExactIn   bool            `json:"exact_in"`
	Amount    uint64          `json:"amount,string"`
	In        uint64          `json:"user_in,string"`
	Out       uint64          `json:"user_out,string"`
	PriceEnd  string          `json:"sqrt_price_after"`
	TickEnd   int32           `json:"tick_after"`
	Left      string          `json:"liquidity_after"`
	Error     string          `json:"error"`
}

func (v *whirlRun) pool() []byte {
	wide := func(text string) layout.U128 {
		n := uint256.MustFromDecimal(text)
		return layout.U128{n[0], n[1]}
	}
	pool := layout.Whirlpool{Spacing: v.Spacing, Rate: v.Rate, Liquidity: wide(v.Liquidity), Price: wide(v.Price), Tick: v.Tick}
	return pool.Bytes()
}

// swap is the chain's: an order with the ticks of the run.
func (v *whirlRun) swap() (clmmTrade, uint32) {
	arrays := map[int32][]whirlTick{}
	for _, pair := range v.Ticks {
		index, text := int32(pair[0].(float64)), pair[1].(string)
		net := new(uint256.Int)
		if text[0] == '-' {
			net.Neg(uint256.MustFromDecimal(text[1:]))
		} else {
			net = uint256.MustFromDecimal(text)
		}
		n := whirlNumber(index, int32(v.Spacing))
		arrays[n] = append(arrays[n], whirlTick{index, net})
	}
	in, pool := 1, v.pool()
	if v.AToB {
		in = 0
	}
	way := whirlWay(pool, in, func(number int32) ([]whirlTick, bool) { return arrays[number], true })
	return whirlSwap(pool, in, v.Amount, v.ExactIn, way)
}

// The chain's Whirlpool gives what the program gave for orders without an adaptive fee.
func TestWhirlpoolIsTheProgram(t *testing.T) {
	raw, err := os.ReadFile(testkit.Shared(t, "data/swap-vectors/whirlpool/litesvm_whirlpool_immutable.json"))
	require.NoError(t, err)
	var file struct{ Cases []whirlRun }
	require.NoError(t, json.Unmarshal(raw, &file))
	plain, equal := 0, 0
	for i := range file.Cases {
		v := &file.Cases[i]
		if len(v.Adaptive) > 0 && string(v.Adaptive) != "null" {
			continue
		}
		plain++
		got, code := v.swap()
		if v.Error != "" {
			require.True(t, code != 0 || got.pays == 0, "case %d: %s", i, v.Error)
			continue
		}
		if end := v.TickEnd; code != 0 {
			// The program fills an order in part at the end of the range of prices.
			require.True(t, end <= -whirlLast || end >= whirlLast, "case %d: code %d", i, code)
			continue
		}
		require.Equal(t, [2]uint64{v.In, v.Out}, [2]uint64{got.pays, got.sends}, "case %d", i)
		require.Equal(t, v.PriceEnd, got.price.Dec(), "case %d", i)
		require.Equal(t, v.TickEnd, got.tick, "case %d", i)
		require.Equal(t, v.Left, got.liquidity.Dec(), "case %d", i)
		equal++
	}
	require.Greater(t, equal, plain/2)
}
