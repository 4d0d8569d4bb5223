package clickhouse

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// DatabaseID returns the UUID of a database. No other database has the same, not even one that is
// made later under the same name or is restored from a backup. It is empty if the database's engine
// gives no UUID.
func DatabaseID(ctx context.Context, conn driver.Conn, database string) (id string, err error) {
	err = conn.QueryRow(ctx, "SELECT if(empty(uuid), '', toString(uuid)) FROM system.databases WHERE name = ?", database).Scan(&id)
	if err != nil {
		return "", fmt.Errorf("read the identity of the database %s: %w", database, err)
	}
	return id, nil
}
