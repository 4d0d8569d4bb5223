package state

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

const (
	// ghosts are pools that only banks make which lose.
	ghosts = 2
	// crowdPools are all pools of a schedule.
	crowdPools = twins + ghosts
)

// modelBank is a bank of a schedule, and what its pools hold after it; 0 for no pool.
type modelBank struct {
	number, slot uint64
	parent       *modelBank
	wins         bool
	// over is the bank that takes its place: the second one of its slot or of a slot below; nil
	// if there is none.
	over    *modelBank
	numbers [crowdPools][3]uint64
}

// event is what a node tells of a bank.
type event struct {
	kind  string
	bank  *modelBank
	write Write
	// at is its place in the stream.
	at float64
}

// stream is how a server tells a schedule.
type stream struct {
	// ids says that it tells bank ids, hashes that it tells blocks' hashes; one of them at least.
	ids, hashes bool
	// jitter is how many places an update may be late. early says that statuses may also come
	// before the blocks.
	jitter float64
	early  bool
	// reconnects is the chance, at each update, that a connection ends.
	reconnects float64
}

// schedule is a random chain with banks that lose, and its telling.
type schedule struct {
	stream
	t      *testing.T
	random *rand.Rand
	pools  [crowdPools]twinKeys
	events []event
	banks  []*modelBank
	number uint64
	tip    *modelBank
	f      *Fold
	// base is what this connection adds to bank ids.
	base uint64
	// gone are the banks of which this connection told that they are given up, sealed those whose
	// block it told, and confirmed those of which it told that.
	gone, sealed, confirmed map[*modelBank]bool
	answers                 []func()
	// of the whole run
	quoted, switches, connections int
}

func (s *schedule) emit(kind string, b *modelBank, w Write) {
	s.events = append(s.events, event{kind: kind, bank: b, write: w, at: float64(len(s.events))})
}

// bank makes a bank with the status of its creation.
func (s *schedule) bank(slot uint64, parent *modelBank) *modelBank {
	s.number++
	b := &modelBank{number: s.number, slot: slot, parent: parent, numbers: parent.numbers}
	for _, l := range s.banks { // in the order of creation, so that parents come first
		if l.over == nil && (l.slot == slot || l.parent.over == b) {
			l.over = b
		}
	}
	s.banks = append(s.banks, b)
	s.emit("created", b, Write{})
	return b
}

// trade makes transactions of a bank. Banks that lose may make pools.
func (s *schedule) trade(b *modelBank, most int, counts bool) {
	pools := twins
	if !b.wins {
		pools = crowdPools
	}
	for range s.random.IntN(most + 1) {
		pool := s.random.IntN(pools)
		s.number++
		alone := s.random.IntN(12) == 0 && pool < twins
		for i, key := range s.pools[pool].keys {
			if alone && i != 1 {
				continue
			}
			if counts {
				b.numbers[pool][i] = s.number
			}
			s.emit("write", b, Write{Slot: b.slot, Order: s.number*4 + uint64(i), Key: key, Transaction: s.number, Account: s.pools[pool].account(i, s.number)})
		}
	}
}

// lose makes a bank that loses, with some that follow it.
func (s *schedule) lose(slot uint64, parent *modelBank, dead bool) (lost []*modelBank) {
	for range 1 + s.random.IntN(3) {
		b := s.bank(slot, parent)
		lost, parent = append(lost, b), b
		s.trade(b, 4, true)
		if dead || s.random.IntN(4) == 0 {
			if dead && s.random.IntN(2) == 0 {
				s.emit("block", b, Write{})
			}
			break // it never ends, so that nothing follows it
		}
		s.emit("block", b, Write{})
		slot++
	}
	if dead {
		s.emit("dead", lost[0], Write{})
	}
	return lost
}

// make makes a chain of some slots.
func (s *schedule) make(slots int) {
	s.tip = &modelBank{slot: 99, wins: true}
	for slot := uint64(100); slot < uint64(100+slots); slot++ {
		var lost []*modelBank
		if slot > 100 && slot < uint64(100+slots)-4 { // what loses is shorter than that
			switch s.random.IntN(9) {
			case 0:
				continue // skipped
			case 1:
				s.lose(slot, s.tip, true)
				continue // dead, and it stays so
			case 2:
				s.lose(slot, s.tip, false)
				continue // nothing that wins follows it, and its slot gets no other bank
			case 3, 4:
				lost = s.lose(slot, s.tip, false)
			case 5:
				lost = s.lose(slot, s.tip, true)
			}
		}
		b := s.bank(slot, s.tip)
		b.wins = true
		for _, l := range lost {
			if s.random.IntN(3) == 0 {
				s.trade(l, 2, false) // it comes after the bank was cleared
			}
		}
		s.trade(b, 4, true)
		s.emit("block", b, Write{})
		s.tip = b
		switch s.random.IntN(4) {
		case 0: // only a later one's implies it
		case 1:
			s.emit("confirmed", b, Write{})
		case 2:
			s.emit("confirmed", b, Write{})
			s.emit("finalized", b, Write{})
		case 3:
			s.emit("finalized", b, Write{})
		}
	}
	s.emit("confirmed", s.tip, Write{})
	s.emit("finalized", s.tip, Write{})
}

// disorder returns the events from one on in the order in which the server tells them. Creations
// stay in order. A block comes behind its bank's writes; without ids also before another bank of
// its slot is created. A confirmation comes behind that, unless ids and hashes tell all.
func (s *schedule) disorder(events []event) []event {
	events = slices.Clone(events)
	last, over := map[*modelBank]float64{}, map[uint64]float64{}
	for _, e := range events {
		if e.kind == "created" {
			over[e.bank.slot] = e.at
		}
	}
	for i := range events {
		e := &events[i]
		late := s.random.Float64() * s.jitter
		second, again := over[e.bank.slot]
		again = again && e.bank.over != nil && second > e.at
		switch e.kind {
		case "write":
			if e.at += late; again && !s.ids {
				e.at = min(e.at, second-0.5)
			}
			last[e.bank] = max(last[e.bank], e.at)
		case "block":
			if e.at = max(e.at+late, last[e.bank]); again && !s.ids {
				e.at = min(e.at, second-0.5)
			}
		case "dead":
			if e.at += late; again {
				e.at = min(e.at, second-0.5)
			}
		case "confirmed", "finalized":
			if e.at += late; s.early {
				e.at -= 2 * s.jitter * s.random.Float64()
			}
			if !s.ids || !s.hashes {
				e.at = max(e.at, second+0.5)
			}
		}
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	return events
}
