package balances

import (
	"context"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Summing calls while as one of the sums over all accounts, of which only so many run at once.
func (c *ClickHouse) Summing(ctx context.Context, while func()) error {
	return c.sums.Ask(ctx, func(context.Context, driver.Conn) error {
		while()
		return nil
	})
}
