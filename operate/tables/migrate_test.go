package tables

import (
	"io/fs"
	"log/slog"
	"os"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
	"github.com/mintlake/mintlake/operate/eventlog"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
)

func TestMain(m *testing.M) { os.Exit(chtest.Main(m)) }

// TestAKilledFirstMigrationLeavesNothingOutdated: the next start finds tables, but no earlier
// version has made rows of them.
func TestAKilledFirstMigrationLeavesNothingOutdated(t *testing.T) {
	conn, _ := chtest.Start(t)
	brokers := kafkatest.Start(t)
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: brokers}, kafka.Deps{})
	require.NoError(t, err)
	defer admin.Close()
	tables := &Tables{Kafka: eventlog.Kafka{Brokers: brokers, Admin: admin}, Conn: conn, Logger: slog.New(slog.DiscardHandler)}

	names, err := fs.Glob(schema.Migrations, "migrations/*.sql")
	require.NoError(t, err)
	done := fstest.MapFS{}
	for _, name := range names[:3] {
		text, err := fs.ReadFile(schema.Migrations, name)
		require.NoError(t, err)
		done[name[len("migrations/"):]] = &fstest.MapFile{Data: text}
	}
	_, err = clickhouse.Migrate(t.Context(), conn, done, clickhouse.Options{Database: schema.Database, Sharding: schema.Sharding()})
	require.NoError(t, err)
	require.NoError(t, tables.Migrate(t.Context()))
	renew, err := tables.Renewal(t.Context(), kafka.GroupConsumerConfig{})
	require.NoError(t, err)
	require.Nil(t, renew)

	// Rows of which nobody noted the rules are an earlier version's.
	require.NoError(t, conn.Exec(t.Context(), "TRUNCATE TABLE mintlake.table_rules"))
	require.NoError(t, conn.Exec(t.Context(), "INSERT INTO mintlake.token_facts_raw (mint) VALUES ('x')"))
	require.NoError(t, tables.Migrate(t.Context()))
	renew, err = tables.Renewal(t.Context(), kafka.GroupConsumerConfig{})
	require.NoError(t, err)
	require.NotNil(t, renew)
}
