package state

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
)

func (s *schedule) hash(b *modelBank) pubkey.Key {
	if !s.hashes {
		return pubkey.Key{}
	}
	return swaptest.Named(fmt.Sprint("block of bank ", b.number))
}

// tell feeds one event.
func (s *schedule) tell(e event, n int) {
	b, id := e.bank, uint64(0)
	if s.ids {
		id = s.base + b.number
	}
	switch e.kind {
	case "created":
		if s.f.Created(b.slot, b.parent.slot, id) {
			s.switches++
		}
		for _, l := range s.banks {
			if l.over == b {
				s.gone[l] = true
			}
		}
	case "write":
		e.write.Bank = id
		s.f.Write(e.write)
	case "block":
		s.sealed[b] = true
		s.f.Block(Block{Slot: b.slot, Parent: b.parent.slot, Bank: id, Hash: s.hash(b), ParentHash: s.hash(b.parent), UnixTime: 1, At: time.Unix(int64(n), 0)})
	case "dead":
		s.gone[b] = true
		for _, l := range s.banks {
			if l.parent == b {
				s.gone[l] = true
			}
		}
		s.f.Dead(b.slot)
	case "confirmed":
		s.confirmed[b] = true
		s.f.Confirmed(b.slot, id)
	case "finalized":
		s.confirmed[b] = true
		s.f.Finalized(b.slot, id)
	}
}

// connect begins a connection: the node tells anew what it told of the slots behind the root. It
// may leave out banks that it has given up. Sometimes the process dies before.
func (s *schedule) connect(told int) []event {
	s.connections++
	s.base = s.random.Uint64N(1000) * 7
	s.gone, s.sealed, s.confirmed = map[*modelBank]bool{}, map[*modelBank]bool{}, map[*modelBank]bool{}
	if c := s.f.Checkpoint(); c != nil && s.random.IntN(2) == 0 {
		s.f = s.fold()
		require.NoError(s.t, s.f.Restore(again(s.t, c)))
		s.listed()
		s.answers = nil
	}
	s.f.Disconnected()
	created := map[*modelBank]bool{}
	for _, e := range s.events[:told] {
		created[e.bank] = e.kind == "created" || created[e.bank]
	}
	all := s.random.IntN(2) == 0
	events := slices.DeleteFunc(slices.Clone(s.events), func(e event) bool {
		return e.bank.slot <= s.f.Root() || !all && created[e.bank.over]
	})
	return s.disorder(events)
}

func (s *schedule) fold() *Fold {
	f := NewFold(FoldConfig{}, venue.List{twin{}})
	f.steps = func(Step) {}
	return f
}

func (s *schedule) listed() {
	for i, pool := range s.pools {
		if i < twins {
			s.f.Listed(pool.keys[0], pool.account(0, 0))
		}
		s.f.Ask(pool.coin, swaptest.WrappedSOL)
		s.f.Complete(pool.coin, swaptest.WrappedSOL)
	}
	s.f.Covered(s.f.Fresh(), 0)
}

// run tells the schedule and checks each snapshot.
func (s *schedule) run() {
	for i := range s.pools {
		s.pools[i] = newTwin(fmt.Sprint("pool ", i))
	}
	s.make(60)
	s.f = s.fold()
	s.listed()
	told := 0
	events := s.connect(0)
	for n := 0; n < len(events); n++ {
		s.tell(events[n], n)
		told = max(told, slices.IndexFunc(s.events, func(e event) bool {
			return e.bank == events[n].bank && e.kind == events[n].kind && e.write.Order == events[n].write.Order
		})+1)
		require.False(s.t, s.f.Broken())
		s.f.Publish()
		s.check()
		s.read(told)
		if s.random.Float64() < s.reconnects {
			events, n = s.connect(told), -1
		}
	}
	s.answers = nil
	for range 10 {
		s.read(len(s.events))
	}
	s.check()
	require.Equal(s.t, s.tip.slot, s.f.Head())
	require.Equal(s.t, s.tip.slot, s.f.Root())
	for i, pool := range s.pools {
		found, err := s.f.Snapshot().Pair(swaptest.WrappedSOL, pool.coin)
		require.NoError(s.t, err)
		require.Len(s.t, found.Pools, map[bool]int{true: 1}[i < twins])
	}
}

