// Package tables makes ClickHouse's tables agree with the log that they are made of.
//
// In: the log, and what its readers have committed. Out: tables of the newest version, and rows
// that are made anew. Guarantees: no row is dropped that the log cannot make again; what is half
// done when the process ends is done again.
package tables

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/internal/meter"
	"github.com/mintlake/mintlake/operate/eventlog"
)

// Tables are ClickHouse's tables beside their log.
type Tables struct {
	eventlog.Kafka

	Conn driver.Conn
	// Cluster is the name of the ClickHouse cluster; empty for a single server.
	Cluster string
	Logger  *slog.Logger
	// Progress may be nil.
	Progress meter.Meter
}

// EmptyGroupWait is how long a command waits for a group to lose its last member. It is longer than
// Kafka keeps a killed member in the group, which is its session.
const EmptyGroupWait = time.Minute

// Drop drops a database with its tables, in the whole cluster.
func (t *Tables) Drop(ctx context.Context, database string) error {
	drop := "DROP DATABASE IF EXISTS " + database
	if t.Cluster != "" {
		drop += " ON CLUSTER '" + t.Cluster + "'"
	}
	if err := t.Conn.Exec(ctx, drop+" SYNC"); err != nil {
		return fmt.Errorf("drop database %s: %w", database, err)
	}
	return nil
}
