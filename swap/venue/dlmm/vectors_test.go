package dlmm

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holiman/uint256"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/executed"
	"github.com/mintlake/mintlake/schemas/pubkey"
	rpc "github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

const vectors = "data/swap-vectors/meteora-dlmm/"

// run is an order to a pool of the main network that the program executed or refused.
type run struct {
	Pair    string `json:"pair"`
	Elapsed int64  `json:"elapsed_since_last_update_s"`
	Time    int64  `json:"clock_unix_timestamp,string"`
	Slot    uint64 `json:"clock_slot,string"`
	ForY    bool   `json:"swap_for_y"`
	Mode    string `json:"mode"`
	Amount  uint64 `json:"amount,string"`
	In      uint64 `json:"user_in,string"`
	Out     uint64 `json:"user_out,string"`
	Active  int32  `json:"active_id_after"`
	Crossed uint32 `json:"volatility_accumulator_after"`
	Units   uint32 `json:"cu,string"`
	Error   string `json:"error"`
}

// anyAccount is a state that has read all accounts: those of which it has none do not exist.
type anyAccount struct{ *venue.Accounts }

func (a anyAccount) Account(key venue.Key) (*rpc.Account, bool) {
	account, _ := a.Accounts.Account(key)
	return account, true
}

// fixture makes the pool of a folder of accounts.
func fixture(t testing.TB, pair string) *Pool {
	t.Helper()
	folder := testkit.Shared(t, vectors+"fixtures/"+pair)
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		return data
	}
	address, pool := pubkey.MustParse(pair), read("lb_pair.bin")
	held := map[venue.Key]*rpc.Account{address: {Owner: Program, Data: pool}}
	names, err := filepath.Glob(filepath.Join(folder, "bin_array_*.bin"))
	require.NoError(t, err)
	r := &ref{address: address}
	bitmap := [16]uint64{}
	for _, name := range names {
		data := read(filepath.Base(name))
		a, err := decodeArray(data)
		require.NoError(t, err)
		key, err := r.derive(int32(a.index), nil)
		require.NoError(t, err)
		held[key] = &rpc.Account{Owner: Program, Data: data}
		bitmap[(a.index+innerArrays)/64] |= 1 << (uint64(a.index+innerArrays) % 64)
	}
	// The program refuses an order that needs an array which is not in the folder.
	for i, word := range bitmap {
		binary.LittleEndian.PutUint64(pool[poolBitmap+8*i:], word)
	}
	r, err = open(address, pool, nil, wideWindow)
	require.NoError(t, err)
	for side, name := range []string{"token_x_mint.bin", "token_y_mint.bin"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			held[r.state.mints[side]] = &rpc.Account{Owner: mint.Token, Data: make([]byte, 82)}
			held[r.state.mints[side]].Data[45] = 1
			continue
		}
		data := read(name)
		program := mint.Token
		if len(data) > 82 {
			program = mint.Token2022
		}
		held[r.state.mints[side]] = &rpc.Account{Owner: program, Data: data}
	}
	p, err := r.Decode(anyAccount{venue.NewAccounts(held)})
	require.NoError(t, err)
	return p.(*Pool)
}

// TestProgramRuns compares with what the program did.
func TestProgramRuns(t *testing.T) {
	raw, err := os.ReadFile(testkit.Shared(t, vectors+"litesvm_dlmm_prod.json"))
	require.NoError(t, err)
	var file struct{ Cases []run }
	require.NoError(t, json.Unmarshal(raw, &file))
	counts, judged := map[string]int{}, 0
	for i := range file.Cases {
		counts[judgeRun(t, i, &file.Cases[i])]++
		judged++
	}
	t.Log(counts)
	require.Equal(t, len(file.Cases), judged)
}

func judgeRun(t *testing.T, i int, v *run) string {
	t.Helper()
	p := fixture(t, v.Pair)
	p.state.fee.updated = v.Time - v.Elapsed
	o := venue.Order{In: p.state.mints[1], Amount: v.Amount, ExactOut: v.Mode == "out", Clock: venue.ClockAt(v.Slot, v.Time)}
	if v.ForY {
		o.In = p.state.mints[0]
	}
	q, err := p.Quote(o)
	if v.Error != "" {
		if err == nil {
			// Limit orders were written into the file's bins without filling the reserve.
			reserve, err := os.ReadFile(testkit.Shared(t, vectors+"fixtures/"+v.Pair+"/reserve_"+map[bool]string{true: "y", false: "x"}[v.ForY]+".bin"))
			require.NoError(t, err)
			require.Contains(t, v.Error, "0x1", "case %d: %+v %+v", i, v, q)
			require.Greater(t, q.AmountOut, binary.LittleEndian.Uint64(reserve[64:]), "case %d: %+v", i, v)
			return "the reserve has less"
		}
		require.NotEmpty(t, venue.RefusalOf(err))
		return "refused"
	}
	require.NoError(t, err, "case %d: %+v", i, v)
	require.Equal(t, [2]uint64{v.In, v.Out}, [2]uint64{q.AmountIn, q.AmountOut}, "case %d: %+v", i, v)
	require.GreaterOrEqual(t, q.ComputeUnits, v.Units, "case %d: %+v", i, v)
	next, err := p.After(q)
	require.NoError(t, err)
	s := next.(*Pool).state
	require.Equal(t, v.Active, s.active, "case %d", i)
	require.Equal(t, v.Crossed, s.fee.accumulator, "case %d", i)
	return "equal"
}

