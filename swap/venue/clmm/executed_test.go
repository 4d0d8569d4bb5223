package clmm

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/holiman/uint256"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/schemas/pubkey"
	rpc "github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

const vectors = "data/swap-vectors/raydium-clmm/"

// executed is a file of orders that the program executed. See EXECUTED.md beside it.
type executed struct {
	Accounts map[string]string `json:"accounts"`
	States   []struct {
		Clock struct {
			Slot  uint64 `json:"slot,string"`
			Time  int64  `json:"unix_timestamp,string"`
			Epoch uint64 `json:"epoch,string"`
		} `json:"clock"`
		Keys     map[string]string  `json:"keys"`
		Owners   map[string]*string `json:"owners"`
		Accounts map[string]*string `json:"accounts"`
		User     string             `json:"user"`
	} `json:"states"`
	Cases []executedCase `json:"cases"`
}

type executedCase struct {
	ID    int    `json:"id"`
	State int    `json:"state"`
	IX    string `json:"ix"`
	Args  struct {
		Amount        uint64   `json:"amount,string"`
		Limit         string   `json:"sqrt_price_limit_x64"`
		Threshold     string   `json:"other_amount_threshold"`
		BaseIn        bool     `json:"is_base_input"`
		ZeroForOne    bool     `json:"zero_for_one"`
		ZeroForOneOne bool     `json:"zero_for_one_one"`
		ZeroForOneTwo bool     `json:"zero_for_one_two"`
		Arrays        []string `json:"arrays"`
		Extension     bool     `json:"bitmap_extension"`
	} `json:"args"`
	Data     string   `json:"ix_data"`
	Accounts []string `json:"ix_accounts"`
	UserIn   uint64   `json:"user_in,string"`
	UserOut  uint64   `json:"user_out,string"`
	Amount0  uint64   `json:"amount_0,string"`
	Amount1  uint64   `json:"amount_1,string"`
	Error    *struct {
		Name    string `json:"name"`
		Message string `json:"message"`
	} `json:"error"`
	After struct {
		Liquidity  string            `json:"liquidity"`
		Price      string            `json:"sqrt_price_x64"`
		Tick       int32             `json:"tick_current"`
		Pool       string            `json:"pool"`
		TickArrays map[string]string `json:"tick_arrays"`
	} `json:"after"`
	Units uint32 `json:"cu"`
}

func load(t testing.TB, name string, file any) {
	t.Helper()
	raw, err := os.ReadFile(testkit.Shared(t, vectors+name))
	require.NoError(t, err)
	if strings.HasSuffix(name, ".gz") {
		unpacked, err := gzip.NewReader(bytes.NewReader(raw))
		require.NoError(t, err)
		raw, err = io.ReadAll(unpacked)
		require.NoError(t, err)
	}
	require.NoError(t, json.Unmarshal(raw, file))
}

// single returns the first order to one pool.
func (f *executed) single(t testing.TB) *executedCase {
	t.Helper()
	i := slices.IndexFunc(f.Cases, func(c executedCase) bool { return c.IX == "swap_v2" })
	require.NotEqual(t, -1, i)
	return &f.Cases[i]
}

func decode64(t testing.TB, text string) []byte {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(text)
	require.NoError(t, err)
	return data
}

func number(t testing.TB, text string) arith.U128 {
	t.Helper()
	n, err := uint256.FromDecimal(text)
	require.NoError(t, err)
	return arith.Narrow(n)
}

// data returns the bytes of a role's account in a state; nil if there is none.
func (f *executed) data(t testing.TB, state int, role string) []byte {
	hash := f.States[state].Accounts[role]
	if hash == nil {
		return nil
	}
	return decode64(t, f.Accounts[*hash])
}

