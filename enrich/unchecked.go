package enrich

import (
	"cmp"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/tokenaccount"
)

// maxUnchecked bounds the reads that wait for their check, about 200 bytes each. A read that finds
// no room is not checked: in a flood of new mints the checks are a sample.
const maxUnchecked = 20_000

// said is what an upstream said of a mint at a slot: a digest of the facts, and one of their shape,
// which is everything but amounts.
type said struct {
	upstream     string
	slot         uint64
	whole, shape uint64
}

// noted is a read that waits for its check.
type noted struct {
	mint pubkey.Key
	said
	// length is how much of each account was read, in bytes.
	length uint64
	// absent says that there was no mint.
	absent bool
	at     time.Time
	// due is when the read is checked next. While it is zero, the read waits for its first check.
	due time.Time
	// against is what another upstream said later, if that differs; nil before. tries counts the
	// checks since then that decided nothing.
	against *said
	tries   int
	// contradicted says that two upstreams have said different things of one slot.
	contradicted bool
}

// readKey is the key of a read in unchecked. A later read with an equal key replaces the earlier
// one: its shape is equal, so it states anew all that the earlier one stated.
type readKey struct {
	mint     pubkey.Key
	upstream string
	shape    uint64
}

func (n *noted) key() readKey { return readKey{n.mint, n.upstream, n.shape} }

// unchecked is a bounded set of reads. Safe for concurrent use.
type unchecked struct {
	mu    sync.Mutex
	reads map[readKey]*noted
}

func newUnchecked() *unchecked { return &unchecked{reads: map[readKey]*noted{}} }

// add remembers a read. missed is 1 if there is no room for it, and so it will not be checked; else
// 0.
func (s *unchecked) add(n *noted) (missed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, known := s.reads[n.key()]
	switch {
	case known && before.slot > n.slot:
		return 0
	case !known && len(s.reads) >= maxUnchecked:
		return 1
	}
	s.reads[n.key()] = n
	return 0
}

// putBack adds a read that take returned, unless a later one has come.
func (s *unchecked) putBack(n *noted, due time.Time) {
	n.due = due
	s.add(n)
}

// hurry makes all reads of an upstream due now. A nil set has none.
func (s *unchecked) hurry(upstream string, now time.Time) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.reads {
		if n.upstream == upstream {
			n.due = now
		}
	}
}

// take removes and returns reads that are due and that one call can check, the oldest first. All of
// them are of one upstream, and either all are new, or all differ from one other upstream. A new
// read is due if it was made at readBefore or earlier, any other read when its own time has come.
// take also drops the reads that were made before tooOld, and returns their number as missed.
func (s *unchecked) take(readBefore, now, tooOld time.Time) (batch []*noted, missed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var due []*noted
	for key, n := range s.reads {
		switch {
		case n.at.Before(tooOld):
			delete(s.reads, key)
			missed++
		case n.due.IsZero() && !n.at.After(readBefore), !n.due.IsZero() && !n.due.After(now):
			due = append(due, n)
		}
	}
	slices.SortFunc(due, func(a, b *noted) int { return cmp.Or(a.at.Compare(b.at), slices.Compare(a.mint[:], b.mint[:])) })
	for _, n := range due {
		if len(batch) > 0 && (!together(batch[0], n) || slices.ContainsFunc(batch, func(other *noted) bool { return other.mint == n.mint })) {
			continue
		}
		batch = append(batch, n)
		delete(s.reads, n.key())
		if len(batch) == maxBatchMints || n.length > firstRead {
			break
		}
	}
	return batch, missed
}

// together reports whether one call can check both reads.
func together(a, b *noted) bool {
	return a.upstream == b.upstream && a.length == b.length && a.length <= firstRead && (a.against == nil) == (b.against == nil) &&
		(a.against == nil || a.against.upstream == b.against.upstream)
}

// seed makes digests different in each process, so that no upstream can make two answers with one
// digest.
var seed = maphash.MakeSeed()

// digest returns two digests of facts, both without slot and upstream: whole covers everything,
// shape all but amounts, which are the supply and the values inside extensions. They are kept apart
// because a later read replaces amounts, but not what it does not state, such as an extension or
// metadata.
func digest(facts []*eventspb.Enrichment) (whole, shape uint64) {
	var all, plain maphash.Hash
	all.SetSeed(seed)
	plain.SetSeed(seed)
	write := func(to *maphash.Hash, fact *eventspb.Enrichment) {
		text, err := proto.MarshalOptions{Deterministic: true}.Marshal(fact)
		if err == nil {
			_, _ = to.Write(text)
		}
		_ = to.WriteByte(0)
	}
	for _, fact := range facts {
		fact, _ = proto.Clone(fact).(*eventspb.Enrichment)
		fact.Slot, fact.Upstream = 0, ""
		write(&all, fact)
		if mint := fact.GetMintAccount(); mint != nil {
			mint.Supply = 0
			for _, extension := range mint.GetExtensions() {
				extension.Attributes = nil
			}
		}
		write(&plain, fact)
	}
	return all.Sum64(), plain.Sum64()
}

// accountsOf returns the accounts that are read of a mint: its own, and its Metaplex account. If no
// address is off the curve (once in 2^256), there is no Metaplex account: the mint's own key then
// fills the place.
func accountsOf(mint pubkey.Key) []pubkey.Key {
	metaplex, ok := tokenaccount.MetaplexAddress(mint)
	if !ok {
		metaplex = mint
	}
	return []pubkey.Key{mint, metaplex}
}
