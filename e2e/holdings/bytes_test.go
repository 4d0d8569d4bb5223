package holdings

import (
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/ingest/balances"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
	store "github.com/mintlake/mintlake/projector/balances"
	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
)

// overhead is what a record has beside key and value before compression: its headers (type, schema
// version, position, time of receipt) and its frame.
const overhead = 110

// TestBytesOfBalances measures what docs/sizing.md says of the three recorded blocks, of slots of
// 400 ms: how many changes and transfers they have, and their bytes on disk: in topics a batch a
// block with zstd, in tables after all merges. go test -v -run TestBytesOfBalances prints them.
func TestBytesOfBalances(t *testing.T) {
	blocks := read(t, testkit.Shared(t, "data/blocks"))
	encoder, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	maker, batch := balances.New(nil), store.NewBatch()
	changes, transfers := 0, 0
	topics := map[string]int{}
	for _, block := range blocks {
		facts := maker.Of(block)
		bodies := map[string][]byte{}
		put := func(topic string, message proto.Message, mint []byte) {
			value, err := proto.Marshal(message)
			require.NoError(t, err)
			require.NoError(t, batch.Add(&kafka.Record{Topic: topic, Value: value}))
			bodies[topic] = append(append(append(bodies[topic], mint...), value...), make([]byte, overhead)...)
		}
		for _, message := range facts.Balances {
			changes += len(message.GetChanges())
			put(schemas.TopicBalances, message, message.GetMint())
		}
		for _, message := range facts.Transfers {
			transfers += len(message.GetTransfers())
			put(schemas.TopicTransfers, message, message.GetMint())
		}
		for topic, body := range bodies {
			topics[topic] += len(encoder.EncodeAll(body, nil))
		}
	}
	require.Greater(t, changes, 500)
	t.Logf("%d blocks, %d changes, %d transfers", len(blocks), changes, transfers)
	of := map[string]int{schemas.TopicBalances: changes, schemas.TopicTransfers: transfers}
	for topic, bytes := range topics {
		t.Logf("%s: %.1f bytes of each", topic, float64(bytes)/float64(of[topic]))
		require.Less(t, bytes/of[topic], 300, topic)
	}
	conn, _ := chtest.Migrated(t)
	require.NoError(t, store.NewClickHouse(conn, schema.Database).Insert(t.Context(), batch))
	for _, table := range []string{
		"balance_changes_raw", "token_accounts_raw", "wallet_accounts_raw", "account_states_raw", "delegate_spends_raw", "transfers_raw", "wallet_transfers_raw",
	} {
		require.NoError(t, conn.Exec(t.Context(), "OPTIMIZE TABLE mintlake."+table+" FINAL"))
		var rows, bytes uint64
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT sum(rows), sum(bytes_on_disk) FROM system.parts WHERE database = 'mintlake' AND table = ? AND active", table).Scan(&rows, &bytes))
		t.Logf("%s: %d rows, %.1f bytes of each", table, rows, float64(bytes)/float64(max(rows, 1)))
		if rows > 50 { // a part of few rows is mostly its own description
			require.Less(t, bytes/rows, uint64(400), table)
		}
	}
}
