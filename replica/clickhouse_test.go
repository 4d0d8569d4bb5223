package replica_test

import (
	"context"
	"errors"
	"math"
	"math/big"
	"sync"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// TestSnapshotFromTheRealEngine: facts come back as they were stored, of the newest row of each
// mint, the widest positions too.
func TestSnapshotFromTheRealEngine(t *testing.T) {
	conn, dsn := chtest.Start(t)
	database, err := clickhouse.Database(dsn)
	require.NoError(t, err)
	chtest.Migrate(t, conn, database)

	facts := func(mint pubkey.Key) []registry.Fact {
		return []registry.Fact{
			{Mint: mint, Register: registry.RegisterDecimals, Position: schemas.Position{Slot: 5, Order: 1<<63 + 7}, Value: "6"},
			{Mint: mint, Register: registry.RegisterMetaplexName, Position: schemas.EndOfSlot(9), Value: "näme \x00\xff"},
			{Mint: mint, Register: registry.RegisterExtension, Item: "transfer_fee_config", Position: schemas.Position{}, Value: `{"a":"b"}`},
			{Mint: mint, Register: registry.RegisterFirstSeen, Position: schemas.Position{Slot: 5, Order: 3}.Reverse(), Value: "1700000000000"},
			{Mint: mint, Register: registry.RegisterLastSeen, Position: schemas.Position{Slot: math.MaxUint64, Order: math.MaxUint64}, Value: ""},
		}
	}
	insert := func(mint string, version int64, facts []registry.Fact) {
		tuples := [][]any{}
		for _, f := range facts {
			tuples = append(tuples, []any{uint8(f.Register), f.Item, f.Position.BigInt(), f.Value})
		}
		batch, err := conn.PrepareBatch(t.Context(), "INSERT INTO "+database+".tokens_raw (mint, facts, row_version)")
		require.NoError(t, err)
		require.NoError(t, batch.Append(mint, tuples, big.NewInt(version)))
		require.NoError(t, batch.Send())
	}
	key, bare := pubkey.Key{1}, pubkey.Key{2}
	insert(key.String(), 2, facts(key))
	insert(key.String(), 1, facts(key)[:1])
	insert(bare.String(), 1, nil)
	insert("no key", 1, facts(key)) // the projector writes no such mint

	opened := 0
	snapshot := replica.NewClickHouse(func(ctx context.Context) (driver.Conn, error) {
		opened++
		return clickhouse.Open(ctx, dsn)
	}, database)
	for _, c := range []struct {
		asked []pubkey.Key
		want  map[pubkey.Key][]registry.Fact
	}{
		{nil, map[pubkey.Key][]registry.Fact{key: facts(key), bare: {}}},
		{[]pubkey.Key{key, {3}}, map[pubkey.Key][]registry.Fact{key: facts(key)}},
	} {
		got := map[pubkey.Key][]registry.Fact{}
		var mu sync.Mutex
		require.NoError(t, snapshot.Load(t.Context(), c.asked, func(mint pubkey.Key, facts []registry.Fact) {
			mu.Lock()
			defer mu.Unlock()
			got[mint] = append([]registry.Fact{}, facts...)
		}))
		require.Equal(t, c.want, got)
	}
	require.Equal(t, 2, opened)

	missing := replica.NewClickHouse(func(ctx context.Context) (driver.Conn, error) { return clickhouse.Open(ctx, dsn) }, "nothing_here")
	require.Error(t, missing.Load(t.Context(), nil, nil))
	away := replica.NewClickHouse(func(context.Context) (driver.Conn, error) { return nil, errors.New("away") }, database)
	require.ErrorContains(t, away.Load(t.Context(), nil, nil), "load snapshot: away")
}
