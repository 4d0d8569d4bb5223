package chain

import (
	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/testworld/layout"
)

// Places of the keys of an Unexecuted transaction.
const (
	PlaceAuthority = iota // signs and pays
	PlaceAccount          // a token account
	PlaceMint
	PlaceProgram
)

// Unexecuted describes a transaction of one mint that no program runs. So it may say what could not
// happen: tests of ingest need only what the chain reports.
type Unexecuted struct {
	Signature Signature
	Keys      [4]Key
	// Calls are the outer instructions. Inner, if it is set, is called by the first of them.
	Calls []CompiledInstruction
	Inner *CompiledInstruction
	// Balance, if it is set, is the mint's balance after the transaction, of PlaceAccount.
	Balance *TokenBalance
	// Wrote, if it is set, is what the transaction left in the mint's account.
	Wrote  *layout.Mint
	Failed bool
	Vote   bool
	// V1 makes it a transaction of version 1; otherwise it is a legacy one.
	V1 bool
}

// unexecutedBalance is the lamports of each account of an Unexecuted transaction.
const unexecutedBalance = 1_000_000_000

// Tx makes the transaction, with one signer and one read-only key.
func (u *Unexecuted) Tx(blockhash Hash) *Tx {
	tx := &Tx{Signatures: []Signature{u.Signature}, Vote: u.Vote, Message: Message{
		Version: txwire.Legacy, Header: [3]uint8{1, 0, 1}, Keys: u.Keys[:], Blockhash: blockhash, Instructions: u.Calls,
	}}
	if u.V1 {
		units, loaded := uint32(defaultComputeLimit), uint32(maxLoaded)
		tx.Message.Version, tx.Message.Config = txwire.V1, txwire.Config{ComputeUnitLimit: &units, LoadedAccountsDataSizeLimit: &loaded}
	}
	m := &tx.Meta
	m.Fee, m.Logs = signatureFee, []string{"Program log: hi"}
	for range u.Keys {
		m.Pre, m.Post = append(m.Pre, unexecutedBalance), append(m.Post, unexecutedBalance)
	}
	m.Post[PlaceAuthority] -= m.Fee
	if u.Failed {
		m.Err = &TxError{Kind: ErrCustom, Custom: 1}
	}
	if u.Inner != nil {
		m.Inner = []Inner{{Instructions: []InnerInstruction{{CompiledInstruction: *u.Inner, StackHeight: 2}}}}
	}
	if u.Balance != nil {
		m.PostTokens = []TokenBalance{*u.Balance}
	}
	if u.Wrote != nil {
		account := &Account{Lamports: RentExempt(layout.MintSize), Owner: TokenProgram, Data: u.Wrote.Bytes()}
		tx.Writes = []Write{{Key: u.Keys[PlaceMint], Account: account}}
	}
	return tx
}

// TokenCall is a call of the program of an Unexecuted transaction.
func TokenCall(data []byte, accounts ...byte) CompiledInstruction {
	return CompiledInstruction{Program: PlaceProgram, Accounts: accounts, Data: data}
}

// MintToCall is the call that mints an amount to PlaceAccount.
func MintToCall(amount uint64) CompiledInstruction {
	return TokenCall(layout.MintTo(amount), PlaceMint, PlaceAccount, PlaceAuthority)
}
