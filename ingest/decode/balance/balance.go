// Package balance finds what a transaction changed in token accounts.
//
// In: a transaction's token balances before and after, as the node reports them. Out: one fact for
// each token account and mint whose amount or owner changed, and for each account that was opened
// or closed. Guarantees: pure and deterministic. Failed and vote transactions change nothing.
// Hostile input never panics, and there are at most as many facts as balances.
package balance

import (
	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// State is a token account before or after a transaction. The zero value is an account that does
// not exist, or belongs to another mint.
type State struct {
	Open bool
	// Amount is the raw amount.
	Amount uint64
	// Owner is the wallet; zero if the source does not state it.
	Owner pubkey.Key
}

// Change is a fact about one token account of one mint. A transaction that closes an account and
// opens it for another mint makes two.
type Change struct {
	Account, Mint pubkey.Key
	// Program is the token program; zero if the source does not state it.
	Program       pubkey.Key
	Decimals      uint8
	Before, After State
}

// Changes returns the changes of a transaction, ordered by the account's place among the keys. Of
// two changes of one account, the change of the mint that the account had before comes first.
func Changes(tx *chain.Transaction) []Change {
	if tx.Failed || tx.Vote || len(tx.PreBalances)+len(tx.PostBalances) == 0 {
		return nil
	}
	var before, after [maxKeys]*chain.TokenBalance
	index(&before, tx.PreBalances)
	index(&after, tx.PostBalances)
	var changes []Change
	for i := range tx.Keys[:min(len(tx.Keys), maxKeys)] {
		pre, post := before[i], after[i]
		switch {
		case pre == nil && post == nil:
		case pre != nil && post != nil && pre.Mint == post.Mint:
			if pre.Amount != post.Amount || pre.Owner != post.Owner {
				changes = append(changes, change(tx.Keys[i], pre, post))
			}
		default:
			if pre != nil {
				changes = append(changes, change(tx.Keys[i], pre, nil))
			}
			if post != nil {
				changes = append(changes, change(tx.Keys[i], nil, post))
			}
		}
	}
	return changes
}

// maxKeys is how many keys a transaction can have: instructions name them by one byte.
const maxKeys = 256

// index puts balances into an array, by the account's place among the keys. If a source states two
// balances of one account, the last one counts.
func index(to *[maxKeys]*chain.TokenBalance, balances []chain.TokenBalance) {
	for i := range balances {
		if at := balances[i].AccountIndex; at >= 0 && at < maxKeys {
			to[at] = &balances[i]
		}
	}
}

// change returns the fact of an account's balances of one mint before and after the transaction.
// One of the two may be nil.
func change(account pubkey.Key, pre, post *chain.TokenBalance) Change {
	stated := post
	if stated == nil {
		stated = pre
	}
	return Change{
		Account: account, Mint: stated.Mint, Program: stated.Program, Decimals: stated.Decimals,
		Before: state(pre), After: state(post),
	}
}

func state(b *chain.TokenBalance) State {
	if b == nil {
		return State{}
	}
	return State{Open: true, Amount: b.Amount, Owner: b.Owner}
}
