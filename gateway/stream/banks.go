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
// Guarantees: clients are told at most one bank of a slot at a time, the told bank. Before they get
// content of another bank of the slot, the told bank and its descendants are withdrawn: each by one
// noteDead, children first. So a client that drops all it has of a slot with each noteDead has the
// content of the told banks. A bank that the log confirms becomes the told bank, also if it was
// withdrawn before, and is never withdrawn after that. A bank that only the node confirms is
// withdrawn if the log names another one. The memory is bounded whatever the node sends. banks uses
// no clock and no network.
//
// The node gives each bank an id, which is valid for one connection. A server may send no ids: then
// an update belongs to the bank of its slot that began last, and a second CREATED_BANK or another
// hash of the block begins another bank. After a reconnect, a new bank is pending if banks of its
// slot are known: its content is held until the hash of its block shows which of the known banks it
// is, or that it is another one.
//
// Entry updates are not needed. If the block of a bank changes its parent, the node clears the bank
// and says so in an entry_update_parent; no SLOT_DEAD comes. After that it creates another bank of
// the slot, which withdraws the cleared one, or the chain goes on without the slot, which withdraws
// it, too. Late updates of the cleared bank are known by its id.
type banks struct {
	slots map[uint64]*slotBanks
	// order are the slots in the order in which they came; the first one is forgotten first.
	order []uint64
	// serial is the serial number of the latest bank; it counts over all connections.
	serial uint64
	// repeats are the transactions that came, by the serial of their bank.
	repeats *repeats
	// held are the bytes of the transactions in the banks' lists.
	held int
	// items are what clients are to be told next. take removes them.
	items []logItem
}

// slotBanks are the banks of a slot, in the order in which they began.
type slotBanks struct {
	slot uint64
	list []*bank
	// told is the bank that clients know; nil if there is none.
	told *bank
	// last is the bank that updates without an id belong to: the bank that began last in this
	// connection; nil after a death.
	last *bank
	// winner is the bank that is confirmed; named is the confirmed block's hash, which the log may
	// tell before the node. Zero values if they are not known.
	winner *bank
	named  pubkey.Key
	// skipped says that the confirmed chain has no block here. died says that the slot's last bank
	// died. void says that clients were told of a death or a withdrawal, and of no bank since.
	skipped, died, void bool
	// interims has a bit for each status that clients were told and that belongs to the slot, not
	// to a bank.
	interims uint32
}

// bank is one bank of a slot.
type bank struct {
	of *slotBanks
	// id is the id that the node gave; 0 if it gave none. It is valid only in the connection in
	// which it came. old says that this connection is over.
	id     uint64
	old    bool
	serial uint64
	state  bankState
	// hash is the hash of the bank's block, parentHash that of the parent's block; zero until they
	// are known.
	hash, parentHash pubkey.Key
	// parentSlot is nil until it is known. parent is the serial of the bank that the parent slot
	// had when parentSlot became known; 0 if it had none.
	parentSlot *uint64
	parent     uint64
	// created and executed are the statuses that came; block is nil until the block came. shown
	// says that clients were told something of the bank since it became the told bank, ended that
	// they were told its end.
	created, executed, shown, ended bool
	block                           *eventspb.StreamBlock
	// list are the transactions, for when the bank becomes the told bank, perhaps again. It is
	// emptied when a bank of the slot is confirmed, or if too many bytes are held. lost says that
	// list may lack transactions.
	list []*transaction
	lost bool
	// count is how many transactions came; atBlock is count when the block came. matched is how
	// many transactions of a pending bank the told bank has, too.
	count, atBlock, matched int
}

type bankState uint8

const (
	// bankTold is the slot's told bank.
	bankTold bankState = iota
	// bankReplaced is set aside, which means that clients do not have it, for another bank of the
	// slot or because the slot is skipped.
	bankReplaced
	bankDead
	// bankOrphan is set aside because its parent is.
	bankOrphan
	// bankPending is a bank of which it is not known yet whether it is one of the banks from before
	// a reconnect.
	bankPending
)

