package balances

import (
	"context"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Summing calls while, and takes the turn of a sum over all accounts as long as while runs. Only so
// many sums run at one time.
func (c *ClickHouse) Summing(ctx context.Context, while func()) error {
	return c.sums.Ask(ctx, func(context.Context, driver.Conn) error {
		while()
		return nil
	})
}
