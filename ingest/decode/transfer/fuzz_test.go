package transfer

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// FuzzDecode: whatever a transaction of the token programs says, nothing panics, two readings are
// equal, and there are at most as many transfers as instructions and accounts could make.
func FuzzDecode(f *testing.F) {
	amount := binary.LittleEndian.AppendUint64(nil, 7)
	f.Add(append([]byte{tagTransfer}, amount...), []byte{4, 5, 6}, []byte{1, 1, 4, 2, 5, 3}, uint64(6960))
	f.Add([]byte{tagCloseAccount}, []byte{4, 5, 6}, []byte{1, 9, 4}, uint64(0))
	f.Add([]byte{tagTransferFee, feeHarvest}, []byte{1, 2, 3}, []byte{}, uint64(1))
	f.Add([]byte{255, 3, 9, 3, 1, 0, 0, 0, 0, 0, 0, 0, 3, 1, 9}, []byte{4, 5, 6, 4, 5, 6}, []byte{2, 1, 4}, uint64(1))
	f.Fuzz(func(t *testing.T, data, accounts, balances []byte, rent uint64) {
		tx := &chain.Transaction{Keys: []pubkey.Key{systemProgram, tokenProgram, token22Program, associatedProgram}}
		for i := range 8 {
			tx.Keys = append(tx.Keys, pubkey.Key{byte(i), 1})
		}
		tx.Keys = append(tx.Keys, nativeMint)
		for i := 0; i+2 < len(balances); i += 3 {
			b := chain.TokenBalance{
				AccountIndex: int(balances[i]) - 1, Amount: uint64(balances[i+1]) << balances[i+2],
				Mint: tx.Keys[int(balances[i+2])%len(tx.Keys)],
			}
			if i%2 == 0 {
				tx.PreBalances = append(tx.PreBalances, b)
			} else {
				tx.PostBalances = append(tx.PostBalances, b)
			}
		}
		for program := range 5 {
			call := chain.Call{ProgramIndex: program - 1, Data: data, Accounts: accounts}
			tx.Instructions = append(tx.Instructions, chain.Instruction{Call: call, Inner: []chain.Call{call, {ProgramIndex: 1 << 30}}})
		}
		d := New()
		found := d.Decode(tx, rent)
		require.Equal(t, found, d.Decode(tx, rent))
		require.LessOrEqual(t, len(found.Transfers), 10*(len(data)+len(accounts)+1))
		for _, m := range found.Transfers {
			require.False(t, m.Known && m.FeeKnown && m.Fee > m.Amount, "%+v", m)
		}
		Rent([]chain.Transaction{*tx})
	})
}
