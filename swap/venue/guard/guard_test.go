package guard

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/internal/testkit/venuetest"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/cpmm"
)

// scene is a pool of a venue that panics where the test says, and a clock.
type scene struct {
	*Guard
	broken *venuetest.Broken
	chain  *swaptest.Chain
	pool   swaptest.PoolKeys
	coin   venue.Key
	now    time.Time
	log    bytes.Buffer
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{broken: &venuetest.Broken{Venue: cpmm.Venue{}}, chain: swaptest.New(), coin: swaptest.Named("coin"), now: time.Unix(1_700_000_000, 0)}
	s.chain.Mint(s.coin, swaptest.TokenProgram, 6)
	s.pool = s.chain.CPMM(swaptest.Pool{Name: "pool", Mints: [2]venue.Key{s.coin, swaptest.WrappedSOL}, Amounts: [2]uint64{1 << 40, 1 << 40}, TradeRate: 2500})
	var err error
	s.Guard, err = New(venue.List{s.broken}, Deps{
		Logger: slog.New(slog.NewTextHandler(&s.log, nil)), Registerer: prometheus.NewRegistry(), Now: func() time.Time { return s.now },
	})
	require.NoError(t, err)
	return s
}

// try makes every call of the venue up to one that fails.
func (s *scene) try(t *testing.T) error {
	t.Helper()
	v := s.Venues(nil)[0]
	v.Lookup(s.coin, swaptest.WrappedSOL)
	_, accounts, err := s.chain.GetMultipleAccounts(t.Context(), []venue.Key{s.pool.Pool}, solana.AccountOptions{})
	require.NoError(t, err)
	ref, err := v.Open(s.pool.Pool, accounts[0].Data)
	if err != nil {
		return err
	}
	require.Equal(t, s.pool.Pool, ref.Address())
	require.Equal(t, s.pool.Mints, ref.Mints())
	require.Len(t, ref.Accounts(), 4)
	require.Len(t, ref.Own(), 3)
	p, err := s.chain.Decode(ref)
	if err != nil {
		return err
	}
	q, err := p.Quote(venue.Order{In: s.coin, Amount: 1_000_000, Clock: venue.Clock{UnixTime: 1_700_000_000}})
	if err != nil {
		return err
	}
	require.EqualValues(t, 997_499, q.AmountOut)
	_, err = p.Instructions(q, 1, venue.UserAccounts{})
	return err
}

func TestAPanicAnywhereIsARefusal(t *testing.T) {
	for _, place := range venuetest.Places {
		t.Run(place, func(t *testing.T) {
			s := newScene(t)
			require.NoError(t, s.try(t))
			require.Nil(t, s.Stopped(cpmm.Name))
			s.broken.Panics(place)
			err := s.try(t)
			require.Equal(t, venue.ErrStopped, venue.RefusalOf(err), "%v", err)
			require.NotContains(t, err.Error(), venuetest.Reason, "what it panicked with is for the log alone")
			require.Contains(t, s.log.String(), venuetest.Reason)
			require.Contains(t, s.log.String(), "goroutine")
			require.EqualValues(t, 1, testutil.ToFloat64(s.panics.WithLabelValues(cpmm.Name, place)))
			require.NotNil(t, s.Stopped(cpmm.Name))

			s.broken.Panics("")
			require.ErrorIs(t, s.try(t), venue.ErrStopped, "it is out for a while")
			s.now = s.now.Add(firstPause)
			require.NoError(t, s.try(t), "it is tried again")
			require.Nil(t, s.Stopped(cpmm.Name))
		})
	}
}

