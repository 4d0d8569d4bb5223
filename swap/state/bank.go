package state

import (
	"time"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/venue"
)

// maxBanks is how many banks of one slot are kept. A leader that signs two blocks makes two. If
// there are more, the oldest that is neither confirmed nor quoted is forgotten.
const maxBanks = 8

// bank is what a node makes of one block of a slot by executing it. A slot gets a second bank if
// the node changes over to another block of the slot.
type bank struct {
	slot *slot
	// id is the node's name of the bank, valid for one connection; 0 if none was told.
	id uint64
	// hash is the hash of its block, parentHash that of its parent's block; zero if none was told.
	hash, parentHash pubkey.Key
	// parent is the slot of its parent, 0 if none was told. below is the bank that was current in
	// that slot when the parent was told. It stands for the parent if the server tells no hashes.
	parent uint64
	below  *bank
	// announced says that a status told its creation. complete says that all of its writes have
	// come. aside says that another bank of the slot was created after it.
	announced, complete, dead, aside bool
	// fork says that the bank is on the head's fork. Only choose sets it.
	fork bool
	// leads and lost are what choose found last: leads says that the bank leads to the root, lost
	// that a block below it is missing. turn is the number of the last call of choose that had the
	// bank on the head's fork.
	leads, lost bool
	turn        uint64
	// over is the parent on the way to the root; nil if the root is the parent.
	over       *bank
	blockTime  int64
	receivedAt time.Time
	// keys are the accounts of which the bank has a version.
	keys []venue.Key
	// writes are those that came before the bank was complete. They are kept only if Fold.steps is
	// set.
	writes []Write
}

// slot is a slot after the root.
type slot struct {
	number uint64
	// banks are in the order in which they were told. current is the bank that is quoted until a
	// status says which bank is confirmed; nil if it is not certain which one to quote.
	banks   []*bank
	current *bank
	// confirmed and final say that the slot has this status. named is its confirmed bank; nil if
	// that is not known yet. hash is the hash of the confirmed block; zero if none was told.
	confirmed, final bool
	named            *bank
	hash             pubkey.Key
	// guessed says that named is only probable: the status named no bank, although there are
	// several.
	guessed bool
	// dead says that the slot was dead before any bank of it was told.
	dead bool
	// mixed says that there are several banks, of which one has no id. Writes without an id may be
	// of any of them.
	mixed bool
	// reading stands for a bank that has the versions which calls read. They belong to the
	// confirmed bank, whichever that is.
	reading *bank
}

// eligible returns whether a bank may be on the head's fork, as far as its own slot says.
func (s *slot) eligible(b *bank) bool {
	if !b.complete {
		return false
	}
	if s.confirmed {
		return b == s.named
	}
	return b == s.current && !b.dead && !s.mixed
}

// find returns the bank with an id; nil if there is none. If the slot has one bank, and that has no
// id yet, it gets this id.
func (s *slot) find(id uint64) *bank {
	for _, b := range s.banks {
		if b.id == id {
			return b
		}
	}
	if len(s.banks) == 1 && s.banks[0].id == 0 {
		s.banks[0].id = id
		return s.banks[0]
	}
	return nil
}

// latest returns the bank to which an update without a bank id belongs; nil if there is none.
func (s *slot) latest() *bank {
	switch {
	case s.current != nil:
		return s.current
	case len(s.banks) > 0:
		return s.banks[len(s.banks)-1]
	}
	return nil
}

// open returns the bank to which a block without a bank id belongs: a complete bank whose block has
// this hash, because the block came twice, or else the last bank whose block has not come. Without
// both it returns nil: the block is of a new bank. An announced bank goes before one that is not.
func (s *slot) open(hash pubkey.Key) (last *bank) {
	for _, b := range s.banks {
		if hash != (pubkey.Key{}) && b.complete && b.hash == hash {
			return b
		}
		if last == nil || last.complete && !b.complete || last.complete == b.complete && (b.announced || !last.announced) {
			last = b
		}
	}
	if last != nil && last.complete && last.hash != hash {
		return nil
	}
	return last
}

// read returns s.reading, which it makes at the first call.
func (s *slot) read() *bank {
	if s.reading == nil {
		s.reading = &bank{slot: s, fork: s.named != nil && s.named.fork}
	}
	return s.reading
}

// name records that b is the confirmed bank. guess says that this is only probable.
func (s *slot) name(b *bank, guess bool) {
	s.confirmed, s.named, s.guessed, s.dead, b.dead = true, b, guess, false, false
	if b.complete {
		s.hash = b.hash
	}
}

// settle names b as the confirmed bank if the slot was confirmed before b was complete, and b is
// that bank.
func (s *slot) settle(b *bank) {
	switch {
	case !s.confirmed || !b.complete:
	case s.named == b:
		s.hash = b.hash
	case s.named != nil:
	case s.hash != (pubkey.Key{}):
		if b.hash == s.hash {
			s.name(b, false)
		}
	case b == s.current || len(s.banks) == 1:
		s.name(b, len(s.banks) > 1)
	}
}
