package swap

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/svmtest"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/trust"
	"github.com/mintlake/mintlake/swap/txn"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/ammv4"
	"github.com/mintlake/mintlake/swap/venue/pumpcurve"
	"github.com/mintlake/mintlake/swap/venue/pumpfees"
	"github.com/mintlake/mintlake/swap/venue/pumpswap"
)

// traded is a pool of a coin and SOL, and what came of the quotes for it.
type traded struct {
	venue           venue.Venue
	coin            venue.Key
	quoted, refused int
}

// draw is an order of a trader: a small part of what the pool has, so that it lasts.
func (p *programs) draw(pool *traded) venue.Order {
	order := venue.Order{In: p.Either(pool.coin, swaptest.WrappedSOL), Amount: p.Amount(24, 30), ExactOut: p.Random.IntN(3) == 0, Clock: svmtest.Now}
	if pool.venue.Name() == pumpcurve.Name && order.In == pool.coin != order.ExactOut {
		order.Amount <<= 13
	}
	return order
}

// trade asks for a quote and executes it, to the unit. Where the venue is stopped, somebody else
// makes the swap.
func (p *programs) trade(f *fixture, pool *traded) {
	p.t.Helper()
	order := p.draw(pool)
	out := swaptest.WrappedSOL
	if order.In == out {
		out = pool.coin
	}
	mode := modeIn
	if order.ExactOut {
		mode = modeOut
	}
	path := query(order.In, out, "", fieldMode, mode, fieldUser, wallet.String()) + "&amount=" + decimal(order.Amount)
	status, body := f.do(p.t, http.MethodGet, path, "")
	if status == http.StatusOK {
		var r Response
		require.NoError(p.t, json.Unmarshal(body, &r))
		p.swap(r)
		pool.quoted++
		return
	}
	require.Contains(p.t, string(body), codeStopped, path)
	pool.refused++
	p.others(pool, order)
}

// others make a swap by themselves.
func (p *programs) others(pool *traded, order venue.Order) {
	p.t.Helper()
	state, err := p.chain.Pool(p.t, pool.venue, [2]venue.Key{pool.coin, swaptest.WrappedSOL})
	require.NoError(p.t, err)
	q, err := state.Quote(order)
	require.NoError(p.t, err)
	limit := uint64(1)
	if order.ExactOut && order.In == swaptest.WrappedSOL {
		limit = 2 * q.AmountIn
	}
	side := func(key venue.Key) txn.Side { return txn.Side{Mint: key, Program: p.Held[key].Owner} }
	built, err := txn.Build(txn.Request{User: p.User, In: side(order.In), Out: side(q.Out), HasWrapped: true, Swaps: []txn.Swap{{
		In: side(order.In), Out: side(q.Out), Spend: 2 * q.AmountIn, Native: q.Native, Units: q.ComputeUnits,
		Instructions: func(user venue.UserAccounts) ([]venue.Instruction, error) { return state.Instructions(q, limit, user) },
	}}})
	require.NoError(p.t, err)
	p.run(built.Bytes)
}

