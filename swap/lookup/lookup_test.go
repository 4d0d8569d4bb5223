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

	"github.com/mintlake/mintlake/internal/solana"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
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

// TestTablesAreReadAgain: a table that is deactivated is not used any more after half a minute, and
// a node that is away takes the tables along after two minutes. Nobody waits for a reading but the
// first.
func TestTablesAreReadAgain(t *testing.T) {
	chain, address := swaptest.New(), swaptest.Named("table")
	var mu sync.Mutex
	now := time.Unix(1000, 0)
	pass := func(d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(d)
	}
	chain.Set(address, Program, table(1, first).Data)
	book, err := New([]venue.Key{address, swaptest.Named("none")}, Deps{RPC: chain, Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}})
	require.NoError(t, err)
	calls := func() int { return chain.Calls("getMultipleAccounts") }
	// settled waits until a reading that began has ended, and returns how many tables there are.
	settled := func(readings int) int {
		t.Helper()
		require.Eventually(t, func() bool {
			return calls() == readings && book.deps.Now().Before(book.held.Load().next)
		}, hang, time.Millisecond)
		return len(book.Tables(t.Context()))
	}
	require.Len(t, book.Tables(t.Context()), 1)
	require.Len(t, book.Tables(t.Context()), 1)
	require.Equal(t, 1, calls(), "one reading for both")

	chain.Edit(address, func(data []byte) { binary.LittleEndian.PutUint64(data[4:], 1000) })
	pass(fresh)
	release := chain.Hold()
	for range 3 {
		require.Len(t, book.Tables(t.Context()), 1, "the last reading still counts")
	}
	release()
	require.Zero(t, settled(2), "one call read them again for all")

	chain.Edit(address, func(data []byte) { binary.LittleEndian.PutUint64(data[4:], active) })
	pass(fresh)
	require.Empty(t, book.Tables(t.Context()))
	require.Equal(t, 1, settled(3))
	chain.Fail(errors.New("away"))
	pass(fresh)
	require.Len(t, book.Tables(t.Context()), 1)
	require.Equal(t, 1, settled(4), "the last reading still counts")
	require.Equal(t, 4, calls(), "it is not tried again at once")
	pass(usable)
	require.Empty(t, book.Tables(t.Context()), "this one waited")
	require.Equal(t, 5, calls())
	pass(retry)
	release = chain.Hold()
	require.Empty(t, book.Tables(t.Context()), "and nobody waits while it is away")
	release()
	require.Zero(t, settled(6))
	chain.Fail(nil)
	pass(retry)
	require.Empty(t, book.Tables(t.Context()))
	require.Equal(t, 1, settled(7))
	require.EqualValues(t, 4, testutil.ToFloat64(book.readings.WithLabelValues("read")))
	require.EqualValues(t, 3, testutil.ToFloat64(book.readings.WithLabelValues("failed")))

	chain.Fail(errors.New("away"))
	pass(fresh)
	require.Equal(t, 1, len(book.Tables(t.Context())))
	require.Equal(t, 1, settled(8))
	chain.Fail(nil)
	pass(usable)
	require.Len(t, book.Tables(t.Context()), 1, "after a long time without a question it is read first, whatever failed then")
	require.Equal(t, 9, calls())
	release = chain.Hold()
	pass(usable)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	require.Empty(t, book.Tables(gone))
	release()
}
