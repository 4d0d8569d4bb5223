package stream

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"

	"github.com/mr-tron/base58"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
)

// The model of a chain and of the node that executes it, for random schedules.

// modelBlock is a block that a node may execute.
type modelBlock struct {
	number       int // names the block: its hash is made of it
	slot, parent uint64
	parentHash   []byte
	txs          []tx
}

func (b *modelBlock) hash() []byte { return hashNumber(b.number) }

func hashNumber(n int) []byte {
	hash := make([]byte, 32)
	binary.BigEndian.PutUint64(hash, uint64(n))
	hash[31] = 1
	return hash
}

// modelBank is one execution of a block. With every connection its id is another.
type modelBank struct {
	*modelBlock
	number int
}

type modelKind uint8

const (
	modelCreated modelKind = iota
	modelTx
	modelMeta
	modelExecuted
	modelDead
	modelConfirmed
	// The log's: the end of a slot, and a dead slot.
	modelLogEnd
	modelLogDead
)

type modelEvent struct {
	kind modelKind
	slot uint64
	bank *modelBank
	tx   int
}

// modelRules say how a node behaves.
type modelRules struct {
	ids bool
	// noCreated is a node without interslot updates.
	noCreated bool
	// reorder mixes what comes: all of it with ids, else only what belongs to different banks.
	reorder bool
	// deadIDs says that SLOT_DEAD names the bank.
	deadIDs bool
	// breaks are how many connections end. wholeReplay says that cleared banks are replayed, too.
	breaks      int
	wholeReplay bool
	noReplay    bool
}

type model struct {
	*rand.Rand
	rules  modelRules
	chain  []*modelBlock
	events []modelEvent
	blocks []*modelBlock
	banks  int
	keysOf map[*modelBlock]map[string]bool
}

func (m *model) block(slot uint64, parent *modelBlock) *modelBlock {
	b := &modelBlock{number: len(m.blocks) + 1, slot: slot, parent: parent.slot, parentHash: parent.hash()}
	for i := range 1 + m.IntN(4) {
		x := tx{number: b.number*10 + i, slot: slot, keys: []byte{1}}
		// The same transaction may be in another block of the slot, with another result or place.
		for _, other := range m.blocks {
			if other.slot == slot && m.IntN(3) == 0 {
				x.number, x.failed = other.txs[0].number, !other.txs[0].failed
			}
		}
		if !slices.ContainsFunc(b.txs, func(y tx) bool { return y.number == x.number }) {
			b.txs = append(b.txs, x)
		}
	}
	m.blocks = append(m.blocks, b)
	return b
}

func (m *model) add(kind modelKind, b *modelBank, i int) {
	m.events = append(m.events, modelEvent{kind, b.slot, b, i})
}

// execute executes a part of a block, or all of it.
func (m *model) execute(block *modelBlock, whole bool) *modelBank {
	m.banks++
	b := &modelBank{block, m.banks}
	m.add(modelCreated, b, 0)
	for i := range block.txs {
		if !whole && m.IntN(2) == 0 {
			return b
		}
		m.add(modelTx, b, i)
	}
	if !whole {
		return b
	}
	m.add(modelMeta, b, 0)
	m.add(modelExecuted, b, 0)
	return b
}

// schedule draws a chain and what a node says while it follows it.
func (m *model) schedule() {
	head := m.block(99, &modelBlock{number: 999_999, slot: 98})
	m.chain = []*modelBlock{head}
	var wins []*modelBank
	wins = append(wins, m.execute(head, true))
	for slot := uint64(100); slot < 112; slot++ {
		if m.IntN(5) == 0 { // skipped; the node may have followed a block all the same
			if m.IntN(2) == 0 {
				m.execute(m.block(slot, head), true)
			}
			continue
		}
		next := m.block(slot, head)
		partly := m.rules.noCreated || m.IntN(2) == 0
		switch m.IntN(6) {
		case 0: // the node follows another block first, maybe with a child
			other := m.block(slot, head)
			m.execute(other, partly)
			if partly && m.IntN(2) == 0 {
				m.execute(m.block(slot+1, other), true)
			}
		case 1: // the other block is invalid
			if !m.rules.noCreated {
				m.add(modelDead, m.execute(m.block(slot, head), false), 0)
			}
		case 2: // it follows the other block after this one, and comes back
			m.execute(next, true)
			m.execute(m.block(slot, head), partly)
		case 3: // it never says that it comes back
			if m.rules.breaks > 0 && !m.rules.wholeReplay {
				break // nobody could know this block after a break
			}
			wins = append(wins, m.execute(next, true))
			m.execute(m.block(slot, head), partly)
			m.chain, head = append(m.chain, next), next
			continue
		}
		wins = append(wins, m.execute(next, true))
		m.chain, head = append(m.chain, next), next
		if m.IntN(3) == 0 { // CONFIRMED and FINALIZED, of this slot or of an earlier one
			b := wins[m.IntN(len(wins))]
			m.add(modelConfirmed, b, 0)
		}
		if m.IntN(2) == 0 {
			i := m.IntN(len(m.chain))
			m.add(modelLogEnd, &modelBank{m.chain[i], 0}, 0)
		}
	}
	if m.rules.noCreated {
		m.events = slices.DeleteFunc(m.events, func(e modelEvent) bool { return e.kind == modelCreated })
	}
	if m.rules.reorder {
		m.reorder()
	}
}