type args struct {
	Amount    uint64 `json:"amount,string"`
	Threshold uint64 `json:"threshold,string"`
	ExactIn   bool   `json:"exact_in"`
	ForY      bool   `json:"swap_for_y"`
	Impact    uint64 `json:"max_price_impact_bps"`
}

type after struct {
	Pool string `json:"pool"`
}

type (
	orders = executed.File[args, after]
	order  = executed.Case[args, after]
)

// TestExecutedOrders compares with what the program did to orders on pools of all kinds.
func TestExecutedOrders(t *testing.T) {
	f := executed.Read[args, after](t, vectors+"executed_dlmm_0.12.json.gz")
	raw := func(data []byte) []byte { return data }
	for name, form := range map[string]func([]byte) []byte{"raw": raw, "compact": Venue{}.Shrink} {
		counts, judged := map[string]int{}, 0
		for i := range f.Cases {
			counts[judgeOrder(t, f, &f.Cases[i], form)]++
			judged++
		}
		t.Log(name, counts)
		require.Equal(t, len(f.Cases), judged)
	}
}

func executedPool(t testing.TB, f *orders, state int, form func([]byte) []byte) *Pool {
	t.Helper()
	address := f.Key(t, state, "pool")
	accounts := f.Held(state, form)
	account, _ := accounts.Account(address)
	r, err := open(address, account.Data, nil, wideWindow)
	require.NoError(t, err)
	made := map[venue.Key]*rpc.Account{}
	for _, place := range r.near {
		a := binary.LittleEndian.AppendUint64(compactMark[:], uint64(int64(place.index)))
		made[place.address] = &rpc.Account{Owner: Program, Data: append(a, address[:]...)}
	}
	p, err := r.Decode(partly{accounts, made})
	require.NoError(t, err)
	return p.(*Pool)
}

// partly is a state of a file, which has the arrays that one direction needs. Those of the other
// hold nothing here.
type partly struct {
	*venue.Accounts
	made map[venue.Key]*rpc.Account
}

func (s partly) Account(key venue.Key) (*rpc.Account, bool) {
	if account, held := s.Accounts.Account(key); held {
		return account, true
	}
	return s.made[key], s.made[key] != nil
}

func judgeOrder(t *testing.T, f *orders, c *order, form func([]byte) []byte) string {
	t.Helper()
	p := executedPool(t, f, c.State, form)
	o := venue.Order{In: p.state.mints[1], Amount: c.Args.Amount, ExactOut: !c.Args.ExactIn, Clock: f.Clock(c.State)}
	if c.Args.ForY {
		o.In = p.state.mints[0]
	}
	q, err := p.Quote(o)
	const preActivation = 752
	if data := f.Accounts[*f.States[c.State].Accounts["pool"]]; errors.Is(err, venue.ErrClosed) && c.Error == nil {
		// One address may trade before the activation. We do not know who asks, and refuse.
		require.Equal(t, f.States[c.State].User, venue.Key(data[preActivation:][:32]).String(), "case %d", c.ID)
		p.state.activation = 0
		q, err = p.Quote(o)
	}
	if c.Error != nil {
		if err != nil {
			require.NotEmpty(t, venue.RefusalOf(err))
			return "refused"
		}
		return refusal(t, c, p, q)
	}
	require.NoError(t, err, "case %d: %v", c.ID, c.Tags)
	require.Equal(t, [2]uint64{c.In, c.Out}, [2]uint64{q.AmountIn, q.AmountOut}, "case %d: %v", c.ID, c.Tags)
	require.GreaterOrEqual(t, q.ComputeUnits, c.Units, "case %d: %v", c.ID, c.Tags)
	next, err := p.After(q)
	require.NoError(t, err)
	got := next.(*Pool).state
	want, err := decodeState(f.Accounts[c.After.Pool])
	require.NoError(t, err)
	require.Equal(t, want.active, got.active, "case %d: %v", c.ID, c.Tags)
	got.fee.updated = want.fee.updated
	require.Equal(t, want.fee, got.fee, "case %d: %v", c.ID, c.Tags)
	requireInstruction(t, f, c, p, q)
	return "equal"
}

