package state

import (
	"fmt"
	"testing"
	"time"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/venue"
)

// BenchmarkSlot feeds a slot of 500 swaps on 2,000 held pools, each of three writes, with its block
// and its statuses, and publishes it.
func BenchmarkSlot(b *testing.B) {
	f := NewFold(FoldConfig{}, venue.List{twin{}})
	begin(f)
	pools := make([]twinKeys, 2000)
	for i := range pools {
		pools[i] = newTwin(fmt.Sprint("pool ", i))
		ask(f, pools[i].coin)
		f.Listed(pools[i].keys[0], pools[i].account(0, 0))
	}
	f.Covered(f.Fresh(), 0)
	slot, order := uint64(11), uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		for i := range 500 {
			k := pools[(int(slot)*500+i*3)%len(pools)]
			order++
			for n, key := range k.keys {
				f.Write(Write{Slot: slot, Order: order*4 + uint64(n), Key: key, Transaction: order, Account: k.account(n, order)})
			}
		}
		f.Block(Block{Slot: slot, Parent: slot - 1, UnixTime: 1, At: time.Unix(1, 0)})
		f.Confirmed(slot-1, 0)
		if slot > 43 {
			f.Finalized(slot-32, 0)
		}
		f.Publish()
		_, _ = f.Snapshot().Pair(pools[0].coin, swaptest.WrappedSOL)
		slot++
	}
}
