package balances

import (
	"context"
	"strconv"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Account is an open token account of a mint.
type Account struct {
	Account pubkey.Key
	// Owner is the zero key if the source did not tell the owner.
	Owner pubkey.Key
	// Amount is raw, a decimal number.
	Amount string
	AccountState
}

// AccountState is who may spend from an account, and whether it is frozen. What is nil is not
// known.
type AccountState struct {
	Frozen *bool
	// Delegate is the zero key if nobody may spend.
	Delegate *pubkey.Key
	// DelegatedAmount is how much the delegate may spend, raw.
	DelegatedAmount *uint64
}

// Accounts implements Reader.
func (c *ClickHouse) Accounts(ctx context.Context, mint pubkey.Key, limit int) ([]Account, error) {
	accounts := []Account{}
	err := c.read(ctx, c.public, func(rows driver.Rows) error {
		var account, owner string
		var amount uint64
		if err := rows.Scan(&account, &owner, &amount); err != nil {
			return err
		}
		accounts = append(accounts, Account{Account: keyOf(account), Owner: keyOf(owner), Amount: strconv.FormatUint(amount, 10)})
		return nil
	}, "SELECT account, owner, amount FROM "+accountsNow+" ORDER BY amount DESC, account DESC LIMIT {limit:UInt32}", named("mint", mint.String()), named("limit", limit))
	if err != nil || len(accounts) == 0 {
		return accounts, err
	}
	return accounts, c.enterStates(ctx, mint, accounts)
}

// enterStates sets the states of accounts of a mint.
func (c *ClickHouse) enterStates(ctx context.Context, mint pubkey.Key, accounts []Account) error {
	keys, place := make([]string, len(accounts)), make(map[pubkey.Key]*Account, len(accounts))
	for i := range accounts {
		keys[i], place[accounts[i].Account] = accounts[i].Account.String(), &accounts[i]
	}
	return c.read(ctx, c.public, func(rows driver.Rows) error {
		var key string
		var delegate *string
		var state AccountState
		if err := rows.Scan(&key, &state.Frozen, &delegate, &state.DelegatedAmount); err != nil {
			return err
		}
		if delegate != nil {
			state.Delegate = &pubkey.Key{}
			if *delegate != "" {
				who, err := pubkey.Parse(*delegate)
				if err != nil {
					return err
				}
				state.Delegate = &who
			}
		}
		if account := place[keyOf(key)]; account != nil {
			account.AccountState = state
		}
		return nil
	}, `SELECT account_key, is_frozen, delegate, delegated_amount FROM {db}.account_states
		WHERE mint = {mint:String} AND account_key IN (SELECT toFixedString(base58Decode(arrayJoin({accounts:Array(String)})), 32))`,
		named("mint", mint.String()), named("accounts", keys))
}
