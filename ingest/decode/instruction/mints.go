package instruction

import (
	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Mints knows which accounts of one transaction are mints and which are token accounts. The token
// balances and the instructions decoded so far show it. Some instructions can apply to either kind
// of account (CloseAccount, WithdrawExcessLamports): their decoders ask Mints.
type Mints struct {
	tx *chain.Transaction
	// made are the accounts that this transaction has initialised so far, in order. An address may
	// be closed and created again.
	made []initialized
}

// initialized is an account that an instruction initialised. decimals is set if it is a mint.
type initialized struct {
	key      pubkey.Key
	mint     bool
	decimals uint8
}

// NewMints returns the Mints of a transaction of which no instruction has been decoded yet.
func NewMints(tx *chain.Transaction) *Mints { return &Mints{tx: tx} }

// Initialized notes that an instruction initialised the account as a mint.
func (m *Mints) Initialized(key pubkey.Key, decimals uint8) {
	m.made = append(m.made, initialized{key, true, decimals})
}

// InitializedOther notes that an instruction initialised the account as a token account or a
// multisignature.
func (m *Mints) InitializedOther(key pubkey.Key) { m.made = append(m.made, initialized{key: key}) }

// lastMade finds the last initialisation of an account in this transaction. mint means that it
// became a mint.
func (m *Mints) lastMade(key pubkey.Key) (mint, found bool) {
	for i := len(m.made) - 1; i >= 0; i-- {
		if m.made[i].key == key {
			return m.made[i].mint, true
		}
	}
	return false, false
}

// Decimals returns the decimals of a mint. It returns false if the transaction does not show them,
// or has last initialised the address as an account of another kind.
func (m *Mints) Decimals(key pubkey.Key) (decimals uint8, known bool) {
	for i := len(m.made) - 1; i >= 0; i-- {
		if m.made[i].key == key {
			return m.made[i].decimals, m.made[i].mint
		}
	}
	for _, balances := range [][]chain.TokenBalance{m.tx.PreBalances, m.tx.PostBalances} {
		for i := range balances {
			if balances[i].Mint == key {
				return balances[i].Decimals, true
			}
		}
	}
	return 0, false
}

// IsMint reports whether the account is known to be a mint. False only means that this transaction
// does not show it.
func (m *Mints) IsMint(key pubkey.Key) bool {
	if mint, found := m.lastMade(key); found {
		return mint
	}
	return hasMint(m.tx.PostBalances, key) || hasMint(m.tx.PreBalances, key)
}

// IsOther reports whether the account is a token account, or a multisignature that this transaction
// made.
//
// A node lists the balance of every token account that existed before the transaction, and an
// instruction initialises every new token account. So if a token program accepts an account as one
// of its own and IsOther is false, the account is a mint. There are two exceptions: nodes list no
// balance of a token account whose mint was closed, nor of a multisignature, which an earlier
// transaction may have made.
func (m *Mints) IsOther(key pubkey.Key) bool {
	if mint, found := m.lastMade(key); found {
		return !mint
	}
	return m.hasAccount(m.tx.PreBalances, key)
}

// Of returns the first of the call's accounts that is a mint.
func (m *Mints) Of(v View) (pubkey.Key, bool) {
	for i := range v.Call.Accounts {
		if key, err := v.Account(i); err == nil && m.IsMint(key) {
			return key, true
		}
	}
	return pubkey.Key{}, false
}

func hasMint(balances []chain.TokenBalance, key pubkey.Key) bool {
	for i := range balances {
		if balances[i].Mint == key {
			return true
		}
	}
	return false
}

func (m *Mints) hasAccount(balances []chain.TokenBalance, key pubkey.Key) bool {
	for i := range balances {
		index := balances[i].AccountIndex
		if index >= 0 && index < len(m.tx.Keys) && m.tx.Keys[index] == key {
			return true
		}
	}
	return false
}
