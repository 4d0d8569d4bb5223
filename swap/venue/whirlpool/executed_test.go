package whirlpool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/executed"
	"github.com/mintlake/mintlake/schemas/pubkey"
	rpc "github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

type args struct {
	Amount    uint64 `json:"amount,string"`
	Threshold uint64 `json:"other_amount_threshold,string"`
	Limit     wide   `json:"sqrt_price_limit"`
	ExactIn   bool   `json:"amount_specified_is_input"`
	AToB      bool   `json:"a_to_b"`
	AToBOne   bool   `json:"a_to_b_one"`
	AToBTwo   bool   `json:"a_to_b_two"`
}

type after struct {
	Liquidity wide   `json:"liquidity"`
	Price     wide   `json:"sqrt_price"`
	Tick      int32  `json:"tick_current_index"`
	Oracle    string `json:"oracle"`
}

type (
	orders = executed.File[args, after]
	order  = executed.Case[args, after]
)

// balance is what the user holds of each mint.
const balance = 1 << 62

// executedPool makes the pool of a state through the same steps as a caller does.
func executedPool(t testing.TB, f *orders, state int, suffix string, change func([]byte) []byte) *Pool {
	t.Helper()
	program, address := pubkey.MustParse(f.Program), f.Key(t, state, "pool"+suffix)
	accounts := f.Held(state, change)
	account, _ := accounts.Account(address)
	r, err := open(program, address, account.Data, nil)
	require.NoError(t, err)
	p, err := r.Decode(anyArray{accounts})
	require.NoError(t, err)
	return p.(*Pool)
}

// anyArray is a state that has read all accounts: those of which a file has none do not exist.
type anyArray struct{ *venue.Accounts }

func (a anyArray) Account(key venue.Key) (*rpc.Account, bool) {
	account, _ := a.Accounts.Account(key)
	return account, true
}

// TestExecutedOrders compares with what the program did to orders on pools of all kinds.
func TestExecutedOrders(t *testing.T) {
	f := executed.Read[args, after](t, vectors+"executed_whirlpool_0.9.json.gz")
	raw := func(data []byte) []byte { return data }
	for name, form := range map[string]func([]byte) []byte{"raw": raw, "compact": Venue{}.Shrink} {
		counts, judged := map[string]int{}, 0
		for i := range f.Cases {
			c := &f.Cases[i]
			judge := judgeOrder
			if c.Name != "swap_v2" {
				judge = judgeChain
			}
			verdict := judge(t, f, c, form)
			require.NotEmpty(t, verdict)
			counts[verdict]++
			judged++
		}
		t.Log(name, counts)
		require.Equal(t, len(f.Cases), judged)
	}
}

func judgeOrder(t *testing.T, f *orders, c *order, form func([]byte) []byte) string {
	t.Helper()
	p := executedPool(t, f, c.State, "", form)
	side := 1
	if c.Args.AToB {
		side = 0
	}
	if arith.U128(c.Args.Limit) != (arith.U128{}) {
		return judgeLimited(t, f, c, p, side)
	}
	o := venue.Order{In: p.state.mints[side], Amount: c.Args.Amount, ExactOut: !c.Args.ExactIn, Clock: f.Clock(c.State)}
	q, err := p.Quote(o)
	if c.Error != nil {
		return refusal(t, f, c, p, q, err, side)
	}
	if c.Args.ExactIn && c.In < c.Args.Amount && err != nil {
		// The program fills the order in part, at the end of the range of prices.
		require.ErrorIs(t, err, venue.ErrNoLiquidity, "case %d", c.ID)
		l, err := p.ladder(c.Args.AToB, o.Clock)
		require.NoError(t, err)
		last := l.steps[len(l.steps)-1]
		s, err := p.pair(side).Settle(o, last.in, last.out)
		require.NoError(t, err)
		require.Equal(t, [2]uint64{c.In, c.Out}, [2]uint64{s.AmountIn, s.AmountOut}, "case %d", c.ID)
		return "filled in part"
	}
	if c.Out == 0 {
		require.ErrorIs(t, err, venue.ErrTooSmall, "case %d", c.ID)
		return "gives nothing"
	}
	if errors.Is(err, errSteps) {
		return "has more steps than we quote"
	}
	require.NoError(t, err, "case %d: %v", c.ID, c.Tags)
	require.Equal(t, [2]uint64{c.In, c.Out}, [2]uint64{q.AmountIn, q.AmountOut}, "case %d: %v", c.ID, c.Tags)
	require.GreaterOrEqual(t, q.ComputeUnits, c.Units, "case %d: %v", c.ID, c.Tags)
	next, err := p.After(q)
	require.NoError(t, err)
	requireAfter(t, f, c, next.(*Pool))
	requireInstruction(t, f, c, p, q)
	return "equal"
}