// read wants accounts, of the chain that is confirmed once so many events are told or later, and
// brings answers.
func (s *schedule) read(told int) {
	var at *modelBank
	for _, e := range s.events[:min(told+s.random.IntN(20), len(s.events))] {
		if (e.kind == "confirmed" || e.kind == "finalized") && (at == nil || e.bank.slot > at.slot) {
			at = e.bank
		}
	}
	s.f.Covered(s.f.Fresh(), s.events[told-1].bank.slot)
	s.f.searched = map[int]uint64{}
	if r := s.f.Wanted(solana.MaxAccountsPerCall, 0, 1); len(r.Keys) > 0 && at != nil && at.slot >= r.Slot {
		accounts := make([]*solana.Account, len(r.Keys))
		for n, key := range r.Keys {
			accounts[n] = mintAccount()
			for p, pool := range s.pools {
				if i := slices.Index(pool.keys[:], key); i >= 0 {
					if accounts[n] = nil; p < twins || at.numbers[p][i] > 0 {
						accounts[n] = pool.account(i, at.numbers[p][i])
					}
				}
			}
		}
		s.answers = append(s.answers, func() { s.f.Read(at.slot, r.Keys, accounts) })
	}
	if len(s.answers) > 0 && (s.random.IntN(4) == 0 || told == len(s.events)) {
		s.answers[0]()
		s.answers = s.answers[1:]
	}
	s.f.Publish()
}

// check: the pools are as one bank of the head's slot left them that is not given up, and the head
// is not behind what is confirmed and complete.
func (s *schedule) check() {
	for b := range s.confirmed {
		whole := true
		for a := b; a.slot > s.f.Root() && a.slot >= 100; a = a.parent {
			whole = whole && s.sealed[a]
		}
		require.False(s.t, whole && s.f.Head() < b.slot, "slot %d is confirmed, the head is at %d", b.slot, s.f.Head())
	}
	snapshot := s.f.Snapshot()
	var held [crowdPools]*[3]uint64
	for i, pool := range s.pools {
		found, err := snapshot.Pair(swaptest.WrappedSOL, pool.coin)
		if err != nil {
			continue
		}
		s.quoted++
		if held[i] = new([3]uint64); len(found.Pools) > 0 {
			*held[i] = found.Pools[0].Pool.(*twinPool).numbers
		}
	}
	ok := held == [crowdPools]*[3]uint64{} || slices.ContainsFunc(s.banks, func(b *modelBank) bool {
		if b.slot != snapshot.Slot || s.gone[b] {
			return false
		}
		for i, numbers := range held {
			if numbers != nil && *numbers != b.numbers[i] {
				return false
			}
		}
		return true
	})
	require.True(s.t, ok, "no bank of slot %d left the pools as they are quoted", snapshot.Slot)
}

// TestNoBankThatIsGivenUpIsQuoted: whatever banks a chain has, and however a server tells them,
// each quote is of one bank that is not given up; the head follows what is confirmed; and at the
// end the state is the confirmed chain's.
func TestNoBankThatIsGivenUpIsQuoted(t *testing.T) {
	for name, c := range map[string]stream{
		"in order":             {ids: true, hashes: true},
		"without hashes":       {ids: true},
		"without ids":          {hashes: true},
		"reordered":            {ids: true, hashes: true, jitter: 12, early: true},
		"reordered, no hashes": {ids: true, jitter: 12, early: true},
		"reordered, no ids":    {hashes: true, jitter: 12, early: true},
		"reconnects":           {ids: true, hashes: true, jitter: 6, reconnects: 0.01},
		"reconnects, no ids":   {hashes: true, jitter: 6, early: true, reconnects: 0.01},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			quoted, switches, connections := 0, 0, 0
			for seed := range uint64(12) {
				s := &schedule{stream: c, t: t, random: rand.New(rand.NewPCG(seed, 5))}
				s.run()
				quoted, switches, connections = quoted+s.quoted, switches+s.switches, connections+s.connections
			}
			require.Greater(t, quoted, 10_000)
			require.Greater(t, switches, 100)
			require.True(t, c.reconnects == 0 || connections > 50)
		})
	}
}