// pool makes the pool of a state from its accounts, in their raw or their compact form. suffix is
// that of its roles where a state has two pools. mints are the roles of its mints; without them the
// pool gets plain ones.
func (f *executed) pool(t testing.TB, state int, suffix string, compact bool, mints ...string) *Pool {
	t.Helper()
	s := &f.States[state]
	address := pubkey.MustParse(s.Keys["pool"+suffix])
	form := func(data []byte) []byte {
		if compact {
			return Raydium.Shrink(data)
		}
		return data
	}
	opened, err := Raydium.Open(address, form(f.data(t, state, "pool"+suffix)))
	require.NoError(t, err)
	r := opened.(*ref)
	p := &Pool{program: Raydium.program, address: address, extensionKey: r.extension, state: r.state}
	p.config, err = decodeConfig(f.data(t, state, "config"+suffix))
	require.NoError(t, err)
	require.Equal(t, s.Keys["config"+suffix], p.state.config.String())
	if data := f.data(t, state, "bitmap_extension"+suffix); data != nil {
		p.extension, err = decodeExtension(data, address)
		require.NoError(t, err)
		require.Equal(t, s.Keys["bitmap_extension"+suffix], r.extension.String())
	}
	for side, key := range p.state.mints {
		p.mints[side] = &mint.Mint{Address: key, Program: mint.Token}
		for _, role := range mints {
			if s.Keys[role] == key.String() {
				p.mints[side], err = mint.Parse(key, &rpc.Account{Owner: pubkey.MustParse(*s.Owners[role]), Data: f.data(t, state, role)})
				require.NoError(t, err)
			}
		}
	}
	require.NoError(t, p.hold(func(number int32) (held, error) {
		role := fmt.Sprintf("tick_array%s_%d", suffix, number*arrayTicks*p.state.spacing)
		data := f.data(t, state, role)
		if data == nil {
			return held{}, nil
		}
		a, err := decodeArray(form(data), p.state.spacing, false)
		require.NoError(t, err)
		key, err := r.arrayKey(number, nil)
		require.NoError(t, err)
		require.Equal(t, s.Keys[role], key.String())
		return held{a, key}, nil
	}))
	return p
}

// clock returns the clock of a state.
func (f *executed) clock(state int) venue.Clock {
	c := f.States[state].Clock
	return venue.Clock{Slot: c.Slot, Epoch: c.Epoch, UnixTime: c.Time}
}

// swapTo answers an order as swap_internal does, up to a price limit. It returns the pool after it.
func (p *Pool) swapTo(side int, amount uint64, exactOut bool, limit arith.U128, now uint64) (r result, after *Pool, err error) {
	if amount == 0 {
		return r, nil, venue.ErrTooSmall
	}
	low, high := minPrice, p.state.price
	if side == 1 {
		low, high = p.state.price, maxPrice
	}
	if !low.Less(limit) || !limit.Less(high) {
		return r, nil, fmt.Errorf("%w: the limit is not in the direction", venue.ErrNoLiquidity)
	}
	r = result{side: side, onInput: p.state.feeFromInput(side), phase: p.state.dynamic.phaseAt(now)}
	w := newWalk(p, side, r.phase, limit)
	for !w.covers(amount, exactOut) {
		w.advance()
	}
	if w.count(amount, exactOut) > len(w.steps) && w.now.from == limit {
		after = p.atEnd(w, r.phase, now)
		r.steps, r.amounts, r.price = w.steps, w.sum, limit
		return r, after, nil
	}
	if err = r.finish(w, amount, exactOut); err != nil {
		return r, nil, err
	}
	after, err = p.after(&r, now)
	return r, after, err
}

// atEnd returns the pool after all steps of a walk.
func (p *Pool) atEnd(w *walk, ph phase, now uint64) *Pool {
	next := &Pool{program: p.program, address: p.address, state: p.state, config: p.config, mints: p.mints, window: p.window}
	if n := len(w.steps); n > 0 {
		r := result{steps: w.steps, sold: w.steps[n-1].orders}
		next.sell(&r)
	}
	next.state.dynamic = w.dynamic
	if ph != phaseKeep {
		next.state.dynamic.updated = now
	}
	next.state.price, next.state.tick, next.state.liquidity = w.now.from, w.tick, w.now.liquidity
	return next
}

// needed returns the starts of the arrays that the program asks for, in their order. want is how
// many.
func (p *Pool) needed(side, want int) (starts []int32) {
	first := p.first(side == 1)
	for i := range want {
		at := first + i
		if side == 0 {
			at = first - i
		}
		if at >= 0 && at < len(p.arrays) {
			starts = append(starts, p.arrays[at].number*arrayTicks*p.state.spacing)
		}
	}
	return starts
}

// takes returns whether the program accepts a list of arrays, of which it needs some: it takes them
// from the front of the list.
func takes(list, needed []int32) bool {
	for _, start := range needed {
		i := slices.Index(list, start)
		if i < 0 {
			return false
		}
		list = list[i:]
	}
	return len(list) > 0
}

// arraysOf returns the starts of the arrays among roles.
func arraysOf(t testing.TB, roles []string, prefix string) (starts []int32) {
	for _, role := range roles {
		text, ok := strings.CutPrefix(strings.TrimSuffix(role, ":w"), prefix)
		if !ok {
			continue
		}
		start, err := strconv.ParseInt(text, 10, 32)
		require.NoError(t, err)
		starts = append(starts, int32(start))
	}
	return starts
}