func requireAfter(t *testing.T, f *orders, c *order, next *Pool) {
	t.Helper()
	require.Equal(t, arith.U128(c.After.Price), next.state.price, "case %d", c.ID)
	require.Equal(t, arith.U128(c.After.Liquidity), next.state.liquidity, "case %d", c.ID)
	require.Equal(t, c.After.Tick, next.state.tick, "case %d", c.ID)
	if next.oracle != nil {
		want, err := decodeOracle(f.Accounts[c.After.Oracle])
		require.NoError(t, err, "case %d", c.ID)
		require.Equal(t, want, next.oracle, "case %d", c.ID)
	}
}

// requireInstruction compares our instruction with the executed one, if that names the three arrays
// of the direction in their order.
func requireInstruction(t *testing.T, f *orders, c *order, p *Pool, q venue.Quote) {
	t.Helper()
	if !c.Has("arrays three") {
		return
	}
	user := venue.UserAccounts{Owner: pubkey.MustParse(f.Program), Source: venue.Key{1}, Destination: venue.Key{2}}
	list, err := p.Instructions(q, c.Args.Threshold, user)
	require.NoError(t, err)
	require.Equal(t, c.Data, list[0].Data, "case %d", c.ID)
	want := []string{}
	for _, meta := range list[0].Accounts {
		want = append(want, fmt.Sprint(meta.Signer, meta.Writable))
	}
	named := []string{}
	for i, role := range c.Roles() {
		named = append(named, fmt.Sprint(strings.HasSuffix(c.Accounts[i], ":s"), strings.HasSuffix(c.Accounts[i], ":w")))
		if key, ok := f.States[c.State].Keys[role]; ok {
			require.Equal(t, key, list[0].Accounts[i].Key.String(), "case %d: %s", c.ID, role)
		}
	}
	require.Equal(t, named, want, "case %d", c.ID)
	trade, ok := Venue{}.Trade(venue.Call{Accounts: keys(list[0].Accounts), Data: list[0].Data})
	require.True(t, ok)
	require.Equal(t, venue.Trade{
		Pool: p.address, User: user.Owner, Source: user.Source, Destination: user.Destination, Amount: c.Args.Amount, ExactOut: !c.Args.ExactIn,
	}, trade)
}

func keys(metas []venue.Meta) (keys []venue.Key) {
	for _, m := range metas {
		keys = append(keys, m.Key)
	}
	return keys
}

// vaultOf returns the balance of a vault. Those of the file hold less than what the liquidity says
// where that is nearly 64 bits; pools on the chain cannot.
func vaultOf(f *orders, state int, role string) uint64 {
	return binary.LittleEndian.Uint64(f.Accounts[*f.States[state].Accounts[role]][64:])
}

