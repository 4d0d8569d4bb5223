package state

import (
	"time"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/venue"
)

// maxBanks is how many banks of one slot are kept. A leader that signs two blocks makes two. If
// there are more, those that were set aside first are forgotten.
const maxBanks = 8

// bank is one version of a slot's block, as a node executes it. A slot gets a second one if the
// node changes over to another block of the slot.
type bank struct {
	slot *slot
	// id is the node's name of the bank, valid for one connection; 0 if none was told.
	id uint64
	// hash is that of its block; zero if none was told. parentHash is that of its parent's.
	hash, parentHash pubkey.Key
	// parent is the slot of its parent, 0 if none was told. below is the bank that was current
	// there when it was told: servers that tell no hashes leave nothing else to go by.
	parent uint64
	below  *bank
	// announced says that a status told its creation. complete says that all of its writes have
	// come. aside says that another bank of the slot was created after it.
	announced, complete, dead, aside bool
	// fork says that the bank is on the head's fork. Only choose sets it.
	fork bool
	// leads, lost and turn are what choose last found: the bank leads to the root; a block below it
	// is missing; and when that was.
	leads, lost bool
	turn        uint64
	// over is the parent on the way to the root, nil at its end.
	over       *bank
	blockTime  int64
	receivedAt time.Time
	// keys are the accounts of which it has a version.
	keys []venue.Key
	// writes came before it was complete; kept only if steps are wanted.
	writes []Write
}

// slot is a slot after the root.
type slot struct {
	number uint64
	// banks are in the order in which they were told. current is the one that is quoted until a
	// status names one; nil if nobody knows which that is.
	banks   []*bank
	current *bank
	// confirmed says that the slot is, and final that it is final. named is its confirmed bank; nil
	// if that is not known yet. hash is the confirmed block's; zero if none was told.
	confirmed, final bool
	named            *bank
	hash             pubkey.Key
	// guessed says that the status named no bank, although there are several.
	guessed bool
	// dead says that the slot was dead before any bank of it was told.
	dead bool
	// mixed says that there are several banks, of which one has no id. Writes without an id may be
	// of any of them.
	mixed bool
	// reading has the versions that calls read. They are of the confirmed bank, whichever that is.
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

// find returns the bank with an id; nil if there is none. A first bank without an id takes it over.
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

// latest returns the bank that an update without an id is of; nil if there is none.
func (s *slot) latest() *bank {
	switch {
	case s.current != nil:
		return s.current
	case len(s.banks) > 0:
		return s.banks[len(s.banks)-1]
	}
	return nil
}

// open returns the bank whose block has the hash, or else the last one whose block has not come, or
// else the last one; nil if there is none.
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

// read returns the bank of what calls read.
func (s *slot) read() *bank {
	if s.reading == nil {
		s.reading = &bank{slot: s, fork: s.named != nil && s.named.fork}
	}
	return s.reading
}

// name records the bank that is confirmed. guess says that it is only probable.
func (s *slot) name(b *bank, guess bool) {
	s.confirmed, s.named, s.guessed, s.dead, b.dead = true, b, guess, false, false
	if b.complete {
		s.hash = b.hash
	}
}

// settle names the confirmed bank of a slot whose confirmation came first, if b is that bank.
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
