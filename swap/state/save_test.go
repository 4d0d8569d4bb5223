package state

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/venue"
)

// saved is a chain with a pool, and the checkpoint of a feed that held it at slot 1000.
type saved struct {
	*swaptest.Chain
	coin venue.Key
	keys swaptest.PoolKeys
	file string
}

func save(t *testing.T) *saved {
	t.Helper()
	s := &saved{Chain: swaptest.New(), coin: swaptest.Named("coin"), file: filepath.Join(t.TempDir(), "swap", "pools.checkpoint")}
	s.Mint(s.coin, swaptest.TokenProgram, 6)
	s.keys = s.CPMM(swaptest.Pool{Name: "pool", Mints: [2]venue.Key{s.coin, swaptest.WrappedSOL}, Amounts: [2]uint64{1_000_000, 1_000_000}, TradeRate: 2500})
	stream := &server{}
	f, stop := followFrom(t, s.file, stream, Deps{RPC: s})
	stream.block(1000)
	awaitPair(t, f, s.coin, 1000, 1)
	stop()
	return s
}

// change rewrites the checkpoint.
func (s *saved) change(t *testing.T, change func(c *Checkpoint)) {
	t.Helper()
	raw, err := os.ReadFile(s.file)
	require.NoError(t, err)
	c, err := ReadCheckpoint(bytes.NewReader(raw), int64(len(raw)))
	require.NoError(t, err)
	change(c)
	require.NoError(t, os.WriteFile(s.file, bytesOf(t, c), 0o600))
}

// TestARestartGoesOnBehindTheCheckpoint: the stream replays what came since. Nothing is quoted
// before it has caught up, and no pool is listed or read.
func TestARestartGoesOnBehindTheCheckpoint(t *testing.T) {
	s := save(t)
	s.TokenAccount(s.keys.Vaults[0], swaptest.TokenProgram, s.keys.Mints[0], 3_000_000)
	advance(s.Chain, 50)
	listings, stream := s.Calls("getProgramAccounts"), &server{}
	f, stop := followFrom(t, s.file, stream, Deps{RPC: s})
	stream.write(t, s.Chain, 1001, 1, s.keys.Pool, s.keys.Vaults[0], s.keys.Vaults[1])
	stream.block(1001)
	request := stream.await(t)
	require.EqualValues(t, 1001, request.GetFromSlot())
	require.Contains(t, request.Accounts["accounts_0"].Account, s.keys.Vaults[1].String())
	require.Eventually(t, func() bool { return f.Slot() == 1001 }, hang, time.Millisecond)
	asked := s.Calls("getMultipleAccounts")
	require.Eventually(t, func() bool { return s.Calls("getMultipleAccounts") > asked+2 }, hang, time.Millisecond, "it asks how far the chain is")
	_, err := f.Pair(s.coin, swaptest.WrappedSOL)
	require.ErrorIs(t, err, market.ErrNotHeld, "the chain is at slot 1050")
	for slot := uint64(1002); slot <= 1045; slot++ {
		stream.block(slot)
	}
	found := awaitPair(t, f, s.coin, 1045, 1)
	require.EqualValues(t, 1001, found.Pools[0].Slot)
	q, err := found.Pools[0].Quote(venue.Order{In: s.coin, Amount: 1000, Clock: found.Pools[0].Clock})
	require.NoError(t, err)
	side := 0
	if s.keys.Mints[1] == s.coin {
		side = 1
	}
	if side == 0 {
		require.Less(t, q.AmountOut, uint64(500), "of the vault as it is now")
	} else {
		require.Greater(t, q.AmountOut, uint64(2000), "of the vault as it is now")
	}
	require.Equal(t, listings, s.Calls("getProgramAccounts"))
	require.EqualValues(t, 1, testutil.ToFloat64(f.metrics.restores.WithLabelValues("restored")))
	require.Zero(t, testutil.ToFloat64(f.metrics.readings.WithLabelValues("read")))

	stop()
	raw, err := os.ReadFile(s.file)
	require.NoError(t, err)
	c, err := ReadCheckpoint(bytes.NewReader(raw), int64(len(raw)))
	require.NoError(t, err)
	require.EqualValues(t, 1000, c.Slot, "nothing is final behind it")
	require.Equal(t, swaptest.Genesis, c.Genesis)
}

