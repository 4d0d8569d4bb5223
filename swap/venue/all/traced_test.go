package all_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/all"
)

// TestEveryVenueCanBeTraced: swaps of each are replayed after its program was deployed anew.
func TestEveryVenueCanBeTraced(t *testing.T) {
	for _, v := range all.Venues() {
		require.Equal(t, v.Program(), v.Programs()[0])
		names := v.FeatureNames()
		require.NotEmpty(t, names)
		require.LessOrEqual(t, len(names), 32)
		require.Len(t, venue.Features(1<<len(names)-1).Names(names), len(names))
	}
}

// FuzzTrade: instructions of transactions are hostile.
func FuzzTrade(f *testing.F) {
	for _, tag := range [][]byte{{9}, {16}, {0x66, 0x06, 0x3d, 0x12, 0x01, 0xda, 0xeb, 0xea}, {0xb8, 0x17, 0xee, 0x61, 0x67, 0xc5, 0xd3, 0x3d}, {0x41, 0x4b, 0x3f, 0x4c, 0xeb, 0x5b, 0x5b, 0x88}} {
		f.Add(append(tag, make([]byte, 17)...), uint8(26))
	}
	f.Fuzz(func(t *testing.T, data []byte, accounts uint8) {
		call := venue.Call{Data: data}
		for i := range accounts {
			call.Accounts = append(call.Accounts, swaptest.Named(string(rune(i))))
		}
		for _, v := range all.Venues() {
			trade, ok := v.Trade(call)
			require.True(t, ok || trade == venue.Trade{})
			if ok {
				require.Contains(t, call.Accounts, trade.Pool)
				require.NotEqual(t, trade.Source, trade.Destination)
			}
		}
	})
}
