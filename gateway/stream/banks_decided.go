package stream

import (
	"slices"

	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// maxSkipped bounds how many slots before a confirmed block are remembered as skipped. A leader's
// window has 4 slots.
const maxSkipped = 64

// confirmed handles a status CONFIRMED or FINALIZED of the node. The two may come in any order, and
// one without the other; both say the same here. A status without an id names no bank and is
// ignored: the log tells the hash of the confirmed block soon.
func (b *banks) confirmed(slot, id uint64) {
	if id == 0 {
		return
	}
	s := b.slot(slot)
	if s.winner != nil {
		return
	}
	told := s.told
	n := b.bankOf(slot, id)
	b.decide(n)
	if told != nil && told != n && n.count == 0 {
		b.notWhole(n) // the node has not sent its content yet
	}
}

// confirmedBlock handles the end of a slot in the log. The log has only confirmed blocks, so it
// overrules the node.
func (b *banks) confirmedBlock(block *eventspb.StreamBlock) {
	if len(block.GetBlockhash()) != len(pubkey.Key{}) {
		return // the source tells no hashes
	}
	s, hash := b.slot(block.GetSlot()), pubkey.Key(block.GetBlockhash())
	if s.named == hash {
		return
	}
	s.named, s.skipped = hash, false
	b.decideNamed(s)
	if block.ParentSlot != nil {
		b.skip(block.GetParentSlot(), s.slot)
	}
	b.giveUp(s.slot)
}

// giveUp withdraws told banks of slots more than replayBack below a confirmed slot, if the log has
// named the block hash of the slot but the bank's own hash never came: the connection broke, and
// the node did not send the bank again. So it is not known whether the bank is the confirmed one.
func (b *banks) giveUp(confirmed uint64) {
	for _, slot := range b.order {
		if s := b.slots[slot]; s.slot+replayBack < confirmed && s.named != (pubkey.Key{}) && s.told != nil && s.told != s.winner {
			b.withdraw(s.told, bankReplaced, whyUnknown)
			b.tellGap(s)
		}
	}
}

// decideNamed finds the confirmed bank of a slot by the block hash that the log has named. While no
// bank is known to have that hash, it withdraws a told bank that has another one.
func (b *banks) decideNamed(s *slotBanks) {
	if s.named == (pubkey.Key{}) {
		return
	}
	w := s.winner
	if w != nil && (w.hash == s.named || w == s.told && w.hash == pubkey.Key{}) {
		return // w has this hash, or may have it: its own is not known yet
	}
	if n := s.byHash(s.named); n != nil {
		b.decide(n)
		return
	}
	s.winner = nil
	if s.told != nil && s.told.hash != (pubkey.Key{}) {
		b.withdraw(s.told, bankReplaced, whyConfirmed)
		b.tellGap(s) // the node has not sent the confirmed bank yet
	}
}

// decide makes a bank the confirmed one of its slot, and its ancestors the confirmed ones of their
// slots, as far as hashes link them. It tells each of these banks that is not told, parents first,
// and withdraws other told banks of their slots.
func (b *banks) decide(n *bank) {
	var chain []*bank
	for p := n; p != nil; p = b.parentOf(p) {
		if p != n && (p.of.winner != nil || p.hash == pubkey.Key{} || p.hash != chain[len(chain)-1].parentHash) {
			break
		}
		p.of.winner, p.of.skipped = p, false
		if p.state == bankPending {
			break // resolve calls decide again
		}
		chain = append(chain, p)
	}
	for _, p := range slices.Backward(chain) {
		if p.parentSlot != nil {
			b.skip(*p.parentSlot, p.of.slot)
		}
		b.replace(p, whyConfirmed)
		p.executed = true // the status PROCESSED may be missing
		b.finish(p)
		b.release(p.of)
	}
	if len(chain) > 0 {
		b.restore(chain[len(chain)-1].of.slot)
	}
}

// skip notes that the confirmed chain has no block in the slots between parent and slot, and
// withdraws the told banks of these slots.
func (b *banks) skip(parent, slot uint64) {
	for between := max(parent+1, slot-min(slot, maxSkipped)); between < slot; between++ {
		s := b.slot(between)
		if s.winner != nil || s.named != (pubkey.Key{}) {
			continue
		}
		s.skipped = true
		if s.told != nil {
			b.withdraw(s.told, bankReplaced, deadFork)
		}
	}
}

// dies handles SLOT_DEAD of the node. id names the bank that died; it is 0 if the node names none.
// A slot with a confirmed bank does not die: dies ignores the status. It returns false if it has
// told clients of the death.
func (b *banks) dies(slot, id uint64, why string) (repeated bool) {
	s := b.slot(slot)
	if s.winner != nil {
		return true
	}
	n := s.find(id)
	switch {
	case n == nil && id != 0:
		b.serial++
		n = &bank{of: s, id: id, serial: b.serial, state: bankDead}
		b.join(n)
	case n == nil:
		n = s.told // it is of an earlier connection
	case n.state == bankPending:
		if known := s.twin(n); known != nil {
			b.merge(known, n)
			n = known
		}
	}
	if id == 0 || n == s.last {
		s.last, s.died = nil, true
	}
	if n != nil && n.state == bankTold {
		for _, child := range slices.Backward(b.descendants(n)) {
			b.takeBack(child, bankOrphan, whyOrphan, child.id)
		}
		if b.takeBack(n, bankDead, why, id); s.void {
			return false
		}
	} else if n != nil {
		n.state = bankDead
	}
	return b.tellDead(s, id, why)
}

// tellDead tells clients that a slot without a told bank is dead, unless they know already: then it
// returns true.
func (b *banks) tellDead(s *slotBanks, id uint64, why string) (repeated bool) {
	if s.told != nil || s.void {
		return true
	}
	s.void = true
	b.note(&note{kind: noteDead, slot: s.slot, bank: id, why: why})
	return false
}

// deadBlock handles a dead slot of the log: the node may have called its block invalid, or the
// chain goes on without it. quiet says that the death itself is not told: clients are told only
// that a told bank is withdrawn.
func (b *banks) deadBlock(slot uint64, quiet bool) {
	s := b.slot(slot)
	if s.winner != nil || s.named != (pubkey.Key{}) {
		return
	}
	s.last, s.died = nil, true
	if s.told != nil {
		b.withdraw(s.told, bankDead, deadFork)
	}
	for _, n := range s.list {
		if n.state != bankPending {
			n.state = bankDead
		}
	}
	if !quiet {
		b.tellDead(s, 0, deadFork)
	}
}

// reconnects is called when another connection to the node begins. The ids that banks had on the
// connection before are no longer valid, so all banks are marked as old. Pending banks are dropped,
// because the node sends nothing more about them.
func (b *banks) reconnects() {
	for _, s := range b.slots {
		s.last = nil
		if s.winner != nil && s.winner.state == bankPending {
			s.winner = nil
		}
		s.list = slices.DeleteFunc(s.list, func(n *bank) bool {
			if n.state == bankPending {
				b.drop(n)
			}
			n.old = true
			return n.state == bankPending
		})
	}
}

// twin returns the bank of an earlier connection that is the same as the pending bank n: the bank
// with the same hash, or the told bank, if its hash is not known and n has all of its transactions.
// It returns nil if there is none.
func (s *slotBanks) twin(n *bank) (found *bank) {
	for _, known := range s.list {
		if known.old && known.hash == n.hash && n.hash != (pubkey.Key{}) && (found == nil || known == s.told) {
			found = known
		}
	}
	if t := s.told; found == nil && t != nil && t.old && t.hash == (pubkey.Key{}) && t.count > 0 && n.matched >= t.count {
		return t
	}
	return found
}

// resolve decides what a pending bank is: the same as a known one, into which it is merged, or
// another bank.
func (b *banks) resolve(n *bank) {
	s := n.of
	won := s.winner == n
	if won {
		s.winner = nil
	}
	known := s.twin(n)
	switch {
	case known != nil:
		b.merge(known, n)
		n = known
	case s.told != nil && s.told.serial > n.serial && !won: // a newer bank was told meanwhile
		n.state = bankReplaced
	default:
		n.state = bankReplaced
		b.promote(n)
	}
	if s.winner == nil && (won || n.hash == s.named && n.hash != pubkey.Key{}) {
		b.decide(n)
	}
}

// merge moves the ids, the statuses and the content of a pending bank into the known bank that is
// the same. Content that the known bank lacked is told.
func (b *banks) merge(known, n *bank) {
	s := n.of
	known.id, known.old, n.id = n.id, false, 0
	known.created, known.executed = known.created || n.created, known.executed || n.executed
	if known.block == nil {
		known.hash, known.block, known.atBlock = n.hash, n.block, known.count
	}
	var hash pubkey.Key
	if n.block != nil {
		hash = pubkey.Key(n.block.GetParentBlockhash())
	}
	b.setParent(known, n.parentSlot, hash)
	for _, t := range n.list {
		if !b.repeats.addOf(known.serial, t) {
			b.add(known, t)
		}
	}
	b.drop(n)
	s.list = slices.DeleteFunc(s.list, func(other *bank) bool { return other == n })
	if s.last == n {
		s.last = known
	}
	for _, other := range b.after(s.slot) {
		for _, child := range other.list {
			if child.parent == n.serial {
				child.parent = known.serial
			}
		}
	}
	b.settle(known)
	b.finish(known)
}