// TestRedeployedPrograms changes the programs of pump to another build in the middle of trading:
// nobody gets a quote that the new build does not keep, and the other venue goes on.
func TestRedeployedPrograms(t *testing.T) {
	svmtest.Cases(t)
	p := newPrograms(t, svmtest.Old)
	depth := [2]int{44, 46}
	coins := map[string]venue.Key{}
	for _, name := range []string{"v4", "plain", "boosted", "curve"} {
		coins[name] = swaptest.Named(name)
		p.Mint(coins[name], mint.Token, 1<<50)
	}
	p.AMMV4("v4 pool", coins["v4"], depth)
	p.PumpSwap(coins["plain"], depth, false)
	p.PumpSwap(coins["boosted"], depth, true)
	p.Curve(coins["curve"], 2)
	for _, coin := range coins {
		p.Associated(p.User, coin, svmtest.Rich)
	}
	p.Associated(p.User, swaptest.WrappedSOL, svmtest.Rich)
	p.put()
	p.deploy(svmtest.Old, ammv4.Program, pumpswap.Program, pumpcurve.Program, pumpfees.Program)
	p.chain.Edit(swaptest.Clock, func([]byte) {})

	dir := t.TempDir()
	all := venue.List{ammv4.Venue{}, pumpswap.Venue{}, pumpcurve.Venue{}}
	f := start(t, Config{venues: all, Hubs: []venue.Key{}, Trust: trust.Config{Dir: dir}, terms: trust.Terms{Probe: time.Millisecond, Known: []trust.KnownBuild{}}}, p.chain)
	known := start(t, Config{venues: all, Hubs: []venue.Key{}}, p.chain)
	basis := func(f *fixture, name, want string) func() bool {
		return func() bool {
			build := f.listedVenue(t, name).Build
			return build != nil && build.Basis != nil && *build.Basis == want
		}
	}
	for _, v := range all {
		require.Eventually(t, basis(f, v.Name(), trust.BasisFirst), hang, time.Millisecond)
		require.Eventually(t, func() bool { return known.listedVenue(t, v.Name()).Build.Basis != nil }, hang, time.Millisecond)
	}
	pools := map[string]*traded{
		"v4": {venue: all[0], coin: coins["v4"]}, "plain": {venue: all[1], coin: coins["plain"]}, "curve": {venue: all[2], coin: coins["curve"]},
	}
	boosted := &traded{venue: all[1], coin: coins["boosted"]}
	for range 10 {
		for _, pool := range pools {
			p.trade(f, pool)
		}
	}
	for name, pool := range pools {
		require.Equal(t, 10, pool.quoted, name)
	}

	// The old build knows no boosts: others' swaps show it.
	deadline := time.Now().Add(hang)
	for stopped := false; !stopped; {
		require.True(t, time.Now().Before(deadline), "no mismatch was seen")
		// Who asks keeps the pool among those that are known.
		f.do(t, http.MethodGet, query(boosted.coin, swaptest.WrappedSOL, "1000000"), "")
		order := p.draw(boosted)
		order.ExactOut = false // it would not be kept, so the transaction fails
		p.others(boosted, order)
		stop := f.listedVenue(t, pumpswap.Name).Stopped
		stopped = stop != nil && stop.Reason == trust.ReasonMismatch
	}
	// The venue stops first, and then the mismatch is written.
	var files []string
	require.Eventually(t, func() bool {
		var err error
		files, err = filepath.Glob(filepath.Join(dir, "mismatches", "*.json"))
		require.NoError(t, err)
		return len(files) > 0
	}, hang, time.Millisecond)
	v, err := trust.ReadVector(files[0])
	require.NoError(t, err)
	again, err := v.Verify(all)
	require.NoError(t, err)
	require.Equal(t, v.Quoted, again)
	require.NotEqual(t, v.Chain, again)

	// In the middle of trading.
	p.machine.Load(svmtest.Fetch(t, svmtest.Quoted[0]))
	p.deploy(svmtest.Quoted[0], pumpswap.Program, pumpcurve.Program, pumpfees.Program)
	pools["boosted"] = boosted
	for _, pool := range pools {
		pool.quoted, pool.refused = 0, 0
	}
	deadline = time.Now().Add(hang)
	for done := false; !done; {
		require.True(t, time.Now().Before(deadline), "%+v", pools)
		done = true
		for _, pool := range pools {
			p.trade(f, pool)
			done = done && pool.quoted >= 10
		}
	}
	for name, pool := range pools {
		if name == "v4" {
			require.Zero(t, pool.refused)
			continue
		}
		require.GreaterOrEqual(t, pool.refused, 20, "%s: so many prove a kind", name)
		t.Logf("%s: %d swaps of others before and while kinds were proved, %d quotes executed to the unit", name, pool.refused, pool.quoted)
	}
	require.Equal(t, statusPartly, f.listedVenue(t, pumpswap.Name).Status)
	require.Zero(t, f.listedVenue(t, pumpswap.Name).Build.Mismatches)

	// A node that knows the build quotes at once.
	for _, v := range all[1:] {
		require.Eventually(t, basis(known, v.Name(), trust.BasisKnown), hang, time.Millisecond)
		require.Equal(t, statusProved, known.listedVenue(t, v.Name()).Status)
	}
	for _, pool := range pools {
		pool.quoted, pool.refused = 0, 0
		p.trade(known, pool)
		require.Equal(t, 1, pool.quoted)
	}
}
