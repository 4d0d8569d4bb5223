package holdings

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/holders"
	"github.com/mintlake/mintlake/holders/bases"
	"github.com/mintlake/mintlake/ingest/balances"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
	store "github.com/mintlake/mintlake/projector/balances"
	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
	"github.com/mintlake/mintlake/schemas/eventspb"
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
	bytesOfBase(t, conn)
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

// written is a log that only a base is written to, in one partition.
type written struct{ records []kafka.Record }

func (w *written) Produce(_ context.Context, records ...kafka.Record) error {
	w.records = append(w.records, records...)
	return nil
}

func (w *written) EndOffsets(context.Context, []string) (map[kafka.TopicPartition]int64, error) {
	return map[kafka.TopicPartition]int64{{Topic: schemas.TopicBalanceBases}: 0}, nil
}

func (w *written) StartOffsets(ctx context.Context, topics []string) (map[kafka.TopicPartition]int64, error) {
	return w.EndOffsets(ctx, topics)
}

func (w *written) CommittedOffsets(ctx context.Context, _ string, topics []string) (map[kafka.TopicPartition]int64, error) {
	return w.EndOffsets(ctx, topics)
}

// bytesOfBase measures a base of the tables.
func bytesOfBase(t *testing.T, conn driver.Conn) {
	t.Helper()
	counts, err := holders.New(holders.Deps{Store: holders.NewClickHouse(conn, schema.Database), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	require.NoError(t, counts.Once(t.Context()))
	log := &written{}
	room, err := bases.New(time.Hour, bases.Deps{Store: bases.NewClickHouse(conn, schema.Database), Producer: log, Offsets: log, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	base, err := room.Once(t.Context())
	require.NoError(t, err)
	encoder, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	var accounts, marks []byte
	for _, record := range log.records {
		part := new(eventspb.BalanceBase)
		require.NoError(t, proto.Unmarshal(record.Value, part))
		body := slices.Concat(record.Key, record.Value, make([]byte, overhead))
		if part.GetMark() == nil {
			accounts = append(accounts, body...)
		} else {
			marks = append(marks, body...)
		}
	}
	ofAccount, ofMint := float64(len(encoder.EncodeAll(accounts, nil)))/float64(base.Accounts), float64(len(encoder.EncodeAll(marks, nil)))/float64(base.Mints)
	t.Logf("base: %d accounts of %d mints, %.1f bytes of an account, %.1f of a mint", base.Accounts, base.Mints, ofAccount, ofMint)
	require.Greater(t, base.Accounts, uint64(300))
	require.Less(t, ofAccount, 200.)
	require.Less(t, ofMint, 100.)
}
