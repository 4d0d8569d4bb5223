package projector_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/projector"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// TestTheHistoryNamesEveryRegister: the view shows each by the name that registry gives it.
func TestTheHistoryNamesEveryRegister(t *testing.T) {
	conn, _ := migrated(t)
	var registers []registry.Register
	for register := registry.RegisterProgram; register.Name() != ""; register++ {
		registers = append(registers, register)
		require.NoError(t, conn.Exec(t.Context(), fmt.Sprintf("INSERT INTO mintlake.token_fact_history_raw (mint, slot, facts) VALUES ('m', %d, [(%d, '', '')])", register, register)))
	}
	rows, err := conn.Query(t.Context(), "SELECT register, register_name FROM mintlake.token_fact_history WHERE mint = 'm' ORDER BY register")
	require.NoError(t, err)
	defer rows.Close()
	var named []registry.Register
	for rows.Next() {
		var register uint8
		var name string
		require.NoError(t, rows.Scan(&register, &name))
		require.Equal(t, registry.Register(register).Name(), name)
		named = append(named, registry.Register(register))
	}
	require.NoError(t, rows.Err())
	require.Equal(t, registers, named)
}

// storedHistory is every row of the view: which message, where it stands, what it stated.
func storedHistory(t require.TestingT, conn driver.Conn) []string {
	rows, err := conn.Query(context.Background(), `SELECT formatRowNoNewline('TSV', mint, slot, signature, kind, source, position, transaction_index,
		toUnixTimestamp(block_time), register, item, value) AS row FROM mintlake.token_fact_history ORDER BY row`)
	require.NoError(t, err)
	defer rows.Close()
	var list []string
	for rows.Next() {
		var row string
		require.NoError(t, rows.Scan(&row))
		list = append(list, row)
	}
	require.NoError(t, rows.Err())
	return list
}

// history is what storedHistory shall be: the facts of each message once, however often it came.
func history(messages []registrytest.Message) []string {
	escape := strings.NewReplacer("\\", "\\\\", "\t", "\\t", "\n", "\\n", "\r", "\\r", "\x00", "\\0", "'", "\\'", "\b", "\\b", "\f", "\\f")
	var list []string
	for _, s := range batchOf(messages).Statements {
		blockTime := "\\N"
		if s.BlockTime > 0 {
			blockTime = strconv.FormatInt(s.BlockTime, 10)
		}
		for _, fact := range s.Facts {
			list = append(list, strings.Join([]string{
				s.Mint.String(), strconv.FormatUint(s.Position.Slot, 10), s.Signature, s.Kind, s.Source, s.Position.BigInt().String(),
				strconv.Itoa(int(s.TransactionIndex)), blockTime, strconv.Itoa(int(fact.Register)), escape.Replace(fact.Item), escape.Replace(fact.Value),
			}, "\t"))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// TestHistoryCompletesAnInstruction: of two copies one knows the place in the block, the other the
// time; they are one row.
func TestHistoryCompletesAnInstruction(t *testing.T) {
	conn, store := migrated(t)
	inner, index := uint32(3), uint32(7)
	event := func(transaction *uint32, blockTime int64) *eventspb.TokenEvent {
		return &eventspb.TokenEvent{
			Position:  &eventspb.Position{Slot: 9, TransactionIndex: transaction, InstructionIndex: 1, InnerInstructionIndex: &inner},
			BlockTime: blockTime, Signature: slices.Repeat([]byte{5}, 64), ProgramId: registrytest.Mint(5), Mint: registrytest.Mint(1),
			Instruction: "MintTo", Payload: &eventspb.TokenEvent_MintTo{MintTo: &eventspb.AmountChange{Amount: 7}},
		}
	}
	copies := []*eventspb.TokenEvent{event(nil, 1_700_000_000), event(&index, 0)}
	for _, order := range [][]int{{0, 1}, {1, 0}, {0, 1, 0}} {
		truncate(t, conn)
		for _, i := range order {
			batch := &projector.Batch{}
			batch.AddEvent(copies[i])
			require.NoError(t, store.Write(t.Context(), batch))
		}
		rows, err := conn.Query(t.Context(), `SELECT concat(register_name, ' ', value, ' ', toString(tuple(slot, block_time, source, kind, instruction,
			transaction_index, instruction_index, inner_instruction_index, batch_index))) FROM mintlake.token_fact_history ORDER BY register`)
		require.NoError(t, err)
		var got []string
		for rows.Next() {
			var row string
			require.NoError(t, rows.Scan(&row))
			got = append(got, row)
		}
		require.NoError(t, rows.Err())
		place := ` (9,'2023-11-14 22:13:20','instruction','mint_to','MintTo',7,1,3,-1)`
		require.Equal(t, []string{"supply_delta 7" + place, "first_seen 1700000000000" + place, "last_seen 1700000000000" + place}, got)
	}
}

// TestHistoryByMintIsAPointRead: the view hands the mint down to the sorting key.
func TestHistoryByMintIsAPointRead(t *testing.T) {
	conn, store := migrated(t)
	batch := &projector.Batch{}
	batch.AddEvent(&eventspb.TokenEvent{Position: &eventspb.Position{Slot: 9}, Mint: registrytest.Mint(1), BlockTime: 1})
	require.NoError(t, store.Write(t.Context(), batch)) // an empty table has no plan
	rows, err := conn.Query(t.Context(), "EXPLAIN indexes = 1 SELECT * FROM mintlake.token_fact_history WHERE mint = 'x' AND slot <= 5")
	require.NoError(t, err)
	plan := ""
	for rows.Next() {
		var line string
		require.NoError(t, rows.Scan(&line))
		plan += line + "\n"
	}
	require.NoError(t, rows.Err())
	require.Regexp(t, `PrimaryKey\s+Keys:\s+mint\s+slot`, plan)
}