func (m *model) reorder() {
	for range 2 {
		for i := range len(m.events) - 1 {
			a, b := m.events[i], m.events[i+1]
			ends := a.kind == modelMeta && b.kind == modelExecuted
			if (m.rules.ids || a.slot != b.slot || ends) && m.IntN(3) == 0 {
				m.events[i], m.events[i+1] = b, a
			}
		}
	}
}

// live are the banks that a node has after events: it clears a bank and its descendants for
// another one of the slot.
func live(events []modelEvent) map[*modelBank]bool {
	banks := map[*modelBank]bool{}
	var clear func(*modelBank)
	clear = func(b *modelBank) {
		delete(banks, b)
		for child := range banks {
			if string(child.parentHash) == string(b.hash()) {
				clear(child)
			}
		}
	}
	for _, e := range events {
		switch {
		case e.kind >= modelLogEnd:
		case e.kind == modelDead:
			clear(e.bank)
		case e.kind == modelCreated || e.kind == modelTx && e.tx == 0 && !banks[e.bank]:
			for other := range banks {
				if other.slot == e.slot && other != e.bank && e.kind == modelCreated {
					clear(other)
				}
			}
			banks[e.bank] = true
		}
	}
	return banks
}

// update is an event as the node sends it over the connection number session.
func (m *model) update(e modelEvent, session int) *pb.SubscribeUpdate {
	b := e.bank
	u := &pb.SubscribeUpdate{}
	id := uint64(0)
	if m.rules.ids {
		id = uint64(b.number*7 + session*3)
	}
	status := func(s pb.SlotStatus, named bool) {
		slot := &pb.SubscribeUpdateSlot{Slot: b.slot, Status: s}
		if s != pb.SlotStatus_SLOT_DEAD {
			slot.Parent = &b.parent
		}
		if named && id > 0 {
			slot.BankId = &id
		}
		u.UpdateOneof = &pb.SubscribeUpdate_Slot{Slot: slot}
	}
	switch e.kind {
	case modelCreated:
		status(pb.SlotStatus_SLOT_CREATED_BANK, true)
	case modelExecuted:
		status(pb.SlotStatus_SLOT_PROCESSED, true)
	case modelConfirmed:
		status(pb.SlotStatus_SLOT_CONFIRMED+pb.SlotStatus(b.number%2), true) // or finalized
	case modelDead:
		status(pb.SlotStatus_SLOT_DEAD, m.rules.deadIDs)
	case modelMeta:
		u.UpdateOneof = &pb.SubscribeUpdate_BlockMeta{BlockMeta: &pb.SubscribeUpdateBlockMeta{
			Slot: b.slot, ParentSlot: b.parent, Blockhash: base58.Encode(b.hash()), ParentBlockhash: base58.Encode(b.parentHash), BankId: id,
		}}
	case modelTx:
		x := m.message(b.modelBlock, e.tx)
		x.BankId = id
		u.UpdateOneof = &pb.SubscribeUpdate_Transaction{Transaction: x}
	case modelLogEnd, modelLogDead:
		panic("not the node's")
	}
	return u
}

func (m *model) message(b *modelBlock, i int) *pb.SubscribeUpdateTransaction {
	x := b.txs[i].message()
	x.Transaction.Index = uint64(i)
	return x
}
