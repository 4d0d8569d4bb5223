package clickhouse

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// DatabaseID returns the identity of a database, which no other has: not even one of the same name
// that is made later, or is restored from its backup. It is empty if the database's engine gives
// none.
func DatabaseID(ctx context.Context, conn driver.Conn, database string) (id string, err error) {
	err = conn.QueryRow(ctx, "SELECT if(empty(uuid), '', toString(uuid)) FROM system.databases WHERE name = ?", database).Scan(&id)
	if err != nil {
		return "", fmt.Errorf("read the identity of the database %s: %w", database, err)
	}
	return id, nil
}
