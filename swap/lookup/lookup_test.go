package lookup

import (
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/solana"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/venue"
)

var first, second, third = swaptest.Named("first"), swaptest.Named("second"), swaptest.Named("third")

// table is the account of a table whose entries behind the first one were added in a slot.
func table(extended uint64, entries ...venue.Key) *solana.Account {
	return &solana.Account{Owner: Program, Data: swaptest.LookupTable(extended, 1, entries...)}
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
// a node that is away takes the tables along after two minutes.
func TestTablesAreReadAgain(t *testing.T) {
	chain := swaptest.New()
	now := time.Unix(1000, 0)
	address := swaptest.Named("table")
	chain.Set(address, Program, table(1, first).Data)
	book, err := New([]venue.Key{address, swaptest.Named("none")}, Deps{RPC: chain, Now: func() time.Time { return now }})
	require.NoError(t, err)
	require.Len(t, book.Tables(t.Context()), 1)
	require.Len(t, book.Tables(t.Context()), 1)
	require.Equal(t, 1, chain.Calls("getMultipleAccounts"), "one reading for both")

	chain.Edit(address, func(data []byte) { binary.LittleEndian.PutUint64(data[4:], 1000) })
	now = now.Add(fresh)
	require.Empty(t, book.Tables(t.Context()))

	chain.Edit(address, func(data []byte) { binary.LittleEndian.PutUint64(data[4:], active) })
	now = now.Add(fresh)
	require.Len(t, book.Tables(t.Context()), 1)
	chain.Fail(errors.New("away"))
	now = now.Add(fresh)
	require.Len(t, book.Tables(t.Context()), 1, "the last reading still counts")
	calls := chain.Calls("getMultipleAccounts")
	require.Len(t, book.Tables(t.Context()), 1)
	require.Equal(t, calls, chain.Calls("getMultipleAccounts"), "it is not tried again at once")
	now = now.Add(usable)
	require.Empty(t, book.Tables(t.Context()))
	chain.Fail(nil)
	now = now.Add(retry)
	require.Len(t, book.Tables(t.Context()), 1)
}
