package projector_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/projector"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

func TestTokenEventsFallTogether(t *testing.T) {
	conn, store := migrated(t)
	inner, index := uint32(3), uint32(7)
	event := &eventspb.TokenEvent{
		Position:    &eventspb.Position{Slot: 9, InstructionIndex: 1, InnerInstructionIndex: &inner},
		BlockTime:   1_700_000_000,
		Signature:   slices.Repeat([]byte{5}, 64),
		ProgramId:   registrytest.Mint(5),
		Mint:        registrytest.Mint(1),
		Instruction: "MintToChecked",
		Payload:     &eventspb.TokenEvent_MintTo{MintTo: &eventspb.AmountChange{Amount: 1<<64 - 1, Decimals: new(uint32)}},
	}
	write := func() {
		require.NoError(t, store.Write(t.Context(), &projector.Batch{TokenEvents: []*eventspb.TokenEvent{event}}))
	}
	write()
	write()
	require.Equal(t, "1 -1 1 3 -1 mint_to MintToChecked 18446744073709551615", summary(t, conn))
	event.Position.TransactionIndex = &index
	write()
	require.Equal(t, "1 7 1 3 -1 mint_to MintToChecked 18446744073709551615", summary(t, conn), "a known index beats an unknown one")
	event.Position.TransactionIndex = nil
	write()
	require.Equal(t, "1 7 1 3 -1 mint_to MintToChecked 18446744073709551615", summary(t, conn))
}

func summary(t *testing.T, conn driver.Conn) string {
	t.Helper()
	var count uint64
	var transaction int32
	var outer uint16
	var inner, batch int16
	var kind, instruction string
	var amount *uint64
	row := conn.QueryRow(t.Context(), `SELECT count() OVER (), transaction_index, instruction_index, inner_instruction_index, batch_index,
		kind, instruction, amount FROM mintlake.token_events`)
	require.NoError(t, row.Scan(&count, &transaction, &outer, &inner, &batch, &kind, &instruction, &amount))
	return fmt.Sprint(count, " ", transaction, " ", outer, " ", inner, " ", batch, " ", kind, " ", instruction, " ", *amount)
}
