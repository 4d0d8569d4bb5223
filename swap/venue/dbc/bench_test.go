package dbc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
)

func BenchmarkQuote(b *testing.B) {
	for _, form := range []string{"quote", "both"} {
		for side, name := range []string{"sale", "purchase"} {
			b.Run(form+" "+name, func(b *testing.B) {
				p := &Pool{address: swaptest.Named("pool")}
				var err error
				p.config, err = decodeConfig(account(b, "fee_in_"+form+"_config.bin"))
				require.NoError(b, err)
				p.state, err = decodeState(account(b, "fee_in_"+form+"_pool.bin"))
				require.NoError(b, err)
				p.keys = [2]venue.Key{p.state.coin, p.config.quoteMint}
				for side, key := range p.keys {
					p.mints[side] = &mint.Mint{Address: key, Program: mint.Token}
				}
				o := venue.Order{In: p.keys[side], Amount: 20_000_003, Clock: venue.ClockAt(400_000_000, 1_753_750_263)}
				_, err = p.Quote(o)
				require.NoError(b, err)
				b.ReportAllocs()
				for b.Loop() {
					_, _ = p.Quote(o)
				}
			})
		}
	}
}
