package stream

import (
	"errors"
	"slices"

	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// banks knows which banks of which slots clients at levelProcessed were told of. A bank is one
// execution of a block of a slot: a node may execute two blocks of a slot, one after the other.
//
// In: what the source's node says of banks, and what the log says of confirmed blocks.
// Out: items, which clients are told in this order.
// Guarantees: at most one bank of a slot is told at a time. Before the content of another one, the
// first and its descendants are withdrawn: each by one noteDead, children first. So a client that
// drops all that it was told of a slot with each noteDead has the told banks. A bank that the log
// confirms is told, again if it was withdrawn, and is never withdrawn after that; one that the node
// confirms, only if the log names another. The memory is bounded whatever the node says. It is
// pure: no clock, no network.
//
// Banks are known by the ids that the node gives them, as long as the connection lives. A server
// may send none: then updates belong to the bank of the slot that was created last, and a second
// CREATED_BANK or another hash of the block begins another bank. After a reconnect a bank is
// pending if its slot was told before: its content is held until the hash of its block shows which
// of the known banks it is, or that it is another one.
//
// Entry updates are not needed. A node that clears a bank because its block changes its parent
// says so in an entry_update_parent, and no SLOT_DEAD comes. But then it creates another bank of
// the slot, which withdraws the first, or none: then the chain goes on without the slot. What comes
// of the cleared bank after that is known by its id.
type banks struct {
	slots map[uint64]*slotBanks
	// order are the slots in the order in which they came; the first is the first to be forgotten.
	order []uint64
	// serial numbers the banks over all connections.
	serial uint64
	// repeats are the transactions that came, by the serial of their bank.
	repeats *repeats
	// held are the bytes of the transactions in the banks' lists.
	held int
	// items is what clients are to be told. The caller takes it.
	items []logItem
}

// slotBanks are the banks of a slot, in the order in which they began.
type slotBanks struct {
	slot uint64
	list []*bank
	// told is the bank that clients know; nil if there is none.
	told *bank
	// last is the bank that updates without an id belong to: the last one that began in this
	// connection; nil after a death.
	last *bank
	// winner is the bank that is confirmed; named is the confirmed block's hash, which the log may
	// tell before the node. Zero values if they are not known.
	winner *bank
	named  pubkey.Key
	// skipped says that the confirmed chain has no block here. died says that the slot's last bank
	// died, void that clients were told of a death or a withdrawal and of no bank since.
	skipped, died, void bool
	// interims has a bit for each status that was told and names no bank.
	interims uint32
}

// bank is one bank of a slot.
type bank struct {
	of *slotBanks
	// id is the node's; 0 if it tells none. It counts in the connection that told it: old says that
	// this one is over.
	id     uint64
	old    bool
	serial uint64
	state  bankState
	// hash is that of its block, parentHash that of the parent's block; zero until they are known.
	hash, parentHash pubkey.Key
	// parentSlot is nil until it is known. parent is the serial of the bank that the parent slot
	// had then; 0 if it had none.
	parentSlot *uint64
	parent     uint64
	// created and executed are the statuses that came; block is nil until the block came. shown
	// says that clients know something of the told bank, ended that they were told of its end.
	created, executed, shown, ended bool
	block                           *eventspb.StreamBlock
	// list are the transactions, to be told again. It is empty once another bank or this one is
	// confirmed. lost says that transactions of it were dropped before that.
	list []*transaction
	lost bool
	// count is how many transactions came; atBlock is count when the block came. matched is how
	// many of a pending bank's are the told bank's, too.
	count, atBlock, matched int
}

type bankState uint8

const (
	// bankTold is the slot's told bank.
	bankTold bankState = iota
	// bankReplaced is set aside for another bank of the slot, or because the slot is skipped.
	bankReplaced
	bankDead
	// bankOrphan is set aside because its parent is.
	bankOrphan
	// bankPending is a bank of which nobody knows yet whether it is one of those before a
	// reconnect.
	bankPending
)

const (
	// bankSlots and banksOfSlot bound the banks that are known. A minute and a half of slots is
	// more than a node replays.
	bankSlots   = 512
	banksOfSlot = 8
	// banksHeld bounds the bytes of transactions that are held until their slot is confirmed: on
	// mainnet some 10 MB.
	banksHeld = 64 << 20
	// endsKept bounds the told banks of which only the status or only the block came: a server may
	// leave out blocks.
	endsKept = 16
)

var errHashes = errors.New("two block hashes of one bank")

func newBanks() *banks { return &banks{slots: map[uint64]*slotBanks{}, repeats: newRepeats()} }

// take returns the items since the last call.
func (b *banks) take() []logItem {
	items := b.items
	b.items = nil
	return items
}

func (b *banks) note(n *note) {
	n.at = levelProcessed
	b.items = append(b.items, logItem{note: n})
}

// slot returns the banks of a slot. If too many slots are known, it forgets the one that came
// first.
func (b *banks) slot(slot uint64) *slotBanks {
	s := b.slots[slot]
	if s != nil {
		return s
	}
	if len(b.order) >= bankSlots {
		b.release(b.slots[b.order[0]])
		delete(b.slots, b.order[0])
		b.order = b.order[1:]
	}
	s = &slotBanks{slot: slot}
	b.slots[slot] = s
	b.order = append(b.order, slot)
	return s
}

// find returns the bank of this connection with an id, or, for id 0, the last one; nil if there is
// none.
func (s *slotBanks) find(id uint64) *bank {
	if id == 0 {
		return s.last
	}
	for _, n := range slices.Backward(s.list) {
		if n.id == id && !n.old {
			return n
		}
	}
	return nil
}

// byHash returns the bank with a hash: the told one, if several have it; nil if there is none.
func (s *slotBanks) byHash(hash pubkey.Key) (found *bank) {
	for _, n := range s.list {
		if n.hash == hash && hash != (pubkey.Key{}) && (found == nil || n == s.told) {
			found = n
		}
	}
	return found
}

// begin adds a bank and finds its state. The bank takes the place of the told one, unless that is
// confirmed, or nobody knows yet whether it is another one.
func (b *banks) begin(s *slotBanks, id uint64, parent *uint64, created bool) *bank {
	b.serial++
	n := &bank{of: s, id: id, serial: b.serial, state: bankReplaced, created: created}
	dead := s.died && id == 0 && !created // updates that came late
	pending := slices.ContainsFunc(s.list, func(other *bank) bool { return other.old })
	b.join(n)
	s.last = n
	b.setParent(n, parent, pubkey.Key{})
	switch {
	case pending:
		n.state = bankPending
	case dead:
		n.state = bankDead
	default:
		b.comeNew(n)
	}
	return n
}

// join adds a bank to its slot's. If there are too many, it forgets one that is not told.
func (b *banks) join(n *bank) {
	s := n.of
	if len(s.list) >= banksOfSlot {
		i := slices.IndexFunc(s.list, func(other *bank) bool { return other != s.told && other != s.winner })
		b.drop(s.list[i])
		s.list = slices.Delete(s.list, i, i+1)
	}
	s.list = append(s.list, n)
}

// bankOf returns the bank of an update about its content; it begins if it is new.
func (b *banks) bankOf(slot, id uint64) *bank {
	s := b.slot(slot)
	if n := s.find(id); n != nil {
		return n
	}
	return b.begin(s, id, nil, false)
}

// setParent notes what is known of a bank's parent. A malformed parent is left out.
func (b *banks) setParent(n *bank, slot *uint64, hash pubkey.Key) {
	if slot == nil || *slot >= n.of.slot {
		return
	}
	if hash != (pubkey.Key{}) {
		n.parentHash = hash
	}
	if n.parentSlot != nil && *n.parentSlot == *slot {
		return
	}
	n.parentSlot, n.parent = slot, 0
	if s := b.slots[*slot]; s != nil {
		switch {
		case s.last != nil:
			n.parent = s.last.serial
		case s.told != nil:
			n.parent = s.told.serial
		}
	}
}

// created handles CREATED_BANK. It returns whether that came before.
func (b *banks) created(slot, id uint64, parent *uint64) (repeated bool) {
	s := b.slot(slot)
	n := s.find(id)
	switch {
	case n == nil, n.state == bankDead && (n.created || id == 0), id == 0 && (n.created || n.count > 0 || n.executed || n.block != nil):
		if n != nil && id != 0 {
			n.id = 0 // the node began the same bank again
		}
		// What came before may have been of this bank.
		uncertain := id == 0 && n != nil && !n.created && n.state != bankDead
		n = b.begin(s, id, parent, true)
		if uncertain {
			b.notWhole(n)
		}
		return n.state == bankPending && s.told != nil && s.told.created
	case n.created:
		return true
	}
	n.created = true
	b.setParent(n, parent, pubkey.Key{})
	switch n.state {
	case bankTold:
		b.tellCreated(n)
		b.settle(n)
	case bankReplaced, bankDead:
		// Its content came before this, and another bank, or a death, after that.
		n.state = bankReplaced
		b.comeNew(n)
	case bankOrphan, bankPending:
	}
	return false
}

// transaction handles a transaction. It returns whether that came before.
func (b *banks) transaction(t *transaction) (repeated bool) {
	n := b.bankOf(t.slot, t.bank)
	if b.repeats.addOf(n.serial, t) {
		return true
	}
	if n.state == bankPending {
		for _, other := range n.of.list {
			if other.old && b.repeats.hasOf(other.serial, t) {
				repeated = true
				if other == n.of.told {
					n.matched++
				}
			}
		}
	}
	b.add(n, t)
	return repeated
}

// add appends a transaction that is new to a bank.
func (b *banks) add(n *bank, t *transaction) {
	n.count++
	if n.state == bankTold {
		b.show(n, logItem{tx: t})
	}
	if n.of.winner != nil && n.state != bankPending {
		n.lost = true // nothing is told again once the slot is confirmed
		return
	}
	t = t.withoutCache()
	n.list = append(n.list, t)
	b.held += t.size()
	for i := 0; b.held > banksHeld && i < len(b.order); i++ {
		b.release(b.slots[b.order[i]])
	}
}

// drop forgets the transactions of a bank.
func (b *banks) drop(n *bank) {
	for _, t := range n.list {
		b.held -= t.size()
	}
	n.lost = n.lost || len(n.list) > 0
	n.list = nil
}

// release forgets the transactions of all banks of a slot.
func (b *banks) release(s *slotBanks) {
	for _, n := range s.list {
		b.drop(n)
	}
}

// executed handles the status PROCESSED. It returns whether that came before.
func (b *banks) executed(slot, id uint64, parent *uint64) (repeated bool) {
	n := b.bankOf(slot, id)
	if n.executed {
		return true
	}
	n.executed = true
	b.setParent(n, parent, pubkey.Key{})
	b.settle(n)
	repeated = n.state == bankPending && n.of.told != nil && n.of.told.executed
	b.finish(n)
	return repeated
}

// blockCame handles the block of a bank. It returns whether that came before.
func (b *banks) blockCame(id uint64, block *eventspb.StreamBlock) (repeated bool, err error) {
	slot, hash := block.GetSlot(), pubkey.Key(block.GetBlockhash())
	n := b.bankOf(slot, id)
	switch {
	case n.hash == hash:
		return true, nil
	case n.hash != (pubkey.Key{}) && id != 0:
		return false, errHashes
	case n.hash != (pubkey.Key{}):
		n = b.split(n)
	}
	s := n.of
	repeated = n.state == bankPending && s.byHash(hash) != nil
	n.hash, n.block, n.atBlock = hash, block, n.count
	b.setParent(n, block.ParentSlot, pubkey.Key(block.GetParentBlockhash()))
	if n.state != bankPending {
		if s.winner == n && (s.named == hash || s.named == pubkey.Key{}) {
			b.decide(n) // now its ancestors are known
		}
		b.decideNamed(s)
		b.settle(n)
	}
	b.finish(n)
	return repeated, nil
}

// split begins another bank for a second block of a slot, where the server tells neither ids nor
// of a second CREATED_BANK. What came after the first block belongs to the second. What both blocks
// have was left out as a repeat, so the slot is told as a gap, too.
func (b *banks) split(n *bank) *bank {
	begins := min(n.atBlock, len(n.list))
	rest := n.list[begins:]
	n.list = n.list[:begins:begins]
	next := b.begin(n.of, 0, nil, false)
	for _, t := range rest {
		b.held -= t.size()
		b.repeats.addOf(next.serial, t)
		b.add(next, t)
	}
	b.notWhole(next)
	return next
}

// notWhole notes that transactions of a bank may be missing.
func (b *banks) notWhole(n *bank) {
	if n.lost = true; n.state == bankTold {
		b.tellGap(n.of)
	}
}