// refusal judges an order that the program refused.
func refusal(t *testing.T, f *orders, c *order, p *Pool, q venue.Quote, err error, side int) string {
	t.Helper()
	if err != nil {
		require.NotEmpty(t, venue.RefusalOf(err), "case %d", c.ID)
		return "refused"
	}
	switch {
	case c.Args.ExactIn && q.AmountOut < c.Args.Threshold, !c.Args.ExactIn && q.AmountIn > c.Args.Threshold:
		return "beyond the order's threshold"
	case !strings.Contains(c.Error.Message, "insufficient funds"):
	case q.AmountIn > balance, q.AmountOut > vaultOf(f, c.State, []string{"vault_b", "vault_a"}[side]):
		return "the user or the vault has less"
	}
	next, err := p.After(q)
	require.NoError(t, err)
	require.True(t, beyondNamed(c, p, next.(*Pool).state.price, side == 0), "case %d: %v %+v %+v", c.ID, c.Tags, c.Error, q)
	return "the order leaves out arrays"
}

// beyondNamed returns whether a price lies beyond the arrays that an order names.
func beyondNamed(c *order, p *Pool, price arith.U128, aToB bool) bool {
	roles, width := c.Roles(), ticksPerArray*p.state.spacing
	edge, named := int32(0), false
	for _, number := range p.state.sequence(aToB) {
		if !slices.Contains(roles, fmt.Sprintf("tick_array_%d", number*width)) {
			break
		}
		named, edge = true, number*width
		if !aToB {
			edge += width - 1
		}
	}
	if !named {
		return true
	}
	end := priceAt(min(max(edge, minTick), maxTick))
	if aToB {
		return price.Less(end)
	}
	return end.Less(price)
}

// judgeLimited judges an order with a price limit. Quotes have none, so the ladder is asked.
func judgeLimited(t *testing.T, f *orders, c *order, p *Pool, side int) string {
	t.Helper()
	limit, aToB := arith.U128(c.Args.Limit), side == 0
	o := venue.Order{In: p.state.mints[side], Amount: c.Args.Amount, ExactOut: !c.Args.ExactIn, Clock: f.Clock(c.State)}
	behind := limit.Less(minPrice) || maxPrice.Less(limit) || limit == p.state.price || aToB == p.state.price.Less(limit)
	amount, err := p.pair(side).AtPool(o)
	if behind || err != nil {
		require.NotNil(t, c.Error, "case %d", c.ID)
		return "refused"
	}
	w, in, out, err := both(t, p, amount, o.ExactOut, aToB, limit, uint64(o.Clock.UnixTime))
	if c.Error != nil && err != nil {
		return "refused"
	}
	if errors.Is(err, errSteps) {
		return "has more steps than we quote"
	}
	require.NoError(t, err, "case %d", c.ID)
	pair := p.pair(side)
	sent, received := o.Amount, out-pair.Out.TransferFee(o.Clock.Epoch, out)
	if o.ExactOut || in != amount {
		var ok bool
		sent, ok = pair.In.Sent(o.Clock.Epoch, in)
		require.True(t, ok)
	}
	if c.Error != nil {
		held := vaultOf(f, c.State, []string{"vault_b", "vault_a"}[side])
		require.True(t, beyondNamed(c, p, w.price, aToB) || sent > balance || out > held || o.ExactOut && sent > c.Args.Threshold || !o.ExactOut && received < c.Args.Threshold,
			"case %d: %+v", c.ID, c.Error)
		return "refused by the order's arguments"
	}
	require.Equal(t, [2]uint64{c.In, c.Out}, [2]uint64{sent, received}, "case %d: %v", c.ID, c.Tags)
	next := &Pool{state: p.state, oracle: w.oracle}
	next.state.price, next.state.liquidity, next.state.tick = w.price, w.liquidity, w.tick
	requireAfter(t, f, c, next)
	return "equal, with a price limit"
}

