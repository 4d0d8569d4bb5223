package decode_test

import (
	"testing"

	"github.com/mintlake/mintlake/ingest/decode"
)

// BenchmarkSwaps: legs, routes and pools of a parsed block, on one core.
func BenchmarkSwaps(b *testing.B) {
	block := realTransactions(b, "361774429")[0]
	decoder, legs := decode.New(nil), 0
	b.ReportAllocs()
	for b.Loop() {
		legs = 0
		for i := range block.Transactions {
			legs += len(decoder.Swaps(&block.Transactions[i], block.Slot, block.BlockTime).Legs)
		}
	}
	b.ReportMetric(float64(legs*b.N)/b.Elapsed().Seconds(), "legs/s")
}