// refusal judges an order that the program refused and we quote.
func refusal(t *testing.T, c *order, p *Pool, q venue.Quote) string {
	t.Helper()
	switch {
	case c.Args.ExactIn && q.AmountOut < c.Args.Threshold, !c.Args.ExactIn && q.AmountIn > c.Args.Threshold:
		return "beyond the order's threshold"
	case c.Name == "swap_with_price_impact2" && overallBps(t, p, &q, c.Args.ForY) >= c.Args.Impact:
		return "beyond the order's price impact"
	case (c.Name == "swap" || c.Name == "swap_exact_out") && (p.mints[0].Program == mint.Token2022 || p.mints[1].Program == mint.Token2022):
		return "the old instruction knows no Token-2022"
	case p.extension != venue.Key{} && c.Roles()[1] != "bitmap_extension":
		return "the order leaves out the bitmap extension"
	case c.Has("host") && c.Error.Name == "":
		return "the order names a wrong account for the host's fee"
	}
	named := []string{}
	for _, role := range c.Roles() {
		if strings.HasPrefix(role, "bin_array_") {
			named = append(named, role)
		}
	}
	needed := []string{}
	for _, h := range p.side(c.Args.ForY).arrays[:used(t, p, &q, c.Args.ForY)] {
		needed = append(needed, fmt.Sprintf("bin_array_%d", h.index))
	}
	if len(named) < len(needed) || !slices.Equal(needed, named[:len(needed)]) {
		return "the order leaves out arrays, or has them in another order"
	}
	require.Fail(t, "not refused", "case %d: %v %+v %+v", c.ID, c.Tags, c.Error, q)
	return ""
}

// used returns how many arrays a quote uses.
func used(t *testing.T, p *Pool, q *venue.Quote, forY bool) int {
	t.Helper()
	l, err := p.ladder(forY, q.Order.Clock)
	require.NoError(t, err)
	side := 1
	if forY {
		side = 0
	}
	amount, err := p.pair(side).AtPool(q.Order)
	require.NoError(t, err)
	r, err := l.swap(amount, q.Order.ExactOut)
	require.NoError(t, err)
	return r.arrays
}

// overallBps returns how much less a swap gives than the price of the active bin, with its fees.
func overallBps(t *testing.T, p *Pool, q *venue.Quote, forY bool) uint64 {
	t.Helper()
	table := powersOf(p.state.step)
	o := offer{price: table.at(p.state.active), forY: forY}
	spot, err := o.worth(q.AmountIn)
	require.NoError(t, err)
	return arith.Shortfall(uint256.NewInt(spot), q.AmountOut)
}

// requireInstruction compares our instruction with the executed one. We name one array more, and
// never an extension that is not needed.
func requireInstruction(t *testing.T, f *orders, c *order, p *Pool, q venue.Quote) {
	t.Helper()
	user := venue.UserAccounts{Owner: venue.Key{1}, Source: venue.Key{2}, Destination: venue.Key{3}}
	list, err := p.Instructions(q, c.Args.Threshold, user)
	require.NoError(t, err)
	require.Len(t, list[0].Accounts, int(q.Accounts)-1)
	trade, ok := Venue{}.Trade(venue.Call{Accounts: keys(list[0].Accounts), Data: list[0].Data})
	require.True(t, ok)
	require.Equal(t, venue.Trade{
		Pool: p.address, User: user.Owner, Source: user.Source, Destination: user.Destination, Amount: c.Args.Amount, ExactOut: !c.Args.ExactIn,
	}, trade)
	if c.Name != "swap2" && c.Name != "swap_exact_out2" {
		return
	}
	require.Equal(t, c.Data, list[0].Data, "case %d", c.ID)
	for i, role := range c.Roles() {
		if i >= len(list[0].Accounts) || role == "program" || role == "host_fee_in" || role == "bitmap_extension" {
			continue
		}
		plain := c.Has("arrays first 1 of 1") || c.Has("arrays first 2 of 2") || c.Has("arrays first 3 of 3")
		if i >= fixedAccounts-1 && !plain {
			continue
		}
		if key, ok := f.States[c.State].Keys[role]; ok {
			require.Equal(t, key, list[0].Accounts[i].Key.String(), "case %d: %s", c.ID, role)
		}
		require.Equal(t, strings.HasSuffix(c.Accounts[i], ":w"), list[0].Accounts[i].Writable, "case %d: %s", c.ID, role)
	}
}

func keys(metas []venue.Meta) (keys []venue.Key) {
	for _, m := range metas {
		keys = append(keys, m.Key)
	}
	return keys
}
