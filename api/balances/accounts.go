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
		accounts = append(accounts, Account{keyOf(account), keyOf(owner), strconv.FormatUint(amount, 10)})
		return nil
	}, "SELECT account, owner, amount FROM "+accountsNow+" ORDER BY amount DESC, account DESC LIMIT {limit:UInt32}", named("mint", mint.String()), named("limit", limit))
	return accounts, err
}