// accepted returns whether the order's own list of accounts suffices for a swap.
func (c *executedCase) accepted(t testing.TB, p *Pool, r *result, roles []string, suffix string) bool {
	needed := p.needed(r.side, int(r.last().touched))
	outside := !own(numberOf(p.state.tick, p.state.spacing))
	for _, start := range needed {
		outside = outside || !own(numberOf(start, p.state.spacing))
	}
	if outside && !slices.Contains(roles, "bitmap_extension"+suffix) && !slices.Contains(roles, "bitmap_extension"+suffix+":w") {
		return false
	}
	return takes(arraysOf(t, roles, "tick_array"+suffix+"_"), needed)
}

// TestExecutedOrders compares with what the program did, case by case. The program refuses some
// orders only because of the list of arrays that they name: then the list must be one that the
// order cannot do with.
func TestExecutedOrders(t *testing.T) {
	var f executed
	load(t, "executed_clmm_2026-04.json.gz", &f)
	equal, refused, lists := 0, 0, 0
	for i := range f.Cases {
		c := &f.Cases[i]
		if c.IX == "swap_router_base_in" {
			continue
		}
		require.Contains(t, []string{"swap_v2", "swap"}, c.IX)
		p := f.pool(t, c.State, "", i%2 == 1, "mint_0", "mint_1")
		side := 1
		if c.Args.ZeroForOne {
			side = 0
		}
		o := venue.Order{In: p.state.mints[side], Amount: c.Args.Amount, ExactOut: !c.Args.BaseIn, Clock: f.clock(c.State)}
		in, out, r, after, err := p.userSwap(o, side, number(t, c.Args.Limit))
		named := err != nil || c.accepted(t, p, &r, c.Accounts, "")
		switch {
		case c.Error == nil && c.UserOut == 0:
			require.ErrorIs(t, err, venue.ErrTooSmall, "case %d: the program takes it and gives nothing", c.ID)
			refused++
		case c.Error == nil:
			require.NoError(t, err, "case %d", c.ID)
			require.True(t, named, "case %d: its arrays suffice", c.ID)
			require.Equal(t, [2]uint64{c.UserIn, c.UserOut}, [2]uint64{in, out}, "case %d", c.ID)
			c.requireAfter(t, after)
			equal++
		case err != nil:
			require.NotEmpty(t, venue.RefusalOf(err), "case %d: %v", c.ID, err)
			refused++
		default:
			require.False(t, named, "case %d: %s, and quoted %d for %d", c.ID, c.Error.Name+c.Error.Message, out, in)
			lists++
		}
	}
	hops := chains(t, &f)
	t.Logf("%d swaps equal, %d refusals equal, %d refusals of a list of arrays that our instruction would not have; %d chains", equal, refused, lists, hops)
	require.Equal(t, len(f.Cases), equal+refused+lists+hops)
}

// userSwap answers an order as swap_v2 does, and returns what leaves the user and reaches him.
func (p *Pool) userSwap(o venue.Order, side int, limit arith.U128) (in, out uint64, r result, after *Pool, err error) {
	if limit.IsZero() {
		q, err := p.Quote(o)
		if err != nil {
			return 0, 0, r, nil, err
		}
		if r, err = p.swap(o); err != nil {
			return 0, 0, r, nil, err
		}
		after, err = p.after(&r, uint64(o.Clock.UnixTime))
		return q.AmountIn, q.AmountOut, r, after, err
	}
	pair := p.pair(side)
	amount, err := pair.AtPool(o)
	if err != nil {
		return 0, 0, r, nil, err
	}
	if p.state.status&statusNoSwap != 0 || uint64(o.Clock.UnixTime) <= p.state.openTime {
		return 0, 0, r, nil, venue.ErrClosed
	}
	if r, after, err = p.swapTo(side, amount, o.ExactOut, limit, uint64(o.Clock.UnixTime)); err != nil {
		return 0, 0, r, nil, err
	}
	if r.in == 0 || r.out == 0 {
		return 0, 0, r, nil, venue.ErrTooSmall
	}
	in = o.Amount
	if o.ExactOut || r.in != amount {
		in, _ = pair.In.Sent(o.Clock.Epoch, r.in)
	}
	return in, r.out - pair.Out.TransferFee(o.Clock.Epoch, r.out), r, after, nil
}

// requireAfter compares the state after a case.
func (c *executedCase) requireAfter(t testing.TB, after *Pool) {
	t.Helper()
	require.Equal(t, number(t, c.After.Price), after.state.price, "case %d", c.ID)
	require.Equal(t, number(t, c.After.Liquidity), after.state.liquidity, "case %d", c.ID)
	require.Equal(t, c.After.Tick, after.state.tick, "case %d", c.ID)
}
