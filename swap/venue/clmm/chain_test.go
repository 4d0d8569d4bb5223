package clmm

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// plainPool is a pool at price 1 with one position.
func plainPool() *Pool {
	const liquidity = 1_000_000_000
	p := &Pool{program: Raydium.program, address: swaptest.Named("pool"), config: &config{rate: 2500}}
	s := &p.state
	s.spacing, s.price, s.liquidity = 10, arith.U128{Hi: 1}, arith.U128{Lo: liquidity}
	for side, name := range []string{"a", "b"} {
		s.mints[side] = swaptest.Named(name)
		p.mints[side] = &mint.Mint{Address: s.mints[side], Program: mint.Token}
	}
	p.arrange(map[int32]tick{
		-1000: {liquid: true, net: arith.U128{Lo: liquidity}},
		1000:  {liquid: true, net: arith.U128{Lo: ^uint64(liquidity) + 1, Hi: ^uint64(0)}},
	})
	return p
}

// TestWhatIsNotChained: a pool with itself, an exact-out order, a pool of a fork, and one of
// another venue.
func TestWhatIsNotChained(t *testing.T) {
	p := plainPool()
	o := venue.Order{In: p.state.mints[0], Amount: 100_000, Clock: now}
	first, err := p.QuoteFirst(o)
	require.NoError(t, err)
	fork := plainPool()
	fork.program, fork.address = Byreal.program, venue.Key{9}
	for name, next := range map[string]venue.Pool{"itself": p, "of a fork": fork, "another venue's": struct{ venue.Pool }{p}} {
		_, err = p.QuoteNext(first, next)
		require.ErrorIs(t, err, venue.ErrUnverified, name)
		_, err = p.ChainInstructions(first, first, next, 1, venue.UserAccounts{})
		require.ErrorIs(t, err, venue.ErrUnverified, name)
	}
	o.ExactOut = true
	_, err = p.QuoteFirst(o)
	require.ErrorIs(t, err, venue.ErrUnverified)
}

// chains compares the orders over two pools by one instruction. It returns how many there are.
func chains(t *testing.T, f *executed) (count int) {
	for i := range f.Cases {
		c := &f.Cases[i]
		if c.IX != "swap_router_base_in" {
			continue
		}
		count++
		in, out, named, err := c.chain(t, f)
		switch {
		case c.Error == nil && c.UserOut == 0:
			require.ErrorIs(t, err, venue.ErrTooSmall, "case %d: the program takes it and gives nothing", c.ID)
		case c.Error == nil:
			require.NoError(t, err, "case %d", c.ID)
			require.True(t, named, "case %d: its arrays suffice", c.ID)
			require.Equal(t, [2]uint64{c.UserIn, c.UserOut}, [2]uint64{in, out}, "case %d", c.ID)
		case err != nil:
			require.NotEmpty(t, venue.RefusalOf(err), "case %d: %v", c.ID, err)
		default:
			require.False(t, named, "case %d: %s, and quoted %d for %d", c.ID, c.Error.Name+c.Error.Message, out, in)
		}
	}
	return count
}

// chain quotes an order over two pools, and compares the instruction with the order's own. named is
// whether that one names arrays enough for both.
func (c *executedCase) chain(t *testing.T, f *executed) (in, out uint64, named bool, err error) {
	second := slices.IndexFunc(c.Accounts, func(role string) bool { return strings.HasPrefix(role, "config_two") })
	lists, suffixes := [2][]string{c.Accounts[:second], c.Accounts[second:]}, [2]string{"_one", "_two"}
	var pools [2]*Pool
	for i, suffix := range suffixes {
		pools[i] = f.pool(t, c.State, suffix, c.ID%2 == 1, "mint_input", "mint_intermediate", "mint_output")
	}
	side := 1
	if c.Args.ZeroForOneOne {
		side = 0
	}
	var quotes [2]venue.Quote
	quotes[0], err = pools[0].QuoteFirst(venue.Order{In: pools[0].state.mints[side], Amount: c.Args.Amount, Clock: f.clock(c.State)})
	if err == nil {
		quotes[1], err = pools[0].QuoteNext(quotes[0], pools[1])
	}
	if err != nil {
		return 0, 0, true, err
	}
	named = true
	for i, p := range pools {
		r, err := p.swap(quotes[i].Order)
		require.NoError(t, err)
		named = named && c.accepted(t, p, &r, lists[i], suffixes[i])
	}
	if c.Error == nil {
		c.requireInstruction(t, f, pools, quotes)
	}
	return quotes[0].AmountIn, quotes[1].AmountOut, named, nil
}

// requireInstruction compares the instruction of a chain with the order's own: the data, and all
// accounts that do not depend on how many arrays are listed.
func (c *executedCase) requireInstruction(t *testing.T, f *executed, pools [2]*Pool, quotes [2]venue.Quote) {
	keys := map[string]venue.Key{
		"user": pubkey.MustParse(f.States[c.State].User), "token_program": mint.Token, "token_program_2022": mint.Token2022, "memo_program": memoProgram,
		"user_input": {1}, "user_intermediate": {2}, "user_output": {3},
	}
	for role, key := range f.States[c.State].Keys {
		keys[role] = pubkey.MustParse(key)
	}
	limit, err := strconv.ParseUint(c.Args.Threshold, 10, 64)
	require.NoError(t, err)
	list, err := pools[0].ChainInstructions(quotes[0], quotes[1], pools[1], limit, venue.UserAccounts{
		Owner: keys["user"], Source: keys["user_input"], Middle: keys["user_intermediate"], Destination: keys["user_output"],
	})
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, decode64(t, c.Data), list[0].Data, "case %d", c.ID)
	require.LessOrEqual(t, len(list[0].Accounts)+1, int(quotes[0].Accounts)+int(quotes[1].Accounts))
	arrays := map[venue.Key]bool{}
	for i, p := range pools {
		r, err := p.swap(quotes[i].Order)
		require.NoError(t, err)
		for _, m := range p.arrayMetas(&r) {
			arrays[m.Key] = true
		}
	}
	var ours, theirs []venue.Meta
	for _, m := range list[0].Accounts {
		if !arrays[m.Key] {
			ours = append(ours, m)
		}
	}
	for _, role := range c.Accounts {
		name, flags, _ := strings.Cut(role, ":")
		if !strings.HasPrefix(name, "tick_array") && !strings.HasPrefix(name, "bitmap_extension") {
			theirs = append(theirs, venue.Meta{Key: keys[name], Signer: flags == "s", Writable: flags == "w"})
		}
	}
	require.Equal(t, theirs, ours, "case %d", c.ID)
}
