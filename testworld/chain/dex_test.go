package chain

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Pools of every program trade, are born and are drained while the chain runs.
func TestEveryVenueTrades(t *testing.T) {
	g, err := New(testConfig())
	require.NoError(t, err)
	swaps, failed, born, drained := map[Key]int{}, map[Key]int{}, 0, 0
	for range 120 {
		s, _ := g.Next(nil)
		if s.Kind != Live {
			continue
		}
		for _, tx := range s.Block.Txs {
			for _, ix := range tx.Message.Instructions {
				program := tx.Message.AccountKeys()[ix.Program]
				switch program {
				case AMMv4Program, PumpSwapProgram, DAMMv2Program, CPMMProgram, CLMMProgram:
				default:
					continue
				}
				if tx.Meta.Err != nil {
					failed[program]++
					continue
				}
				swaps[program]++
				switch {
				case program == PumpSwapProgram && [8]byte(ix.Data) == pumpCreate:
					born++
				case program == PumpSwapProgram && [8]byte(ix.Data) == pumpWithdraw:
					drained++
				}
			}
		}
	}
	for program, n := range swaps {
		require.Greater(t, n, 50, program)
		require.Less(t, failed[program], n/2, program)
	}
	require.Len(t, swaps, 5)
	require.Positive(t, born)
	require.Positive(t, drained)
}