// TestARestartReadsAnewWhatNobodyReplays, without waiting for somebody to ask for it.
func TestARestartReadsAnewWhatNobodyReplays(t *testing.T) {
	s := save(t)
	s.TokenAccount(s.keys.Vaults[0], swaptest.TokenProgram, s.keys.Mints[0], 3_000_000)
	advance(s.Chain, 500)
	stream := &server{noReplay: true}
	f, _ := followFrom(t, s.file, stream, Deps{RPC: s})
	require.Eventually(t, func() bool { return testutil.ToFloat64(f.metrics.resets) == 1 }, hang, time.Millisecond)
	stream.block(1500)
	require.Eventually(t, func() bool { return testutil.ToFloat64(f.metrics.readings.WithLabelValues("read")) > 0 }, hang, time.Millisecond)
	awaitPair(t, f, s.coin, 1500, 1)
}

// TestCheckpointsThatCannotBeUsedAreIgnored: the pools are then listed and read.
func TestCheckpointsThatCannotBeUsedAreIgnored(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, s *saved){
		"of another chain": func(t *testing.T, s *saved) { s.change(t, func(c *Checkpoint) { c.Genesis[0]++ }) },
		"too old":          func(_ *testing.T, s *saved) { s.At(venue.Clock{Slot: 1000 + 432_000 + 1}) },
		"of the future":    func(t *testing.T, s *saved) { s.change(t, func(c *Checkpoint) { c.Slot += 1000 }) },
		"damaged":          func(t *testing.T, s *saved) { require.NoError(t, os.Truncate(s.file, 500)) },
		"a folder": func(t *testing.T, s *saved) {
			require.NoError(t, os.Remove(s.file))
			require.NoError(t, os.Mkdir(s.file, 0o700))
		},
		"of another version": func(t *testing.T, s *saved) {
			require.NoError(t, os.WriteFile(s.file, []byte("mintpool\x02\x00\x00\x00 and more"), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := save(t)
			spoil(t, s)
			slot, stream := s.Slot(), &server{}
			f, _ := followFrom(t, s.file, stream, Deps{RPC: s})
			stream.block(slot)
			require.Nil(t, stream.await(t).FromSlot)
			require.EqualValues(t, 1, testutil.ToFloat64(f.metrics.restores.WithLabelValues("refused")))
			awaitPair(t, f, s.coin, slot, 1)
		})
	}
}

// slow is a chain whose server says how many slots its last minutes had.
type slow struct {
	*saved
	slots int
}

func (s *slow) Call(ctx context.Context, method string, params []any, result any) error {
	if method == "getRecentPerformanceSamples" {
		return json.Unmarshal(fmt.Appendf(nil, `[{"slot":9,"numSlots":%d,"samplePeriodSecs":60,"numTransactions":1}]`, s.slots), result)
	}
	return s.saved.Call(ctx, method, params, result)
}

// TestACheckpointIsUsedForADay, in slots of the chain that it is of.
func TestACheckpointIsUsedForADay(t *testing.T) {
	s := &saved{Chain: swaptest.New()}
	for slots, aDay := range map[int]uint64{300: 432_000, 150: 216_000, 400: 576_000} {
		f := &Feed{deps: Deps{RPC: &slow{s, slots}}}
		require.False(t, f.tooOld(t.Context(), aDay))
		require.True(t, f.tooOld(t.Context(), aDay+1))
	}
	f := &Feed{deps: Deps{RPC: s}} // it does not say
	require.False(t, f.tooOld(t.Context(), 432_000))
	require.True(t, f.tooOld(t.Context(), 432_001))
	asked := s.Calls("getRecentPerformanceSamples")
	require.False(t, f.tooOld(t.Context(), 86_400))
	require.Equal(t, asked, s.Calls("getRecentPerformanceSamples"), "a day of the slowest slots there are")
}
