package chain

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Pools of every program trade, are born and are drained while the chain runs.
func TestEveryVenueTrades(t *testing.T) {
	g, err := New(testConfig())
	require.NoError(t, err)
	swaps, failed := map[Key]int{}, map[Key]int{}
	// Of pools that are born and drained: what makes them and ends them.
	created := map[Key][8]byte{PumpSwapProgram: pumpCreate, WhirlpoolProgram: whirlIncrease, DLMMProgram: dlmmAdd}
	ended := map[Key][8]byte{PumpSwapProgram: pumpWithdraw, WhirlpoolProgram: whirlDecrease, DLMMProgram: dlmmRemove}
	born, drained := map[Key]int{}, map[Key]int{}
	for range 200 {
		s, _ := g.Next(nil)
		if s.Kind != Live {
			continue
		}
		for _, tx := range s.Block.Txs {
			for _, ix := range tx.Message.Instructions {
				program := tx.Message.AccountKeys()[ix.Program]
				switch program {
				case AMMv4Program, PumpSwapProgram, DAMMv2Program, CPMMProgram, CLMMProgram, WhirlpoolProgram, DLMMProgram:
				default:
					continue
				}
				if tx.Meta.Err != nil {
					failed[program]++
					continue
				}
				swaps[program]++
				if len(ix.Data) >= 8 {
					if tag := [8]byte(ix.Data); tag == created[program] {
						born[program]++
					} else if tag == ended[program] {
						drained[program]++
					}
				}
			}
		}
	}
	for program, n := range swaps {
		require.Greater(t, n, 50, program)
		require.Less(t, failed[program], n/2, program)
	}
	require.Len(t, swaps, 7)
	require.Len(t, born, len(created))
	require.Len(t, drained, len(ended))
}
