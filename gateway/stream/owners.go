package stream

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Field numbers of solana-storage.proto.
const (
	fieldMetaPreBalances, fieldMetaPostBalances                = 7, 8
	fieldBalanceAccount, fieldBalanceAmount, fieldBalanceOwner = 1, 3, 4
	fieldAmountAmount                                          = 3
)

// tokenBalance is one of a transaction's token balances before or after it.
type tokenBalance struct {
	account uint64 // index among the transaction's accounts
	owner   address
	amount  string
}

// tokenOwners are the owners of a transaction's token balances.
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
	var before, after []tokenBalance
	err := walk(raw, within(fieldUpdateInfo, within(fieldInfoMeta, func(field protowire.Number, bytes []byte) error {
		into := &before
		switch field {
		case fieldMetaPreBalances:
		case fieldMetaPostBalances:
			into = &after
		default:
			return nil
		}
		// A balance without an owner, as in old blocks, is left out.
		if b, ok := readBalance(bytes); ok {
			*into = append(*into, b)
		}
		return nil
	})), nil)
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

// within returns a callback for walk that walks the messages in field with next and ignores all
// other fields.
func within(field protowire.Number, next func(protowire.Number, []byte) error) func(protowire.Number, []byte) error {
	return func(at protowire.Number, bytes []byte) error {
		if at != field {
			return nil
		}
		return walk(bytes, next, nil)
	}
}

func appendNew(list []address, a address) []address {
	if slices.Contains(list, a) {
		return list
	}
	return append(list, a)
}

// readBalance reads one TokenBalance. ok is false if its owner is missing or invalid.
func readBalance(message []byte) (b tokenBalance, ok bool) {
	err := walk(message, func(field protowire.Number, bytes []byte) error {
		switch field {
		case fieldBalanceAmount:
			return walk(bytes, func(field protowire.Number, bytes []byte) error {
				if field == fieldAmountAmount {
					b.amount = string(bytes)
				}
				return nil
			}, nil)
		case fieldBalanceOwner:
			var err error
			b.owner, err = pubkey.Parse(bytes)
			ok = err == nil
		default: // not looked at
		}
		return nil
	}, func(field protowire.Number, number uint64) {
		if field == fieldBalanceAccount {
			b.account = uint64(uint32(number))
		}
	})
	return b, ok && err == nil
}