// judgeChain judges an order over two pools.
func judgeChain(t *testing.T, f *orders, c *order, form func([]byte) []byte) string {
	t.Helper()
	one, two := executedPool(t, f, c.State, "_one", form), executedPool(t, f, c.State, "_two", form)
	in, middle := one.state.mints[1], one.state.mints[0]
	if c.Args.AToBOne {
		in, middle = middle, in
	}
	o := venue.Order{In: in, Amount: c.Args.Amount, Clock: f.Clock(c.State)}
	var first, second venue.Quote
	var err error
	if c.Args.ExactIn {
		if first, err = one.QuoteFirst(o); err == nil {
			second, err = one.QuoteNext(first, two)
		}
	} else {
		o.In, o.ExactOut = middle, true
		if second, err = two.Quote(o); err == nil {
			o.In, o.Amount = in, second.AmountIn-withheld(&second, false)
			if first, err = one.Quote(o); err == nil && first.AmountOut+withheld(&first, true) != second.AmountIn {
				err = errChain
			}
		}
	}
	if c.Error == nil && err != nil && c.Out == 0 {
		require.ErrorIs(t, err, venue.ErrTooSmall)
		return "chain: gives nothing"
	}
	if errors.Is(err, errSteps) {
		return "has more steps than we quote"
	}
	if c.Error != nil {
		return chainRefusal(t, c, one, two, first, second, err)
	}
	require.NoError(t, err, "case %d: %v", c.ID, c.Tags)
	require.Equal(t, [2]uint64{c.In, c.Out}, [2]uint64{first.AmountIn, second.AmountOut}, "case %d: %v", c.ID, c.Tags)
	require.GreaterOrEqual(t, first.ComputeUnits+second.ComputeUnits, c.Units, "case %d: %v", c.ID, c.Tags)
	if c.Args.ExactIn && c.Has("arrays three three") {
		requireChain(t, f, c, one, two, first, second)
	}
	return "chain: equal"
}

// withheld returns the transfer fee on one side of a quote.
func withheld(q *venue.Quote, onOutput bool) (amount uint64) {
	for _, fee := range q.Fees.List() {
		if fee.Kind == venue.FeeTransfer && fee.OnOutput == onOutput {
			amount += fee.Amount
		}
	}
	return amount
}

func requireChain(t *testing.T, f *orders, c *order, one, two *Pool, first, second venue.Quote) {
	t.Helper()
	list, err := one.ChainInstructions(first, second, two, c.Args.Threshold, venue.UserAccounts{})
	require.NoError(t, err)
	require.Equal(t, c.Data, list[0].Data, "case %d", c.ID)
	require.Len(t, list[0].Accounts, len(c.Accounts))
	for i, role := range c.Roles() {
		if key, ok := f.States[c.State].Keys[role]; ok {
			require.Equal(t, key, list[0].Accounts[i].Key.String(), "case %d: %s", c.ID, role)
		}
		require.Equal(t, strings.HasSuffix(c.Accounts[i], ":w"), list[0].Accounts[i].Writable, "case %d: %s", c.ID, role)
	}
}

func chainRefusal(t *testing.T, c *order, one, two *Pool, first, second venue.Quote, err error) string {
	t.Helper()
	const mostUnits = 1_400_000
	switch {
	case err != nil:
		require.NotEmpty(t, venue.RefusalOf(err), "case %d", c.ID)
		return "chain: refused"
	case first.ComputeUnits+second.ComputeUnits > mostUnits:
		return "chain: out of units"
	case first.AmountIn > balance:
		return "chain: the user has less"
	case c.Args.ExactIn && second.AmountOut < c.Args.Threshold, !c.Args.ExactIn && first.AmountIn > c.Args.Threshold:
		return "chain: beyond the order's threshold"
	}
	for i, q := range []venue.Quote{first, second} {
		p := []*Pool{one, two}[i]
		next, err := p.After(q)
		require.NoError(t, err)
		named := *c
		named.Accounts = nil
		for _, role := range c.Accounts {
			named.Accounts = append(named.Accounts, strings.Replace(role, []string{"_one_", "_two_"}[i], "_", 1))
		}
		if beyondNamed(&named, p, next.(*Pool).state.price, q.Order.In == p.state.mints[0]) {
			return "chain: the order leaves out arrays"
		}
	}
	require.Fail(t, "not refused", "case %d: %v %+v", c.ID, c.Tags, c.Error)
	return ""
}
