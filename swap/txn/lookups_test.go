package txn

import (
	"math/rand/v2"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
)

// ordered is a request whose swap has these accounts.
func ordered(metas []venue.Meta, tables ...Table) Request {
	coin, other := Side{Mint: venue.Key{7}, Program: mint.Token}, Side{Mint: venue.Key{8}, Program: mint.Token2022}
	return Request{User: venue.Key{1}, In: coin, Out: other, Tables: tables, Swaps: []Swap{{
		In: coin, Out: other, Spend: 5, Units: 1000, Instructions: func(venue.UserAccounts) ([]venue.Instruction, error) {
			return []venue.Instruction{{Program: venue.Key{9}, Data: []byte{99}, Accounts: metas}}, nil
		},
	}}}
}

// resolved are the instructions of a transaction as the runtime sees them.
func resolved(t *testing.T, wire []byte, tables []Table) (list []venue.Instruction) {
	t.Helper()
	tx, err := solana.TransactionFromBytes(wire)
	require.NoError(t, err)
	m, loaded := &tx.Message, map[solana.PublicKey]solana.PublicKeySlice{}
	for _, table := range tables {
		entries := make(solana.PublicKeySlice, mostEntries)
		for key, i := range table.at {
			entries[i] = solana.PublicKey(key)
		}
		loaded[solana.PublicKey(table.Address)] = entries
	}
	require.NoError(t, m.SetAddressTables(loaded))
	require.NoError(t, m.ResolveLookups())
	for _, in := range m.Instructions {
		metas, err := in.ResolveInstructionAccounts(m)
		require.NoError(t, err)
		one := venue.Instruction{Program: venue.Key(m.AccountKeys[in.ProgramIDIndex]), Data: in.Data}
		for _, a := range metas {
			one.Accounts = append(one.Accounts, venue.Meta{Key: venue.Key(a.PublicKey), Signer: a.IsSigner, Writable: a.IsWritable})
		}
		list = append(list, one)
	}
	return list
}

// TestLookupTablesChangeOnlyTheSize: with any tables the runtime sees the same accounts with the
// same rights, in fewer bytes, and the same tables give the same bytes.
func TestLookupTablesChangeOnlyTheSize(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	key := func() venue.Key { return venue.Key{100, byte(random.IntN(24))} }
	used, smaller := 0, 0
	for range 2000 {
		var metas []venue.Meta
		for range random.IntN(20) {
			metas = append(metas, venue.Meta{Key: key(), Writable: random.IntN(2) == 0})
		}
		tables := make([]Table, random.IntN(4))
		for i := range tables {
			// The user and the programs may be in a table, but must stay in the message.
			entries := []venue.Key{{1}, {9}, mint.Token, venue.SystemProgram}[:random.IntN(5)]
			for range random.IntN(12) {
				entries = append(entries, key())
			}
			tables[i] = NewTable(venue.Key{200, byte(i)}, entries)
		}
		plain, err := Build(ordered(metas))
		require.NoError(t, err)
		require.Empty(t, plain.Tables)
		built, err := Build(ordered(metas, tables...))
		require.NoError(t, err)
		require.Equal(t, resolved(t, plain.Bytes, nil), resolved(t, built.Bytes, tables))
		again, err := Build(ordered(metas, tables...))
		require.NoError(t, err)
		require.Equal(t, built, again)
		tx, err := solana.TransactionFromBytes(built.Bytes)
		require.NoError(t, err)
		require.Len(t, built.Bytes, size(&tx.Message))
		if len(built.Tables) > 0 {
			used++
			require.Less(t, len(built.Bytes), len(plain.Bytes))
		} else {
			require.Equal(t, plain.Bytes, built.Bytes)
		}
		smaller += len(plain.Bytes) - len(built.Bytes)
	}
	require.Greater(t, used, 500)
	t.Logf("%d of 2000 use tables and save %d bytes on average", used, smaller/max(used, 1))
}

// TestATableMakesASwapFit: one that has too many bytes without it. Accounts in tables count for the
// limit of accounts all the same.
func TestATableMakesASwapFit(t *testing.T) {
	var metas []venue.Meta
	var entries []venue.Key
	for i := range byte(40) {
		metas = append(metas, venue.Meta{Key: venue.Key{100, i}, Writable: i%2 == 0})
		entries = append(entries, venue.Key{100, i})
	}
	_, err := Build(ordered(metas))
	require.ErrorIs(t, err, ErrTooLarge)
	require.ErrorIs(t, Fits(ordered(metas)), ErrTooLarge)
	table := NewTable(venue.Key{200}, entries)
	built, err := Build(ordered(metas, table))
	require.NoError(t, err)
	require.NoError(t, Fits(ordered(metas, table)))
	require.Equal(t, []venue.Key{{200}}, built.Tables)
	request := ordered(metas, table)
	request.MaxAccounts = 40
	_, err = Build(request)
	require.ErrorIs(t, err, ErrTooLarge)
}
