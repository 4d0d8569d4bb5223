package audit

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/chtest"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

func TestMain(m *testing.M) { os.Exit(chtest.Main(m)) }

func TestClickHouseIsARegistry(t *testing.T) {
	conn, _ := chtest.Start(t)
	ctx := t.Context()
	chtest.Migrate(t, conn, "audited")
	t.Cleanup(func() { require.NoError(t, conn.Exec(context.Background(), "DROP DATABASE audited SYNC")) })
	c := NewClickHouse(conn, "audited")

	slot, err := c.Slot(ctx)
	require.NoError(t, err)
	require.Zero(t, slot)
	require.NoError(t, conn.Exec(ctx, "INSERT INTO audited.slots_raw (slot, status) VALUES (7, 'ingested'), (8, 'skipped'), (9, 'dead')"))
	slot, err = c.Slot(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 8, slot)

	require.NoError(t, conn.Exec(ctx, `INSERT INTO audited.tokens_raw (mint, name, symbol, supply, mint_authority, is_token22, is_member, facts, row_version)
		SELECT base58Encode(leftPad(toString(number), 32, 'm')), 'n', 's', 18446744073709551615, NULL, true, number != 99,
			[(3, 'i', bitOr(bitShiftLeft(toUInt128(5), 64), toUInt128(18446744073709551614)), 'v')], 1 FROM numbers(100)`))
	all, err := c.Sample(ctx, 0, 1)
	require.NoError(t, err)
	require.Len(t, all, 99, "members only")
	first, err := c.Sample(ctx, 10, 1)
	require.NoError(t, err)
	require.Equal(t, all[:10], first)
	other, err := c.Sample(ctx, 10, 2)
	require.NoError(t, err)
	require.NotEqual(t, first, other)

	third, last := pubkey.Key([]byte(strings.Repeat("m", 31)+"3")), pubkey.Key([]byte(strings.Repeat("m", 30)+"99"))
	rows, err := c.Rows(ctx, []pubkey.Key{third, last, {}})
	require.NoError(t, err)
	require.Len(t, rows, 2)
	require.Equal(t, []registry.Fact{{
		Mint: third, Register: registry.RegisterSupply, Item: "i", Position: schemas.Position{Slot: 5, Order: 1<<64 - 2}, Value: "v",
	}}, rows[third].Facts)
	require.Equal(t, "18446744073709551615", rows[third].Columns["supply"])
	require.Equal(t, schemas.ProgramToken2022, rows[third].Columns["program"])
	require.Empty(t, rows[third].Columns["mint_authority"])
}
