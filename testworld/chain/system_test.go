package chain

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/testworld/layout"
)

// assigned is a transaction with an Assign, and what must come of it.
type assigned struct {
	what string
	tx   *Tx
	err  *TxError
	// owner is what the account has afterwards.
	account, owner Key
}

// assigns are executed on the state at the tip, which they leave as it is. Each is paid by a wallet
// of its own. TestLiteSVMAgrees runs them on the real system program.
func assigns(t *testing.T, g *Generator) []assigned {
	t.Helper()
	assign := func(account AccountMeta, owner Key) Instruction {
		return Instruction{Program: SystemProgram, Accounts: []AccountMeta{account}, Data: append([]byte{sysAssign, 0, 0, 0}, owner[:]...)}
	}
	other := g.wallets[len(g.wallets)-1]
	var list []assigned
	add := func(what string, err *TxError, owner Key, instructions func(payer, fresh Key) (account Key, list []Instruction)) {
		payer, fresh := g.wallets[len(list)], deriveSigner(1, "assigned", uint64(len(list)))
		account, ixs := instructions(payer.Key, fresh.Key)
		m, compileErr := compile(payer.Key, ixs, txwire.Legacy, nil, g.hash)
		require.NoError(t, compileErr)
		tx := &Tx{Message: m, sign: []*Signer{payer, fresh, other}}
		require.NoError(t, tx.signAll())
		require.NoError(t, g.Simulate(tx))
		list = append(list, assigned{what: what, tx: tx, err: err, account: account, owner: owner})
	}
	rent := RentExempt(0)
	add("an account that signs gets another owner", nil, TokenProgram, func(payer, fresh Key) (Key, []Instruction) {
		return fresh, []Instruction{ixTransferSOL(payer, fresh, rent), assign(signerW(fresh), TokenProgram)}
	})
	add("nobody signs for the owner that it has", nil, SystemProgram, func(payer, fresh Key) (Key, []Instruction) {
		return fresh, []Instruction{ixTransferSOL(payer, fresh, rent), assign(writable(fresh), SystemProgram)}
	})
	add("an account must sign", &TxError{Index: 0, Kind: ErrMissingRequiredSignature}, SystemProgram, func(_, _ Key) (Key, []Instruction) {
		return other.Key, []Instruction{assign(writable(other.Key), TokenProgram)}
	})
	add("an account of another program stays its own", &TxError{Index: 1, Kind: ErrModifiedProgramID}, SystemProgram, func(payer, fresh Key) (Key, []Instruction) {
		return fresh, []Instruction{CreateAccount(payer, fresh, RentExempt(layout.MintSize), layout.MintSize, TokenProgram), assign(signerW(fresh), SystemProgram)}
	})
	add("a read-only account stays as it is", &TxError{Index: 0, Kind: ErrModifiedProgramID}, SystemProgram, func(_, _ Key) (Key, []Instruction) {
		return other.Key, []Instruction{assign(signer(other.Key), TokenProgram)}
	})
	add("zeros are no content", nil, TokenProgram, func(payer, fresh Key) (Key, []Instruction) {
		return fresh, []Instruction{CreateAccount(payer, fresh, RentExempt(8), 8, SystemProgram), assign(signerW(fresh), TokenProgram)}
	})
	return list
}

// TestAssignMindsTheOwner: nobody can take a mint from the token program.
func TestAssignMindsTheOwner(t *testing.T) {
	g, err := New(testConfig())
	require.NoError(t, err)
	for range 5 {
		g.Next(nil)
	}
	for _, a := range assigns(t, g) {
		require.Equal(t, a.err, a.tx.Meta.Err, a.what)
		owner := SystemProgram
		for _, w := range a.tx.Writes {
			if w.Key == a.account && w.Account != nil {
				owner = w.Account.Owner
			}
		}
		require.Equal(t, a.owner, owner, a.what)
	}
}