func TestAVenueThatKeepsPanickingIsOutForLonger(t *testing.T) {
	s := newScene(t)
	s.broken.Panics("quote")
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		require.Error(t, s.try(t))
		require.Equal(t, s.now.Add(want*time.Minute), s.Stopped(cpmm.Name).Until)
		s.now = s.now.Add(want * time.Minute)
	}
	s.broken.Panics("")
	s.now = s.now.Add(calm)
	require.NoError(t, s.try(t))
	s.broken.Panics("open")
	for range 5 { // many at a time are one failure
		require.Error(t, s.try(t))
	}
	require.Equal(t, s.now.Add(time.Minute), s.Stopped(cpmm.Name).Until, "it was well for long")
}

// gateStub counts what it is asked.
type gateStub int

func (g *gateStub) Allows(venue.Features) error {
	*g++
	return nil
}

// TestAGuardedQuoteDoesNotAllocate: quotes are made thousands at a time.
func TestAGuardedQuoteDoesNotAllocate(t *testing.T) {
	s := newScene(t)
	asked := gateStub(0)
	p, err := s.chain.Pool(t, s.Venues(func(string) Gate { return &asked })[0], [2]venue.Key{s.coin, swaptest.WrappedSOL})
	require.NoError(t, err)
	order := venue.Order{In: s.coin, Amount: 1_000_000, Clock: venue.Clock{UnixTime: 1_700_000_000}}
	require.Zero(t, testing.AllocsPerRun(100, func() { _, err = p.Quote(order) }))
	require.NoError(t, err)
	require.GreaterOrEqual(t, int(asked), 100, "the gate is asked of each quote")
}

// Pools of the three kinds; nothing of them is called.
type (
	plain struct{ venue.Pool }
	opens struct{ venue.Opener }
	chain struct{ venue.Chained }
)

// TestAGuardedPoolDoesWhatItsInnerPoolDoes, and no more: the router takes it for what it
// implements.
func TestAGuardedPoolDoesWhatItsInnerPoolDoes(t *testing.T) {
	s := newScene(t)
	v := s.Venues(nil)[0].(*gated)
	for _, e := range []struct {
		inner         venue.Pool
		opens, chains bool
	}{{plain{}, false, false}, {opens{}, true, false}, {chain{}, true, true}} {
		p := wrap(v, e.inner, s.pool.Pool, s.pool.Mints)
		for _, p := range []venue.Pool{p, Ungated(p)} {
			_, opener := p.(venue.Opener)
			_, chained := p.(venue.Chained)
			require.Equal(t, []bool{e.opens, e.chains}, []bool{opener, chained}, "%T", e.inner)
			require.Equal(t, s.pool.Pool, p.Address())
			require.NotNil(t, guardedOf(p))
		}
	}
	last := wrap(v, plain{}, s.pool.Pool, s.pool.Mints)
	first := wrap(newScene(t).Venues(nil)[0].(*gated), chain{}, s.pool.Pool, s.pool.Mints).(venue.Chained)
	_, err := first.QuoteNext(venue.Quote{}, last)
	require.ErrorIs(t, err, venue.ErrUnverified, "it is of another venue")
	_, err = first.QuoteNext(venue.Quote{}, plain{})
	require.ErrorIs(t, err, venue.ErrUnverified)
	_, err = first.QuoteFirst(venue.Order{})
	require.ErrorIs(t, err, venue.ErrStopped, "a panic is a refusal")
}

// shared is a pool that shares a vault.
type shared struct{ venue.Pool }

// Joints implements venue.Joint.
func (shared) Joints() []venue.Key { return []venue.Key{swaptest.Named("vault")} }

// TestAGuardedPoolTellsWhatItShares, and one that shares nothing, nothing.
func TestAGuardedPoolTellsWhatItShares(t *testing.T) {
	p := wrap(&gated{}, shared{}, venue.Key{}, [2]venue.Key{})
	require.Equal(t, []venue.Key{swaptest.Named("vault")}, venue.JointsOf(p))
	require.False(t, venue.Apart(p, venue.JointsOf(p)))
	require.True(t, venue.Apart(wrap(&gated{}, &cpmm.Pool{}, venue.Key{}, [2]venue.Key{}), venue.JointsOf(p)))
}
