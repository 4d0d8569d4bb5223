package venue

import (
	"sync/atomic"

	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/mint"
)

// Memo keeps what was parsed of an account, as many pools need the same mint or config. The zero
// value is empty. It is safe for concurrent use.
type Memo struct {
	value atomic.Pointer[any]
}

// Config returns what decode makes of the data of an account that must exist and belong to a
// program. Pools share the result, so it must not be changed. The result is kept by address and
// type T, so all calls for an address must decode a T in the same way.
func Config[T any](state State, key, program Key, decode func(data []byte) (*T, error)) (*T, error) {
	data, err := Owned(state, key, program)
	if err != nil {
		return nil, err
	}
	return once(state, key, func() (*T, error) { return decode(data) })
}

// Mint returns a parsed mint account. The error wraps mint.ErrUntradable, or is ErrUnread.
func Mint(state State, key Key) (*mint.Mint, error) {
	account, held := state.Account(key)
	if !held {
		return nil, ErrUnread
	}
	return once(state, key, func() (*mint.Mint, error) { return mint.Parse(key, account) })
}

// once returns the T that the account's Memo has kept. If there is none, it returns the result of
// parse, and keeps it.
func once[T any](state State, key Key, parse func() (*T, error)) (*T, error) {
	memo := state.Memo(key)
	if memo == nil {
		return parse()
	}
	if kept := memo.value.Load(); kept != nil {
		if value, ok := (*kept).(*T); ok {
			return value, nil
		}
	}
	value, err := parse()
	if err == nil {
		var kept any = value
		memo.value.Store(&kept)
	}
	return value, err
}

// Accounts is a State of accounts that were read by one call. It is not safe for concurrent use.
type Accounts struct {
	read  map[Key]*solana.Account
	memos map[Key]*Memo
}

// NewAccounts returns a state of the accounts in read, where nil stands for an account that does
// not exist.
func NewAccounts(read map[Key]*solana.Account) *Accounts {
	return &Accounts{read, map[Key]*Memo{}}
}

// Account implements State.
func (a *Accounts) Account(key Key) (*solana.Account, bool) {
	account, held := a.read[key]
	return account, held
}

// Memo implements State.
func (a *Accounts) Memo(key Key) *Memo {
	if a.memos[key] == nil {
		a.memos[key] = &Memo{}
	}
	return a.memos[key]
}
