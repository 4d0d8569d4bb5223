package dbc

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/holiman/uint256"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/executed"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
)

const vectors = "data/swap-vectors/meteora-dbc/"

// args of an executed order.
type args struct {
	Amount uint64 `json:"amount_0,string"`
	Mode   int    `json:"swap_mode"`
	Buy    bool   `json:"buy"`
}

type after struct {
	Price string `json:"sqrt_price"`
}

// partial is the mode of swap2 that stops at the end of the curve.
const partial = 1

// judge compares the quote of an order with what the program did, and tells what it found.
func judge(t *testing.T, p *Pool, o venue.Order, mode int, in, out uint64, failed, price string) string {
	t.Helper()
	r, swapErr := p.swap(o)
	q, err := p.Quote(o)
	switch {
	case failed != "":
		require.NotEmpty(t, venue.RefusalOf(err), "the program refuses: %s", failed)
		return "refused"
	case mode == partial && in < o.Amount:
		require.ErrorIs(t, err, venue.ErrNoLiquidity)
		return "partial"
	case out == 0 || in == 0:
		require.ErrorIs(t, err, venue.ErrTooSmall)
		return "nothing"
	}
	require.NoError(t, err)
	require.NoError(t, swapErr)
	require.Equal(t, [2]uint64{in, out}, [2]uint64{q.AmountIn, q.AmountOut})
	require.Equal(t, uint256.MustFromDecimal(price).Dec(), r.price.Dec())
	require.LessOrEqual(t, int(q.Accounts), accountsOfSwap)
	return "same"
}

// TestExecutedVectors compares with runs of the program over drawn curves: all schedules of the
// fee, the dynamic fee, both modes of collecting it, transfer fees, and the end of the curve. The
// instruction of an order is the one that the program ran.
func TestExecutedVectors(t *testing.T) {
	file, counts := executed.Read[args, after](t, vectors+"executed_dbc_0.1.10.json.gz"), map[string]int{}
	for i := range file.Cases {
		c := &file.Cases[i]
		keys := [2]venue.Key{file.Key(t, c.State, "base_mint"), file.Key(t, c.State, "quote_mint")}
		held := file.Held(c.State, func(data []byte) []byte { return data })
		address := file.Key(t, c.State, "pool")
		account, ok := held.Account(address)
		require.True(t, ok)
		opened, err := Venue{}.Open(address, account.Data, keys[1], keys[0])
		require.NoError(t, err)
		require.Equal(t, keys, opened.Mints())
		decoded, err := opened.Decode(held)
		require.NoError(t, err, "case %d", c.ID)
		p := decoded.(*Pool)
		o := venue.Order{In: keys[0], Amount: c.Args.Amount, ExactOut: c.Args.Mode == modeExactOut, Clock: file.Clock(c.State)}
		if c.Args.Buy {
			o.In = keys[1]
		}
		failed := ""
		if c.Error != nil {
			failed = c.Error.Name
		}
		t.Logf("case %d: %+v", c.ID, c)
		found := judge(t, p, o, c.Args.Mode, c.In, c.Out, failed, c.After.Price)
		counts[found]++
		// Some orders were given it without need.
		sysvar := slices.Contains(c.Roles(), "instructions_sysvar")
		if found == "same" && c.Name == "swap2" && c.Args.Mode != partial && !c.Has("referral") && sysvar == c.Has("fee rate") {
			quoted, err := p.Quote(o)
			require.NoError(t, err)
			list, err := p.Instructions(quoted, 7, venue.UserAccounts{Owner: swaptest.Named("user"), Source: swaptest.Named("in"), Destination: swaptest.Named("out")})
			require.NoError(t, err)
			require.Len(t, list[0].Accounts, len(c.Accounts))
			require.Equal(t, c.Data[:16], list[0].Data[:16])
			require.Equal(t, c.Data[24:], list[0].Data[24:])
			for j, role := range c.Roles() {
				if key, known := file.States[c.State].Keys[role]; known {
					require.Equal(t, pubkey.MustParse(key), list[0].Accounts[j].Key, role)
				}
			}
			require.LessOrEqual(t, c.Units, uint32(computeUnits))
		}
	}
	t.Log(counts)
	require.Equal(t, len(file.Cases), total(counts))
	require.Positive(t, counts["same"])
}

// TestProgramVectors walks along two curves of the main network.
func TestProgramVectors(t *testing.T) {
	packed, err := os.ReadFile(testkit.Shared(t, vectors+"litesvm_dbc_0.1.10.json.gz"))
	require.NoError(t, err)
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	require.NoError(t, err)
	var file struct {
		Cases []struct {
			Config string
			Pool   []byte `json:"pool_before_b64"`
			Slot   uint64 `json:"clock_slot,string"`
			Time   int64  `json:"clock_unix_timestamp,string"`
			Buy    bool
			Mode   int    `json:"swap_mode"`
			Amount uint64 `json:",string"`
			In     uint64 `json:"user_in,string"`
			Out    uint64 `json:"user_out,string"`
			Price  string `json:"sqrt_price_after"`
			Error  any
		}
	}
	require.NoError(t, json.NewDecoder(reader).Decode(&file))
	counts := map[string]int{}
	for i := range file.Cases {
		c := &file.Cases[i]
		data, err := os.ReadFile(testkit.Shared(t, vectors+"fixtures/"+c.Config))
		require.NoError(t, err)
		p := &Pool{address: swaptest.Named("pool")}
		p.config, err = decodeConfig(data)
		require.NoError(t, err)
		p.state, err = decodeState(c.Pool)
		require.NoError(t, err)
		p.keys = [2]venue.Key{p.state.coin, p.config.quoteMint}
		for side, key := range p.keys {
			p.mints[side] = &mint.Mint{Address: key, Program: mint.Token}
		}
		o := venue.Order{In: p.keys[0], Amount: c.Amount, ExactOut: c.Mode == modeExactOut, Clock: venue.ClockAt(c.Slot, c.Time)}
		if c.Buy {
			o.In = p.keys[1]
		}
		failed := ""
		if c.Error != nil {
			failed = "the program says so"
		}
		t.Logf("case %d: %+v", i, c)
		counts[judge(t, p, o, c.Mode, c.In, c.Out, failed, c.Price)]++
	}
	t.Log(counts)
	require.Equal(t, len(file.Cases), total(counts))
	require.Positive(t, counts["same"])
}

// total returns how many cases were judged.
func total(counts map[string]int) (sum int) {
	for _, n := range counts {
		sum += n
	}
	return sum
}
