package state

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
)

// checkBooks checks that the parts of a fold agree with each other, and with the last snapshot.
func checkBooks(t *testing.T, f *Fold) {
	t.Helper()
	pools, pairs, waiting := 0, 0, 0
	for p, s := range f.pools.pairs {
		require.Equal(t, p, s.pair)
		require.False(t, s.touched)
		require.Equal(t, s.asked, slices.ContainsFunc(s.pools, func(p *pool) bool { return p.venue == nil }))
		for _, one := range s.pools {
			checkPool(t, f, s, one)
			if !one.asked {
				pools++
			}
			if one.state == wanted {
				waiting++
			}
		}
		want, got := s.list(), f.Snapshot().pairs.get(p)
		require.Equal(t, want == nil, got == nil)
		if want != nil {
			pairs++
			require.Equal(t, want.entries, got.entries)
			require.Equal(t, [2]bool{want.complete, want.asked}, [2]bool{got.complete, got.asked})
		}
	}
	require.Len(t, f.pools.byAddress, pools)
	require.Len(t, f.pools.wanted, waiting)
	require.LessOrEqual(t, pools, f.cfg.MaxPools)
	require.LessOrEqual(t, len(f.pools.asked), f.cfg.MaxAsked)
	total, shared := int64(0), 0
	for key, h := range f.accounts {
		require.NotEmpty(t, h.users)
		require.False(t, h.changed)
		total += h.size()
		got := f.Snapshot().accounts.get(key)
		require.Same(t, f.share(h), got)
		if got != nil {
			shared++
		}
	}
	require.Equal(t, total, f.Bytes())
	require.Equal(t, shared, size(f.Snapshot().accounts))
	require.Equal(t, pairs, size(f.Snapshot().pairs))
}

func checkPool(t *testing.T, f *Fold, s *pairState, p *pool) {
	t.Helper()
	_, waits := f.pools.wanted[p]
	now, _ := f.judge(p)
	require.Equal(t, now, p.state)
	require.Same(t, s, p.pair)
	require.False(t, p.dirty)
	require.Equal(t, p.state == wanted, waits)
	require.Equal(t, p.state == held, p.entry != nil)
	if !p.asked {
		require.Same(t, p, f.pools.byAddress[p.address])
	}
	for _, h := range p.needs {
		require.Same(t, h, f.accounts[h.key])
		require.Contains(t, h.users, p)
	}
}

// again returns a checkpoint as it is read from its file.
func again(t *testing.T, c *Checkpoint) *Checkpoint {
	t.Helper()
	file := bytesOf(t, c)
	c, err := ReadCheckpoint(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	return c
}

func size[K comparable, V any](t *table[K, V]) (count int) {
	for _, shard := range t.shards {
		count += len(shard)
	}
	return count
}

// crowd is more pools than a fold has room for: in twos of one pair, and mute ones. One is hostile:
// its coin is a vault of another.
type crowd struct {
	twins  []twinKeys
	random *rand.Rand
}

func newCrowd(random *rand.Rand) *crowd {
	c := &crowd{make([]twinKeys, 8), random}
	for i := range c.twins {
		c.twins[i] = newTwin(fmt.Sprint("twin ", i))
		if i%2 == 1 {
			c.twins[i].coin = c.twins[i-1].coin
		}
	}
	c.twins[7].coin = c.twins[0].keys[1]
	return c
}

// account returns what the chain may have at a key.
func (c *crowd) account(key venue.Key) *solana.Account {
	for _, k := range c.twins {
		if i := slices.Index(k.keys[:], key); i >= 0 {
			return k.account(i, c.random.Uint64N(100))
		}
		if key == muteAddress(k.coin) {
			return &solana.Account{Owner: muteProgram}
		}
	}
	return mintAccount()
}

// act does something at random in a slot.
func (c *crowd) act(f *Fold, slot uint64) {
	k := c.twins[c.random.IntN(len(c.twins))]
	hub := []venue.Key{swaptest.WrappedSOL, swaptest.Named("dollar")}[c.random.IntN(2)]
	switch c.random.IntN(8) {
	case 0, 1:
		f.Ask(k.coin, hub)
		f.Hurry(k.coin, hub)
	case 2:
		f.Complete(k.coin, hub)
	case 3:
		f.Listed(k.keys[0], k.account(0, 0))
	case 4: // a vault is written alone, or a mute pool comes, or either goes
		w := Write{Slot: slot, Order: slot, Key: []venue.Key{k.keys[1], muteAddress(k.coin)}[c.random.IntN(2)], Transaction: slot}
		if c.random.IntN(3) > 0 {
			w.Account = c.account(w.Key)
		}
		f.Write(w)
	case 5:
		if c.random.IntN(10) == 0 {
			f.Reset()
		}
	default:
		born(f, slot, k)
	}
}

// TestTheBooksOfAFoldAgree whatever is asked, listed, written, read, forgotten and reset, with room
// for fewer pools and pairs than there are. Those of a fold after a restart agree, too.
func TestTheBooksOfAFoldAgree(t *testing.T) {
	for seed := range uint64(40) {
		c := newCrowd(rand.New(rand.NewPCG(seed, 1)))
		f := NewFold(FoldConfig{MaxPools: 5, MaxAsked: 4}, venue.List{twin{}, mute{}})
		begin(f)
		held := 0
		for slot := uint64(11); slot < 120; slot++ {
			c.act(f, slot)
			f.Block(Block{Slot: slot, Parent: slot - 1, UnixTime: 1, At: time.Unix(1, 0)})
			f.Covered(f.Fresh(), slot)
			f.Confirmed(slot, 0)
			if c.random.IntN(2) == 0 {
				keys := f.Wanted(100, 0, 1).Keys
				accounts := make([]*solana.Account, len(keys))
				for i, key := range keys {
					accounts[i] = c.account(key)
				}
				f.Read(slot, keys, accounts)
			}
			f.Finalized(slot-uint64(c.random.IntN(5)), 0)
			f.Publish()
			checkBooks(t, f)
			if c.random.IntN(16) == 0 {
				restarted := NewFold(f.cfg, f.venues)
				require.NoError(t, restarted.Restore(again(t, f.Checkpoint())))
				checkBooks(t, restarted)
			}
			quotable := f.Counts().Held
			held += quotable
		}
		require.Greater(t, held, 50, "seed %d: hardly any pool is held", seed)
	}
}
