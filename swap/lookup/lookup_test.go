package lookup

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/testworld/layout"
)

var first, second, third = swaptest.Named("first"), swaptest.Named("second"), swaptest.Named("third")

// hang is what anything may take before it counts as hanging.
const hang = 3 * time.Minute

// table is the account of a table whose entries behind the first one were added in a slot.
func table(extended uint64, entries ...venue.Key) *solana.Account {
	return &solana.Account{Owner: Program, Data: layout.LookupTable{Extended: extended, From: 1, Addresses: entries}.Bytes()}
}

// TestEntriesThatEveryBlockResolves: those that were added in the slot of the reading are not
// resolved in it, and tables that end are not used.
func TestEntriesThatEveryBlockResolves(t *testing.T) {
	list, err := Entries(table(99, first, second, third), 100)
	require.NoError(t, err)
	require.Equal(t, []venue.Key{first, second, third}, list)
	list, err = Entries(table(100, first, second, third), 100)
	require.NoError(t, err)
	require.Equal(t, []venue.Key{first}, list, "the others were added in this slot")

	for name, change := range map[string]func(a *solana.Account){
		"another program's": func(a *solana.Account) { a.Owner = venue.SystemProgram },
		"deactivated":       func(a *solana.Account) { binary.LittleEndian.PutUint64(a.Data[4:], 90) },
		"not initialized":   func(a *solana.Account) { a.Data[0] = 0 },
		"cut":               func(a *solana.Account) { a.Data = a.Data[:60] },
		"empty":             func(a *solana.Account) { a.Data = nil },
	} {
		t.Run(name, func(t *testing.T) {
			account := table(1, first)
			change(account)
			_, err := Entries(account, 100)
			require.Error(t, err)
		})
	}
	_, err = Entries(nil, 100)
	require.Error(t, err)
}

func FuzzEntries(f *testing.F) {
	f.Add(table(1, first).Data, uint64(100))
	f.Fuzz(func(t *testing.T, data []byte, slot uint64) {
		list, err := Entries(&solana.Account{Owner: Program, Data: data}, slot)
		require.True(t, err == nil || list == nil)
		require.LessOrEqual(t, 32*len(list), len(data))
	})
}

// scene is a book of one table that is there and one that is not, with a clock that stands still.
type scene struct {
	*Book
	t     *testing.T
	chain *swaptest.Chain
	table venue.Key
	mu    sync.Mutex
	now   time.Time
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{t: t, chain: swaptest.New(), table: swaptest.Named("table"), now: time.Unix(1000, 0)}
	s.chain.Set(s.table, Program, table(1, first).Data)
	var err error
	s.Book, err = New([]venue.Key{s.table, swaptest.Named("none")}, Deps{RPC: s.chain, Now: func() time.Time {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.now
	}})
	require.NoError(t, err)
	return s
}

func (s *scene) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

func (s *scene) calls() int { return s.chain.Calls("getMultipleAccounts") }

// settled waits until a reading that began has ended, and returns how many tables there are.
func (s *scene) settled(readings int) int {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		return s.calls() == readings && s.deps.Now().Before(s.held.Load().next)
	}, hang, time.Millisecond)
	return len(s.Tables(s.t.Context()))
}

func (s *scene) counted(outcome string) float64 {
	return testutil.ToFloat64(s.readings.WithLabelValues(outcome))
}

// TestTablesAreReadAgain: a table that is deactivated is not used any more after half a minute.
// Nobody waits for a reading but the first, and whoever comes after a long time.
func TestTablesAreReadAgain(t *testing.T) {
	s := newScene(t)
	require.Len(t, s.Tables(t.Context()), 1)
	require.Len(t, s.Tables(t.Context()), 1)
	require.Equal(t, 1, s.calls(), "one reading for both")

	s.chain.Edit(s.table, func(data []byte) { binary.LittleEndian.PutUint64(data[4:], 1000) })
	s.pass(fresh)
	release := s.chain.Hold()
	for range 3 {
		require.Len(t, s.Tables(t.Context()), 1, "the last reading still counts")
	}
	release()
	require.Zero(t, s.settled(2), "one call read them again for all")

	s.chain.Edit(s.table, func(data []byte) { binary.LittleEndian.PutUint64(data[4:], active) })
	s.pass(fresh)
	require.Empty(t, s.Tables(t.Context()))
	require.Equal(t, 1, s.settled(3))
	s.pass(usable)
	require.Len(t, s.Tables(t.Context()), 1, "after a long time without a question it is read first")
	require.Equal(t, 4, s.calls())

	release = s.chain.Hold()
	s.pass(usable)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	require.Empty(t, s.Tables(gone))
	release()
}

// TestANodeThatIsAway takes the tables along after two minutes. Only whoever comes after a long
// time waits for it.
func TestANodeThatIsAway(t *testing.T) {
	s := newScene(t)
	require.Len(t, s.Tables(t.Context()), 1)
	s.chain.Fail(errors.New("away"))
	s.pass(fresh)
	require.Len(t, s.Tables(t.Context()), 1)
	require.Equal(t, 1, s.settled(2), "the last reading still counts")
	require.Equal(t, 2, s.calls(), "it is not tried again at once")
	s.pass(usable)
	require.Empty(t, s.Tables(t.Context()), "this one waited")
	require.Equal(t, 3, s.calls())
	s.pass(retry)
	release := s.chain.Hold()
	require.Empty(t, s.Tables(t.Context()), "and nobody waits while it is away")
	release()
	require.Zero(t, s.settled(4))
	s.chain.Fail(nil)
	s.pass(retry)
	require.Empty(t, s.Tables(t.Context()))
	require.Equal(t, 1, s.settled(5))
	require.EqualValues(t, 2, s.counted("read"))
	require.EqualValues(t, 3, s.counted("failed"))

	s.chain.Fail(errors.New("away"))
	s.pass(fresh)
	require.Len(t, s.Tables(t.Context()), 1)
	require.Equal(t, 1, s.settled(6))
	s.chain.Fail(nil)
	s.pass(usable)
	require.Len(t, s.Tables(t.Context()), 1, "it is read first, whatever failed long ago")
	require.Equal(t, 7, s.calls())
}

// A reading is given up before a transaction made with it could outlive a table that was closed
// right behind it, also on a chain that is faster than today's.
func TestAReadingEndsBeforeItsTables(t *testing.T) {
	const works, valid = 512, 150 // blocks: after the deactivation, and of a transaction
	require.Less(t, usable, (works-valid)*150*time.Millisecond)
	require.Greater(t, usable, fresh+patience)
}
