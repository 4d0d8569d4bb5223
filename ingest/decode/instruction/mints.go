package instruction

import (
	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Mints knows which accounts of one transaction are mints and which are token accounts: from its
// token balances, and from the instructions already decoded. An instruction that could be about
// either (CloseAccount, WithdrawExcessLamports) is told apart by it.
type Mints struct {
	tx *chain.Transaction
	// made are the accounts that this transaction initialised so far, in order: an address may be
	// closed and made again.
	made []initialized
}

type initialized struct {
	key      pubkey.Key
	mint     bool
	decimals uint8
}

// NewMints begins with the transaction's token balances.
func NewMints(tx *chain.Transaction) *Mints { return &Mints{tx: tx} }

// Initialized notes that an instruction made the account a mint.
func (m *Mints) Initialized(key pubkey.Key, decimals uint8) {
	m.made = append(m.made, initialized{key, true, decimals})
}

// InitializedOther notes that an instruction made the account a token account or a multisignature.
func (m *Mints) InitializedOther(key pubkey.Key) { m.made = append(m.made, initialized{key: key}) }

func (m *Mints) lastMade(key pubkey.Key) (mint, found bool) {
	for i := len(m.made) - 1; i >= 0; i-- {
		if m.made[i].key == key {
			return m.made[i].mint, true
		}
	}
	return false, false
}

// Decimals are the mint's, where the transaction tells them.
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

// IsMint says that the account is a mint. False means only that this transaction does not show it.
func (m *Mints) IsMint(key pubkey.Key) bool {
	if mint, found := m.lastMade(key); found {
		return mint
	}
	return hasMint(m.tx.PostBalances, key) || hasMint(m.tx.PreBalances, key)
}

// IsOther says that the account is a token account, or a multisignature made by this transaction.
// Nodes list the balance of every token account that was there before a transaction, and how one
// came to be is an instruction: so an account that a token program reads as its own and that is no
// other is a mint. Two things escape: a token account whose mint is gone has no balance, and a
// multisignature of an earlier transaction never has one.
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
