package state

import (
	"encoding/binary"
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

const twins = 4

// block is one of the true chain: what its pools hold after it, and after each of its transactions.
type block struct {
	slot, parent uint64
	dead         bool
	numbers      [twins][3]uint64
	moments      [][twins][3]uint64
}

// message is what the stream brings, at a place that faults may change.
type message struct {
	place int
	apply func(f *Fold)
	// sealed is the block whose end it is.
	sealed uint64
	// retracted: from here on these slots must not be the head.
	retracts func(b *block) bool
}

// world is a chain with forks, and the stream that tells it.
type world struct {
	t        *testing.T
	random   *rand.Rand
	pools    [twins]twinKeys
	blocks   map[uint64]*block
	messages []message
	order    uint64
	number   uint64
	tip      uint64
	// confirmed is the slot that is confirmed once the stream has come to a place.
	confirmed []struct{ place, slot uint64 }
	faults    faults
	// steps counts those that were told.
	steps int
}

// faults of a stream.
type faults struct {
	// lost is the chance that a block's end is lost.
	lost float64
	// jitter is how many places a write may come late, but not behind its block's end.
	jitter int
	forks  float64
	// restarts is the chance, at each message, that the process dies and goes on from a checkpoint.
	restarts float64
}

func (w *world) write(at int, slot uint64, keys twinKeys, i int, transaction, number uint64) {
	w.order++
	one := Write{Slot: slot, Order: w.order, Key: keys.keys[i], Transaction: transaction, Account: keys.account(i, number)}
	m := message{place: at + w.random.IntN(w.faults.jitter+1), apply: func(f *Fold) { f.Write(one) }}
	w.messages = append(w.messages, m)
	if w.random.IntN(10) == 0 { // repeated, now or later
		m.place += w.random.IntN(20)
		w.messages = append(w.messages, m)
	}
}

// step is the distance of two blocks' places in the stream.
const step = 100

// make makes blocks and the messages that tell of them.
func (w *world) make(count int) {
	first := &block{slot: 100, parent: 99}
	for i := range w.pools {
		w.pools[i] = newTwin(fmt.Sprint("pool ", i))
	}
	w.blocks, w.tip = map[uint64]*block{100: first}, 100
	w.seal(0, first)
	w.tell(step, func(f *Fold) { f.Confirmed(100, 0) }, nil)
	confirmed, losing := uint64(100), uint64(0)
	for n := 1; n <= count; n++ {
		at := n * step
		parent := w.blocks[w.tip]
		if losing != 0 {
			parent = w.blocks[losing]
		}
		for w.random.Float64() < w.faults.forks && w.leads(parent.parent, confirmed) {
			parent = w.blocks[parent.parent]
		}
		b := &block{slot: 100 + uint64(n), parent: parent.slot, numbers: parent.numbers, dead: w.random.IntN(15) == 0}
		w.blocks[b.slot] = b
		w.trade(at, b)
		if w.random.Float64() < w.faults.forks/2 {
			losing = b.slot // a fork that goes on for a while, and loses
		} else {
			losing = 0
		}
		if b.dead {
			if w.random.IntN(2) == 0 {
				w.seal(at+w.faults.jitter, b)
			}
			losing = 0
			w.tell(at+60, func(f *Fold) { f.Dead(b.slot) }, func(o *block) bool { return w.leads(o.slot, b.slot) })
			continue
		}
		w.seal(at+step-20, b)
		if losing == 0 && w.leads(b.slot, confirmed) {
			w.tip = b.slot
		}
		if ancestor := w.ancestor(w.tip, w.random.IntN(4)); ancestor > confirmed {
			confirmed = ancestor
			w.confirmed = append(w.confirmed, struct{ place, slot uint64 }{uint64(at + step), confirmed})
			w.tell(at+step, func(f *Fold) { f.Confirmed(ancestor, 0) }, func(o *block) bool { return o.slot >= ancestor && !w.leads(o.slot, ancestor) })
			if final := w.ancestor(ancestor, 5); n%3 == 0 {
				w.tell(at+step, func(f *Fold) { f.Finalized(final, 0) }, nil)
			}
		}
	}
	slices.SortStableFunc(w.messages, func(a, b message) int { return a.place - b.place })
}

func (w *world) tell(at int, apply func(*Fold), retracts func(*block) bool) {
	w.messages = append(w.messages, message{place: at, apply: apply, retracts: retracts})
}

// trade makes a block's transactions: most move a whole pool, some a vault alone. The stream does
// not tell what a transaction leaves as it is.
func (w *world) trade(at int, b *block) {
	for range w.random.IntN(6) {
		pool := w.random.IntN(twins)
		w.number++
		number := w.number
		alone := w.random.IntN(12) == 0
		for i := range 3 {
			if alone && i != 1 {
				continue
			}
			b.numbers[pool][i] = number
			w.write(at, b.slot, w.pools[pool], i, number, number)
		}
		b.moments = append(b.moments, b.numbers)
	}
}

// seal tells a block's end, behind its writes.
func (w *world) seal(at int, b *block) {
	if w.random.Float64() < w.faults.lost && b.slot > 100 {
		return
	}
	w.messages = append(w.messages, message{place: at, sealed: b.slot})
}

func (w *world) ancestor(slot uint64, above int) uint64 {
	for range above {
		if b := w.blocks[slot]; b != nil && w.blocks[b.parent] != nil {
			slot = b.parent
		}
	}
	return slot
}

// leads says whether a slot is another one or follows it.
func (w *world) leads(slot, from uint64) bool {
	for b := w.blocks[slot]; b != nil && b.slot >= from; b = w.blocks[b.parent] {
		if b.slot == from {
			return true
		}
	}
	return false
}

// reading is what a call answers with: the state of a slot that is confirmed.
func (w *world) reading(keys []venue.Key, b *block) []*solana.Account {
	out := make([]*solana.Account, len(keys))
	for n, key := range keys {
		out[n] = mintAccount()
		for p, pool := range w.pools {
			if i := slices.Index(pool.keys[:], key); i >= 0 {
				out[n] = pool.account(i, b.numbers[p][i])
			}
		}
	}
	return out
}

// run feeds the messages and checks each snapshot. It returns how many pools were quoted.
func (w *world) run() (quoted int) {
	f := NewFold(FoldConfig{}, venue.List{twin{}})
	f.steps = w.step
	for _, pool := range w.pools {
		f.Listed(pool.keys[0], pool.account(0, 0))
		f.Ask(pool.coin, swaptest.WrappedSOL)
		f.Complete(pool.coin, swaptest.WrappedSOL)
	}
	f.Covered(f.Fresh(), 0)
	sealedAt := map[uint64]time.Time{}
	var retracted []func(*block) bool
	var answers []func()
	confirmed := uint64(100)
	for n, m := range w.messages {
		now := time.Unix(int64(n), 0)
		for _, c := range w.confirmed {
			if int(c.place) <= m.place {
				confirmed = c.slot
			}
		}
		switch {
		case m.sealed != 0:
			if _, again := sealedAt[m.sealed]; !again {
				sealedAt[m.sealed] = now
			}
			f.Block(Block{Slot: m.sealed, Parent: w.blocks[m.sealed].parent, UnixTime: now.Unix(), At: now})
		default:
			m.apply(f)
		}
		if m.retracts != nil {
			retracted = append(retracted, m.retracts)
		}
		if f.Broken() {
			f.Reset()
			w.complete(f)
		}
		if r := f.Wanted(solana.MaxAccountsPerCall, n%2, 2); len(r.Keys) > 0 && n%7 == 0 && confirmed >= r.Slot {
			slot := confirmed
			accounts := w.reading(r.Keys, w.blocks[slot])
			answers = append(answers, func() { f.Read(slot, r.Keys, accounts) })
		}
		if len(answers) > 0 && w.random.IntN(9) == 0 { // answers take their time
			answers[0]()
			answers = answers[1:]
		}
		if w.random.Float64() < w.faults.restarts {
			f, answers = w.restart(f, w.messages[:n+1], now, sealedAt), nil
		}
		f.Publish()
		quoted += w.check(f.Snapshot(), sealedAt, retracted)
	}
	return quoted
}

// complete says that the pools of all pairs are listed.
func (w *world) complete(f *Fold) {
	for _, pool := range w.pools {
		f.Complete(pool.coin, swaptest.WrappedSOL)
	}
}

// step checks the state before a transaction.
func (w *world) step(s Step) {
	w.steps++
	pool := slices.IndexFunc(w.pools[:], func(k twinKeys) bool { return k.keys[0] == s.Ref.Address() })
	b := w.blocks[s.Slot]
	before := w.blocks[b.parent].numbers[pool]
	for _, after := range b.moments {
		if slices.Contains(after[pool][:], s.Transaction) {
			break
		}
		before = after[pool]
	}
	for i, key := range w.pools[pool].keys {
		require.Equal(w.t, before[i], binary.LittleEndian.Uint64(s.Before[key].Data), "account %d before transaction %d of slot %d", i, s.Transaction, s.Slot)
	}
}

func (w *world) check(s *Snapshot, sealedAt map[uint64]time.Time, retracted []func(*block) bool) (quoted int) {
	if s.Slot == 0 {
		return 0
	}
	head := w.blocks[s.Slot]
	for _, is := range retracted {
		require.False(w.t, is(head), "slot %d is retracted", s.Slot)
	}
	for p, pool := range w.pools {
		found, err := s.Pair(swaptest.WrappedSOL, pool.coin)
		if err != nil || len(found.Pools) == 0 {
			continue
		}
		quoted++
		require.Equal(w.t, sealedAt[s.Slot], found.ReadAt, "the age")
		numbers := found.Pools[0].Pool.(*twinPool).numbers
		require.Equal(w.t, head.numbers[p], numbers, "pool %d at slot %d", p, s.Slot)
	}
	return quoted
}

// TestNeverTornOrRetracted: whatever a stream does, a pool is quoted only as it was at the head, or
// not at all; its age is the head's.
func TestNeverTornOrRetracted(t *testing.T) {
	for name, c := range map[string]faults{
		"well":             {},
		"forks":            {forks: 0.3},
		"reordered writes": {jitter: 60, forks: 0.2},
		"lost blocks":      {lost: 0.05, forks: 0.1},
		"all":              {lost: 0.03, jitter: 60, forks: 0.2},
		"restarts":         {restarts: 0.02, forks: 0.2},
		"restarts and all": {restarts: 0.005, lost: 0.03, jitter: 60, forks: 0.2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(8) {
				w := &world{t: t, random: rand.New(rand.NewPCG(seed, 1)), faults: c}
				w.make(60)
				quoted := w.run()
				require.Greater(t, quoted, len(w.messages)/20, "seed %d: hardly anything is quoted of %d messages", seed, len(w.messages))
				require.Greater(t, w.steps, 10, "seed %d: hardly any step is told", seed)
			}
		})
	}
}
