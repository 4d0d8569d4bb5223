package swaps

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// ofPool returns a change of pool 1 between two mints.
func ofPool(slot uint64, change func(m *eventspb.LiquidityChange)) *eventspb.LiquidityChange {
	key := func(b byte) []byte { return pubkey.Key{b, 31: 1}.Bytes() }
	m := &eventspb.LiquidityChange{
		Position: &eventspb.Position{Slot: slot, TransactionIndex: proto.Uint32(4)}, BlockTime: 1_700_000_000, Signature: make([]byte, 64), Venue: "venue", ProgramId: key(1),
		Pool: key(2), Added: true, MintA: key(3), MintB: key(4), AmountA: 30, AmountB: 40, DecimalsA: proto.Uint32(3), DecimalsB: proto.Uint32(4), ReserveA: proto.Uint64(33),
		ReserveB: proto.Uint64(44), FeesA: proto.Uint64(1), FeesB: proto.Uint64(2), VaultA: key(5), VaultB: key(6), Provider: key(7), LpMint: key(8), LpAmount: proto.Uint64(9),
		Agreed: 9, Instruction: "deposit",
	}
	if change != nil {
		change(m)
	}
	return m
}

func liquidityRecord(t *testing.T, m proto.Message, offset int64) *kafka.Record {
	t.Helper()
	value, err := proto.Marshal(m)
	require.NoError(t, err)
	return &kafka.Record{Topic: schemas.TopicSwaps, Offset: offset, Value: value, Headers: []kafka.Header{{Key: schemas.HeaderType, Value: []byte(schemas.TypeLiquidity)}}}
}

// TestLiquidityIsStoredOnce: repeats and any order leave one row a change, whose sides are in the
// order of the mints' texts, and a pool with its liquidity tokens' mint.
func TestLiquidityIsStoredOnce(t *testing.T) {
	conn, _ := chtest.Migrated(t)
	const database = schema.Database
	store := NewClickHouse(conn, database)
	require.NoError(t, store.Check(t.Context()))
	var records []*kafka.Record
	for i, m := range []*eventspb.LiquidityChange{
		ofPool(7, nil),
		// The same, from a source that does not tell the index.
		ofPool(7, func(m *eventspb.LiquidityChange) { m.Position.TransactionIndex = nil }),
		ofPool(8, func(m *eventspb.LiquidityChange) {
			m.Added, m.MintA, m.MintB, m.AmountA, m.AmountB, m.LpMint, m.LpAmount = false, m.MintB, m.MintA, m.AmountB, m.AmountA, nil, nil
		}),
		ofPool(9, func(m *eventspb.LiquidityChange) { m.MintB, m.AmountB, m.LpMint = nil, 0, nil }),
	} {
		records = append(records, liquidityRecord(t, m, int64(i)))
	}
	for _, order := range [][]int{{3, 1, 0, 2}, {0, 2, 3, 1}} {
		batch := NewBatch()
		for _, i := range order {
			require.NoError(t, batch.Add(records[i]))
		}
		require.NoError(t, store.Insert(t.Context(), batch))
	}
	var rows []struct {
		Slot    uint64  `ch:"slot"`
		Index   int32   `ch:"transaction_index"`
		Added   bool    `ch:"added"`
		A       uint64  `ch:"amount_a"`
		B       uint64  `ch:"amount_b"`
		First   bool    `ch:"first"`
		Other   bool    `ch:"other"`
		Shares  *uint64 `ch:"lp_amount"`
		Reserve *uint64 `ch:"reserve_a"`
	}
	require.NoError(t, conn.Select(t.Context(), &rows, `SELECT slot, transaction_index, added, amount_a, amount_b, mint_a < mint_b AS first, mint_b != '' AS other, lp_amount, reserve_a
		FROM `+database+`.liquidity_changes ORDER BY slot`))
	require.Len(t, rows, 3)
	require.EqualValues(t, 4, rows[0].Index)
	require.Equal(t, []uint64{rows[0].A, rows[0].B}, []uint64{rows[1].A, rows[1].B}, "the sides are turned")
	require.Equal(t, []bool{true, false, true}, []bool{rows[0].Added, rows[1].Added, rows[2].Added})
	require.True(t, rows[0].First && rows[0].Other && !rows[2].Other)
	require.EqualValues(t, 9, *rows[0].Shares)
	require.Nil(t, rows[1].Shares)
	var pools []struct {
		LPMint string `ch:"lp_mint"`
		Vault  string `ch:"vault_a"`
	}
	require.NoError(t, conn.Select(t.Context(), &pools, "SELECT lp_mint, vault_a FROM "+database+".pools"))
	require.Len(t, pools, 1, "a change of one side tells of no pool")
	require.Equal(t, pubkey.Key{8, 31: 1}.String(), pools[0].LPMint)
	require.NotEmpty(t, pools[0].Vault)
}

// TestForeignChangesAreRefused: what is no message of its type says why.
func TestForeignChangesAreRefused(t *testing.T) {
	for want, m := range map[string]*eventspb.LiquidityChange{
		"a key has 3 bytes":          ofPool(1, func(m *eventspb.LiquidityChange) { m.Pool = m.Pool[:3] }),
		"a key has 0 bytes":          ofPool(1, func(m *eventspb.LiquidityChange) { m.MintA = nil }),
		"no position or no venue":    ofPool(1, func(m *eventspb.LiquidityChange) { m.Venue = "" }),
		"a signature has 5 bytes":    ofPool(1, func(m *eventspb.LiquidityChange) { m.Signature = m.Signature[:5] }),
		"change of liquidity: no po": ofPool(1, func(m *eventspb.LiquidityChange) { m.Position = nil }),
	} {
		require.ErrorContains(t, NewBatch().Add(liquidityRecord(t, m, 0)), want)
	}
	record := liquidityRecord(t, ofPool(1, nil), 0)
	record.Value = record.Value[:len(record.Value)-3]
	require.ErrorContains(t, NewBatch().Add(record), "decode change of liquidity")
}
