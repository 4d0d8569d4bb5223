package stream

import (
	"slices"

	"github.com/mintlake/mintlake/internal/protofields"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// tokenBalance is the token balance of one account before or after a transaction.
type tokenBalance struct {
	account uint64 // index among the transaction's accounts
	owner   address
	amount  string
}

// tokenOwners are the owners of all token balances of a transaction, and of those that it changed.
type tokenOwners struct{ all, changed []address }

// ownersOf returns the token owners that count as addresses of the transaction. The first call
// reads them.
func (t *transaction) ownersOf(mode ownerMode) []address {
	if mode == ownersNone {
		return nil
	}
	t.ownersOnce.Do(func() { t.owners = readOwners(t.raw) })
	if mode == ownersChanged {
		return t.owners.changed
	}
	return t.owners.all
}

// readOwners reads the owners of a transaction's token balances. A transaction that cannot be read
// has none.
func readOwners(raw []byte) (owners tokenOwners) {
	before, after, err := readBalances(raw)
	if err != nil {
		return tokenOwners{}
	}
	for _, b := range slices.Concat(before, after) {
		owners.all = appendNew(owners.all, b.owner)
	}
	// If an account has several balances before the transaction, the last one counts.
	was := make(map[uint64]tokenBalance, len(before))
	for _, b := range before {
		was[b.account] = b
	}
	for _, b := range after {
		if old, ok := was[b.account]; !ok || old.amount != b.amount {
			owners.changed = appendNew(owners.changed, b.owner)
		}
	}
	for _, b := range was {
		if !slices.ContainsFunc(after, func(a tokenBalance) bool { return a.account == b.account }) {
			owners.changed = appendNew(owners.changed, b.owner)
		}
	}
	return owners
}

// readBalances reads a transaction's token balances. It leaves out balances without an owner, which
// old blocks have.
func readBalances(raw []byte) (before, after []tokenBalance, err error) {
	ofMeta := func(meta []byte) error {
		f := protofields.Fields{Rest: meta}
		for f.Next() {
			switch {
			case f.IsBytes(fieldMetaPreTokens):
				before = appendBalance(before, f.Bytes)
			case f.IsBytes(fieldMetaPostTokens):
				after = appendBalance(after, f.Bytes)
			}
		}
		return f.Err
	}
	err = protofields.Each(raw, fieldUpdateInfo, func(info []byte) error { return protofields.Each(info, fieldInfoMeta, ofMeta) })
	return before, after, err
}

func appendBalance(list []tokenBalance, message []byte) []tokenBalance {
	if b, ok := readBalance(message); ok {
		return append(list, b)
	}
	return list
}

func appendNew(list []address, a address) []address {
	if slices.Contains(list, a) {
		return list
	}
	return append(list, a)
}

// readBalance reads one TokenBalance. ok is false if its owner is missing or invalid.
func readBalance(message []byte) (b tokenBalance, ok bool) {
	f := protofields.Fields{Rest: message}
	for f.Next() {
		switch {
		case f.IsVarint(fieldBalanceAccount):
			b.account = uint64(uint32(f.Value))
		case f.IsBytes(fieldBalanceAmount):
			amount := protofields.Fields{Rest: f.Bytes}
			for amount.Next() {
				if amount.IsBytes(fieldAmountAmount) {
					b.amount = string(amount.Bytes)
				}
			}
			if amount.Err != nil {
				return b, false
			}
		case f.IsBytes(fieldBalanceOwner):
			owner, err := pubkey.Parse(f.Bytes)
			if err != nil {
				return b, false
			}
			b.owner, ok = owner, true
		}
	}
	return b, ok && f.Err == nil
}
