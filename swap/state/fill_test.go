package state

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/ammv4"
	"github.com/mintlake/mintlake/swap/venue/cpmm"
)

// lister lists one pool of each program. Listings of a program that is in fail do not succeed. If
// hold is set, a listing waits until it is closed or its caller gives up.
type lister struct {
	mu    sync.Mutex
	fail  map[pubkey.Key]bool
	calls map[pubkey.Key]int
	hold  chan struct{}
	// ended counts the callers that gave up.
	ended int
}

func (l *lister) ProgramAccounts(ctx context.Context, program pubkey.Key, _ solana.ProgramOptions, use func(pubkey.Key, []byte) error) error {
	l.mu.Lock()
	l.calls[program]++
	fail, hold := l.fail[program], l.hold
	l.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			l.mu.Lock()
			defer l.mu.Unlock()
			l.ended++
			return ctx.Err()
		}
	}
	if fail {
		return errors.New("refused")
	}
	first, second := swaptest.Named("coin"), swaptest.WrappedSOL
	return use(swaptest.Named(program.String()), append(first[:], second[:]...))
}

func (l *lister) count(program pubkey.Key) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls[program]
}

func (l *lister) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

// clock is a clock that stands still.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// TestAVenueThatIsNotListedDoesNotMatterToOthers: only its listing is tried again.
func TestAVenueThatIsNotListedDoesNotMatterToOthers(t *testing.T) {
	l, now := &lister{fail: map[pubkey.Key]bool{ammv4.Program: true}, calls: map[pubkey.Key]int{}}, &clock{now: time.Now()}
	s, d := &server{}, &market.Directory{}
	f := followWith(t, s, Deps{RPC: swaptest.New(), Venues: venue.List{ammv4.Venue{}, cpmm.Venue{}}, Lister: l, Directory: d, Now: now.Now})
	s.block(1000)
	has := func(program pubkey.Key) bool {
		found, ok := d.Find(program, swaptest.Named("coin"), swaptest.WrappedSOL)
		return ok && len(found) == 1 && found[0] == swaptest.Named(program.String())
	}
	readings := func(outcome string) float64 { return testutil.ToFloat64(f.metrics.readings.WithLabelValues(outcome)) }
	require.Eventually(t, func() bool { return has(cpmm.Program) }, hang, time.Millisecond)
	require.False(t, has(ammv4.Program))
	require.EqualValues(t, 1, readings("failed"))
	require.Zero(t, readings("filled"))

	l.set(func() { delete(l.fail, ammv4.Program) })
	// More than once, as the listing before may not have ended at the first.
	require.Eventually(t, func() bool { now.pass(fillAgain); return has(ammv4.Program) }, hang, time.Millisecond)
	require.Eventually(t, func() bool { return readings("filled") == 1 }, hang, time.Millisecond)
	require.Equal(t, 2, l.count(ammv4.Program))
	require.Equal(t, 1, l.count(cpmm.Program), "it was listed")
	require.True(t, has(cpmm.Program))
}

// TestAListingOfAStateThatEndedIsDropped, and all is listed anew for the one that begins then.
func TestAListingOfAStateThatEndedIsDropped(t *testing.T) {
	l := &lister{calls: map[pubkey.Key]int{}, hold: make(chan struct{})}
	s, d, now := &server{noReplay: true}, &market.Directory{}, &clock{now: time.Now()}
	f := followWith(t, s, Deps{RPC: swaptest.New(), Lister: l, Directory: d, Now: now.Now})
	s.block(1000)
	require.Eventually(t, func() bool { return l.count(cpmm.Program) == 1 }, hang, time.Millisecond)
	born := swaptest.Named("born")
	d.Born(cpmm.Program, swaptest.Named("coin"), swaptest.WrappedSOL, born)
	s.updates <- nil // the server does not replay
	require.Eventually(t, func() bool { return testutil.ToFloat64(f.metrics.resets) == 1 }, hang, time.Millisecond)
	require.Eventually(t, func() bool { l.mu.Lock(); defer l.mu.Unlock(); return l.ended == 1 }, hang, time.Millisecond)
	l.set(func() { l.hold = nil })
	_, ok := d.Find(cpmm.Program, swaptest.Named("coin"), swaptest.WrappedSOL)
	require.False(t, ok)
	s.block(1500)
	require.Eventually(t, func() bool {
		looked := make(chan bool)
		f.enqueue(t.Context(), func() { looked <- f.filler.from == 1500 })
		return <-looked
	}, hang, time.Millisecond)
	require.Equal(t, 1, l.count(cpmm.Program), "not at once: the server may still make the first")
	now.pass(fillPause)
	require.Eventually(t, func() bool {
		found, ok := d.Find(cpmm.Program, swaptest.Named("coin"), swaptest.WrappedSOL)
		return ok && len(found) == 2 && found[1] == born
	}, hang, time.Millisecond)
	require.Equal(t, 2, l.count(cpmm.Program))
	require.Zero(t, testutil.ToFloat64(f.metrics.readings.WithLabelValues("failed")))
}

// TestPoolsOfAPairThatSomebodyWaitsForAreReadFirst, however many others are wanted.
func TestPoolsOfAPairThatSomebodyWaitsForAreReadFirst(t *testing.T) {
	c := swaptest.New()
	fold := NewFold(FoldConfig{}, venue.List{cpmm.Venue{}})
	var pools []swaptest.PoolKeys
	for i := range 200 {
		coin := swaptest.Named("coin " + string(rune('a'+i)))
		c.Mint(coin, swaptest.TokenProgram, 6)
		pools = append(pools, c.CPMM(swaptest.Pool{Name: coin.String(), Mints: [2]venue.Key{coin, swaptest.WrappedSOL}, Amounts: [2]uint64{1000, 1000}}))
	}
	for _, p := range pools {
		_, accounts, err := c.GetMultipleAccounts(t.Context(), []venue.Key{p.Pool}, rpcOptions)
		require.NoError(t, err)
		fold.Listed(p.Pool, accounts[0])
	}
	fold.Block(Block{Slot: 1000, Parent: 999})
	fold.Confirmed(1000, 0)
	fold.Covered(fold.Fresh(), 1000)
	last := pools[len(pools)-1]
	fold.Hurry(last.Mints[1], last.Mints[0])
	lane := int(last.Pool[31]) % lanes
	require.Contains(t, fold.Wanted(10, lane, lanes).Keys[:6], last.Pool)
}
