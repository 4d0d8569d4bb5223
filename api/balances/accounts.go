package balances

import (
	"context"
	"encoding/hex"
	"strconv"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Account is an open token account of a mint.
type Account struct {
	Mint    pubkey.Key
	Account pubkey.Key
	// Owner is the zero key if the source did not tell the owner.
	Owner pubkey.Key
	// Amount is raw, a decimal number.
	Amount string
	AccountState
}

// AccountState is who may spend from an account, and whether it is frozen. A nil field is not
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
		accounts = append(accounts, Account{Mint: mint, Account: keyOf(account), Owner: keyOf(owner), Amount: strconv.FormatUint(amount, 10)})
		return nil
	}, "SELECT account, owner, amount FROM "+accountsNow+" ORDER BY amount DESC, account DESC LIMIT {limit:UInt32}", clickhouse.Named("mint", mint.String()), clickhouse.Named("limit", limit))
	if err != nil || len(accounts) == 0 {
		return accounts, err
	}
	return accounts, c.enterStates(ctx, accounts)
}

// AccountCursor is an account's place among the accounts of an owner. The zero value is before all
// accounts.
type AccountCursor struct{ mint, account pubkey.Key }

// AccountCursorOf returns the place of an account.
func AccountCursorOf(a *Account) AccountCursor { return AccountCursor{a.Mint, a.Account} }

// String returns mint and account in hexadecimal digits.
func (c AccountCursor) String() string { return hex.EncodeToString(append(c.mint[:], c.account[:]...)) }

// ParseAccountCursor is the inverse of String.
func ParseAccountCursor(text string) (c AccountCursor, err error) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != 2*pubkey.Size {
		return c, errCursor
	}
	return AccountCursor{pubkey.Key(raw), pubkey.Key(raw[pubkey.Size:])}, nil
}

// OwnerAccounts implements Reader.
func (c *ClickHouse) OwnerAccounts(ctx context.Context, owner pubkey.Key, mint *pubkey.Key, after AccountCursor, limit int) ([]Account, error) {
	where, args := "", []any{clickhouse.Named("owner", owner.String()), clickhouse.Named("limit", limit)}
	if mint != nil {
		where, args = " AND mint = {mint:String}", append(args, clickhouse.Named("mint", mint.String()))
	}
	if after != (AccountCursor{}) {
		where += " AND (mint > {after:String} OR mint = {after:String} AND account > toFixedString(base58Decode({behind:String}), 32))"
		args = append(args, clickhouse.Named("after", after.mint.String()), clickhouse.Named("behind", after.account.String()))
	}
	accounts := []Account{}
	err := c.read(ctx, c.public, func(rows driver.Rows) error {
		var text, account string
		var amount uint64
		if err := rows.Scan(&text, &account, &amount); err != nil {
			return err
		}
		parsed, err := pubkey.Parse(text)
		accounts = append(accounts, Account{Mint: parsed, Account: keyOf(account), Owner: owner, Amount: strconv.FormatUint(amount, 10)})
		return err
	}, "SELECT mint, account, amount FROM {db}.wallet_accounts_raw FINAL WHERE owner = {owner:String} AND open"+where+" ORDER BY mint, account LIMIT {limit:UInt32}", args...)
	if err != nil || len(accounts) == 0 {
		return accounts, err
	}
	return accounts, c.enterStates(ctx, accounts)
}

// allMints stands in place of a mint in chain.balances.v1 and balance_mints_raw. It says that all
// accounts of all mints were read.
var allMints = pubkey.Key{}.String()

// AllSince implements Reader.
func (c *ClickHouse) AllSince(ctx context.Context) (slot uint64, err error) {
	err = c.read(ctx, c.public, func(rows driver.Rows) error {
		var whole, reached, extent uint64
		if err := rows.Scan(&slot, &whole, &reached, &extent); err != nil {
			return err
		}
		// Nothing is known before the first look for missing slots (reached is 0), if slots are
		// missing since the read (whole is the slot after them), or if the last slot with balances
		// has those of some mints only (extent is not 1).
		if reached == 0 || slot < whole || extent != 1 {
			slot = 0
		}
		return nil
	}, `SELECT ifNull((SELECT max(based) FROM {db}.balance_mints_raw WHERE mint = {all:String}), 0), ifNull((SELECT max(whole) FROM {db}.balance_reach_raw FINAL), 0),
		(SELECT count() FROM {db}.balance_reach_raw), ifNull((SELECT balances FROM {db}.slots_raw WHERE balances > 0 ORDER BY slot DESC LIMIT 1), 0)`, clickhouse.Named("all", allMints))
	return slot, err
}

// enterStates sets AccountState of each of the accounts.
func (c *ClickHouse) enterStates(ctx context.Context, accounts []Account) error {
	mints, keys, byKey := make([]string, len(accounts)), make([]string, len(accounts)), make(map[pubkey.Key]*Account, len(accounts))
	for i := range accounts {
		mints[i], keys[i], byKey[accounts[i].Account] = accounts[i].Mint.String(), accounts[i].Account.String(), &accounts[i]
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
		if account := byKey[keyOf(key)]; account != nil {
			account.AccountState = state
		}
		return nil
	}, `SELECT account_key, is_frozen, delegate, delegated_amount FROM {db}.account_states
		WHERE (mint, account_key) IN (SELECT pair.1, toFixedString(base58Decode(pair.2), 32)
			FROM (SELECT arrayJoin(arrayZip({mints:Array(String)}, {accounts:Array(String)})) AS pair))`, clickhouse.Named("mints", mints), clickhouse.Named("accounts", keys))
}