const (
	// bankSlots bounds the slots that are known, banksOfSlot the banks of one slot. 512 slots are a
	// minute and a half, which is more than a node replays.
	bankSlots   = 512
	banksOfSlot = 8
	// banksHeld bounds the bytes of the transactions that are held until their slot is confirmed.
	// On mainnet these are some 10 MB.
	banksHeld = 64 << 20
	// endsKept bounds the banks that wait because only the status PROCESSED or only the block came:
	// a server may leave out blocks.
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

// find returns the bank with an id of this connection, or, for id 0, s.last; nil if there is none.
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

// byHash returns the bank with a block hash: the told bank, if several have that hash; nil if none
// has it.
func (s *slotBanks) byHash(hash pubkey.Key) (found *bank) {
	for _, n := range s.list {
		if n.hash == hash && hash != (pubkey.Key{}) && (found == nil || n == s.told) {
			found = n
		}
	}
	return found
}

// begin adds a new bank to a slot and finds its state. The bank is pending if banks of an earlier
// connection are known. It is dead if it has only late updates of a bank that died. Otherwise
// promote decides.
func (b *banks) begin(s *slotBanks, id uint64, parent *uint64, created bool) *bank {
	b.serial++
	n := &bank{of: s, id: id, serial: b.serial, state: bankReplaced, created: created}
	dead := s.died && id == 0 && !created // late updates of the bank that died
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
		b.promote(n)
	}
	return n
}

// join adds a bank to the list of its slot. If the list is full, it forgets the oldest bank that is
// neither told nor confirmed.
func (b *banks) join(n *bank) {
	s := n.of
	if len(s.list) >= banksOfSlot {
		i := slices.IndexFunc(s.list, func(other *bank) bool { return other != s.told && other != s.winner })
		b.drop(s.list[i])
		s.list = slices.Delete(s.list, i, i+1)
	}
	s.list = append(s.list, n)
}

// bankOf returns the bank that an update about content belongs to. If the bank is new, bankOf
// begins it.
func (b *banks) bankOf(slot, id uint64) *bank {
	s := b.slot(slot)
	if n := s.find(id); n != nil {
		return n
	}
	return b.begin(s, id, nil, false)
}

// setParent notes the slot and the block hash of a bank's parent; nil and zero are not known. A
// parent that is not below the bank's slot is malformed and left out.
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

// created handles CREATED_BANK. It returns whether that status came before.
func (b *banks) created(slot, id uint64, parent *uint64) (repeated bool) {
	s := b.slot(slot)
	n := s.find(id)
	switch {
	// A new bank begins: n is not known, or it died, or, without ids, it was created already or has
	// content.
	case n == nil, n.state == bankDead && (n.created || id == 0), id == 0 && (n.created || n.count > 0 || n.executed || n.block != nil):
		if n != nil && id != 0 {
			n.id = 0 // the id is now that of the new bank
		}
		// What came before CREATED_BANK may have been content of this bank.
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
		// The bank's content came before CREATED_BANK, and between the two another bank or a death.
		n.state = bankReplaced
		b.promote(n)
	case bankOrphan, bankPending:
	}
	return false
}

// transaction handles a transaction. It returns whether the transaction came before.
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

// add appends a transaction that the bank does not have yet, and tells it if the bank is the told
// bank.
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

// executed handles the status PROCESSED. It returns whether that status came before.
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

// blockCame handles the block of a bank. It returns whether the block came before.
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

// split begins another bank for a second block of a slot, if the server sends neither ids nor a
// second CREATED_BANK. The transactions that came after the first block belong to the new bank.
// Those that both blocks have were left out as repeats, so clients are told a gap, too.
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

// notWhole notes that transactions of a bank may be missing, and tells clients if it is the told
// bank.
func (b *banks) notWhole(n *bank) {
	if n.lost = true; n.state == bankTold {
		b.tellGap(n.of)
	}
}
