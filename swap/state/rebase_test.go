package state

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
)

// TestABaseChangesNothing: two folds are told the same, and one gets a new base now and then. Both
// want the same accounts, and know the same of each pair.
func TestABaseChangesNothing(t *testing.T) {
	cfg, venues := FoldConfig{MaxPools: 6}, venue.List{twin{}, mute{}}
	onBase, quoted := 0, 0
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 2))
		plain, based := NewFold(cfg, venues), NewFold(cfg, venues)
		begin(plain)
		begin(based)
		var written *Checkpoint
		for slot := uint64(11); slot < 250; slot++ {
			dice := random.Uint64()
			for _, f := range []*Fold{plain, based} {
				c := newCrowd(rand.New(rand.NewPCG(dice, 3)))
				if dice%4 == 0 { // else nothing happens
					c.act(f, slot)
				}
				for _, s := range f.pools.asked {
					if (s.a[31]+s.b[31])%2 == 0 || dice%16 == 1 { // others wait
						f.Complete(s.a, s.b)
					}
				}
				f.Block(Block{Slot: slot, Parent: slot - 1, UnixTime: 1, At: time.Unix(1, 0)})
				f.Covered(f.Fresh(), slot)
				f.Confirmed(slot, 0)
			}
			keys := wantedOf(plain)
			require.Equal(t, keys, wantedOf(based))
			if dice%2 == 0 {
				accounts := make([]*solana.Account, len(keys))
				c := newCrowd(rand.New(rand.NewPCG(dice, 4)))
				for i, key := range keys {
					accounts[i] = c.account(key)
				}
				plain.Read(slot, keys, accounts)
				based.Read(slot, keys, accounts)
			}
			for _, f := range []*Fold{plain, based} {
				f.Finalized(slot-dice%5, 0)
				f.Publish()
			}
			switch {
			case written != nil && dice%5 < 2:
				based.Rebase(written, again(t, written))
				written = nil
			case written == nil && dice%7 < 2:
				written = based.Checkpoint()
			}
			onBase += based.under.pools
			quoted += sameAnswers(t, plain, based)
		}
	}
	require.Greater(t, onBase, 10_000, "hardly any pool is in the base")
	require.Greater(t, quoted, 10_000, "hardly any pool is quoted")
}

// wantedOf returns all accounts that a fold wants to be read, in order.
func wantedOf(f *Fold) []venue.Key {
	f.searched = map[int]uint64{}
	keys := f.Wanted(1000, 0, 1).Keys
	slices.SortFunc(keys, func(a, b venue.Key) int { return bytes.Compare(a[:], b[:]) })
	return keys
}

// sameAnswers checks that two folds have the same of all pairs, and returns how many pools that is.
func sameAnswers(t *testing.T, x, y *Fold) (pools int) {
	t.Helper()
	c := newCrowd(nil)
	for _, k := range c.twins {
		for _, hub := range []venue.Key{swaptest.WrappedSOL, swaptest.Named("dollar")} {
			want, wantErr := x.Snapshot().Pair(k.coin, hub)
			got, gotErr := y.Snapshot().Pair(k.coin, hub)
			require.Equal(t, wantErr, gotErr)
			if wantErr != nil {
				continue
			}
			require.Equal(t, want.Mints, got.Mints)
			require.Equal(t, len(want.Refused), len(got.Refused))
			require.Len(t, got.Pools, len(want.Pools))
			for i, p := range want.Pools {
				require.Equal(t, p.Slot, got.Pools[i].Slot)
				require.Equal(t, p.Pool, got.Pools[i].Pool)
			}
			pools += len(got.Pools)
		}
	}
	return pools
}
