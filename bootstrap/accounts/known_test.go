package accounts_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/bootstrap/accounts"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// TestAccountsThatAreOpenFromBeforeASlot: of each account and owner the latest fact counts, and not
// if it is from the end of the slot or later, or says that the account is closed.
func TestAccountsThatAreOpenFromBeforeASlot(t *testing.T) {
	conn, _ := chtest.Migrated(t)
	key := func(n byte) pubkey.Key { return pubkey.Key{n, 31: 9} }
	fact := func(account, owner byte, amount int, open bool, slot, place uint64) {
		t.Helper()
		text := ""
		if owner > 0 {
			text = key(owner).String()
		}
		require.NoError(t, conn.Exec(t.Context(), "INSERT INTO "+schema.Database+`.wallet_accounts_raw (owner, mint, account, amount, open, position)
			VALUES (?, ?, ?, ?, ?, bitOr(bitShiftLeft(toUInt128(?), 64), toUInt128(?)))`, text, baseMint.String(), string(key(account).Bytes()), amount, open, slot, place))
	}
	const end = 1<<64 - 1
	fact(1, 7, 10, true, 50, 3) // open
	fact(1, 7, 11, true, 60, 3)
	fact(2, 7, 20, true, 50, 3) // closed since
	fact(2, 7, 0, false, 60, 3)
	fact(3, 7, 30, true, 50, 3) // read at the slot
	fact(3, 7, 30, true, 77, end)
	fact(4, 7, 40, true, 50, 3) // has another owner now
	fact(4, 8, 40, true, 77, end)
	fact(5, 0, 50, true, 77, end-1) // of an owner that is not known
	fact(6, 7, 60, true, 78, 0)
	got := map[string]bool{}
	tables := accounts.NewTables(conn, schema.Database)
	require.NoError(t, tables.OpenBefore(t.Context(), 77, func(mint, account, owner pubkey.Key, amount uint64) error {
		require.Equal(t, baseMint, mint)
		got[fmt.Sprint(account[0], owner[0], amount)] = true
		return nil
	}))
	require.Equal(t, map[string]bool{"1 7 11": true, "4 7 40": true, "5 0 50": true}, got)

	search, stop := context.WithCancel(t.Context())
	calls := 0
	err := tables.OpenBefore(search, 77, func(_, _, _ pubkey.Key, _ uint64) error {
		calls++
		stop()
		return context.Canceled
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, calls, "a search ends with the first")
}
