package stream

import (
	"maps"
	"slices"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"

	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Why a bank is withdrawn. If the chain goes on without the block, the reason is deadFork.
const (
	withdrawn    = "withdrawn: "
	whyReplaced  = withdrawn + "the node has another block of this slot"
	whyOrphan    = withdrawn + "the block that this one follows is withdrawn"
	whyConfirmed = withdrawn + "another block of this slot is confirmed"
	whyUnknown   = withdrawn + "the node did not bring the end of this block"
)

// promote makes a bank the told bank of its slot, unless the slot is decided for another bank or
// for none, or the bank's parent is set aside.
func (b *banks) promote(n *bank) {
	s := n.of
	switch {
	case s.skipped, s.winner != nil && s.winner != n, s.named != (pubkey.Key{}) && n.hash != (pubkey.Key{}) && n.hash != s.named:
		n.state = bankReplaced
	case b.parentAside(n):
		if s.told != nil {
			b.withdraw(s.told, bankReplaced, whyReplaced)
		}
		n.state = bankOrphan
	default:
		b.replace(n, whyReplaced)
	}
}

// replace withdraws the slot's told bank, if there is one, and tells n.
func (b *banks) replace(n *bank, why string) {
	s := n.of
	if s.told == n {
		return
	}
	if s.told != nil {
		b.withdraw(s.told, bankReplaced, why)
	}
	b.tell(n)
}

// tell makes a bank the told bank of its slot, and tells all that came of it so far.
func (b *banks) tell(n *bank) {
	s := n.of
	if s.void { // the node sends SLOT_COMPLETED again for this bank
		s.interims &^= 1 << uint32(pb.SlotStatus_SLOT_COMPLETED)
	}
	n.state, s.told, s.died, n.shown = bankTold, n, false, false
	if n.created {
		b.tellCreated(n)
	}
	if n.lost || n.old { // the connection may have broken before all of an old bank came
		b.tellGap(s)
	}
	for _, t := range n.list {
		b.show(n, logItem{tx: t})
	}
	b.finish(n)
}

// show tells clients one item of the told bank.
func (b *banks) show(n *bank, item logItem) {
	n.shown, n.of.void = true, false
	b.items = append(b.items, item)
}

func (b *banks) tellCreated(n *bank) {
	b.show(n, logItem{note: &note{
		at: levelProcessed, kind: noteInterim, slot: n.of.slot, bank: n.id, interim: pb.SlotStatus_SLOT_CREATED_BANK,
		end: &eventspb.StreamBlock{Slot: n.of.slot, ParentSlot: n.parentSlot},
	}})
}

func (b *banks) tellGap(s *slotBanks) { b.note(&note{kind: noteGap, first: s.slot, slot: s.slot}) }

// interim handles a status that belongs to a slot, not to a bank. It returns whether that status
// came before.
func (b *banks) interim(slot uint64, status pb.SlotStatus, parent *uint64) (repeated bool) {
	s, bit := b.slot(slot), uint32(1)<<(uint32(status)&31)
	if s.interims&bit != 0 {
		return true
	}
	s.interims |= bit
	b.note(&note{kind: noteInterim, slot: slot, interim: status, end: &eventspb.StreamBlock{Slot: slot, ParentSlot: parent}})
	return false
}

// finish tells the end of a bank once both its status PROCESSED and its block have come. Servers do
// not agree on which of the two comes first, and whether transactions come between them. If more
// than endsKept banks have only one of the two, finish stops waiting for the bank with the lowest
// slot: a told bank that has the status is told as ended without its block.
func (b *banks) finish(n *bank) {
	switch {
	case n.state == bankPending && n.block != nil:
		b.resolve(n)
		return
	case n.state == bankTold && !n.ended && n.executed && n.block != nil:
		b.end(n, n.block)
		return
	}
	var lowest *bank
	incomplete := 0
	for _, s := range b.slots {
		for _, n := range s.list {
			if n.executed == (n.block != nil) || n.ended || n.old || n.state != bankTold && n.state != bankPending {
				continue
			}
			if incomplete++; lowest == nil || s.slot < lowest.of.slot {
				lowest = n
			}
		}
	}
	switch {
	case incomplete <= endsKept:
	case lowest.state == bankPending:
		b.resolve(lowest)
	case lowest.executed:
		b.end(lowest, &eventspb.StreamBlock{Slot: lowest.of.slot, ParentSlot: lowest.parentSlot})
	default:
		lowest.ended = true // the block came: do not wait for PROCESSED any more
	}
}

func (b *banks) end(n *bank, block *eventspb.StreamBlock) {
	n.ended = true
	b.show(n, logItem{note: &note{at: levelProcessed, kind: noteProcessed, slot: n.of.slot, bank: n.id, end: block}})
}

// withdraw sets a told bank and its descendants aside, and tells clients of each, children first.
func (b *banks) withdraw(n *bank, state bankState, why string) {
	for _, child := range slices.Backward(b.descendants(n)) {
		b.takeBack(child, bankOrphan, whyOrphan, child.id)
	}
	b.takeBack(n, state, why, n.id)
}

// takeBack sets one told bank aside. If clients have any of its content, it tells them that the
// bank with this id is dead.
func (b *banks) takeBack(n *bank, state bankState, why string, id uint64) {
	s := n.of
	n.state, n.ended, s.told = state, false, nil
	if n.shown {
		s.void = true
		b.note(&note{kind: noteDead, slot: s.slot, bank: id, why: why})
	}
}

// after returns the known slots after a slot, in ascending order.
func (b *banks) after(slot uint64) (list []*slotBanks) {
	for s := range maps.Values(b.slots) {
		if s.slot > slot {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b *slotBanks) int {
		if a.slot < b.slot {
			return -1
		}
		return 1
	})
	return list
}

// descendants returns the told descendants of a bank, in ascending order of their slots. It leaves
// out confirmed banks and those that follow them.
func (b *banks) descendants(n *bank) (told []*bank) {
	family := map[*bank]bool{n: true}
	for _, s := range b.after(n.of.slot) {
		for _, d := range s.list {
			if p := b.parentOf(d); p == nil || !family[p] || d == s.winner {
				continue
			}
			family[d] = true
			if d == s.told {
				told = append(told, d)
			}
		}
	}
	return told
}

// restore tells orphans of later slots again whose parent is a told bank, as far as their own slot
// has no told bank and is not decided otherwise.
func (b *banks) restore(after uint64) {
	for _, s := range b.after(after) {
		for _, d := range slices.Backward(s.list) {
			if d.state != bankOrphan || s.told != nil || s.skipped || s.winner != nil && s.winner != d {
				continue
			}
			if p := b.parentOf(d); p != nil && p.state == bankTold {
				b.tell(d)
				break
			}
		}
	}
}

// parentOf returns the bank that n follows; nil if that is not known. It is the bank with
// n.parentHash. As long as one of the two hashes is not known, it is the bank whose serial is
// n.parent.
func (b *banks) parentOf(n *bank) *bank {
	if n.parentSlot == nil || b.slots[*n.parentSlot] == nil {
		return nil
	}
	s := b.slots[*n.parentSlot]
	if p := s.byHash(n.parentHash); p != nil {
		return p
	}
	for _, p := range s.list {
		if p.serial == n.parent && (p.hash == pubkey.Key{} || n.parentHash == pubkey.Key{}) {
			return p
		}
	}
	return nil
}

// parentAside returns whether a bank follows one that is set aside.
func (b *banks) parentAside(n *bank) bool {
	p := b.parentOf(n)
	return p != nil && p.state != bankTold && p.state != bankPending
}

// settle corrects what clients were told, after the hash or the parent of a bank became known. The
// bank, or one that follows it, may turn out to have a parent that is set aside: then it is
// withdrawn. Or it may turn out to have a told parent: then it is told again.
func (b *banks) settle(n *bank) {
	s := n.of
	switch {
	case n.state == bankTold && s.winner != n && b.parentAside(n):
		b.withdraw(n, bankOrphan, whyOrphan)
	case n.state == bankTold, n.state == bankOrphan:
		if p := b.parentOf(n); n.state == bankOrphan && p != nil && p.state == bankTold && s.told == nil && !s.skipped {
			b.tell(n)
		}
		b.restore(s.slot)
	case n.state == bankReplaced, n.state == bankDead:
		told := b.descendants(n)
		for _, child := range slices.Backward(told) {
			b.takeBack(child, bankOrphan, whyOrphan, child.id)
		}
	}
}
