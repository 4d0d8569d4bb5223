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

// maxUnchecked bounds the reads that wait for their check, about 200 bytes each. One that finds no
// room is not checked: in a flood of new mints the checks are a sample.
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
	// due is when it is looked at again; zero until it is for the first time.
	due time.Time
	// against is what another upstream said later, if that differs; tries counts the looks since.
	against *said
	tries   int
	// contradicted says that two upstreams have said different things of one slot.
	contradicted bool
}

// placeOf is where a read is remembered. A later read of equal shape takes its place: it replaces
// all that the earlier one stated.
type placeOf struct {
	mint     pubkey.Key
	upstream string
	shape    uint64
}

func (n *noted) place() placeOf { return placeOf{n.mint, n.upstream, n.shape} }

// unchecked is a bounded set of reads. Safe for concurrent use.
type unchecked struct {
	mu    sync.Mutex
	reads map[placeOf]*noted
}

func newUnchecked() *unchecked { return &unchecked{reads: map[placeOf]*noted{}} }

// add remembers a read, and returns how many were missed for it: 1 if there is no room.
func (s *unchecked) add(n *noted) (missed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, known := s.reads[n.place()]
	switch {
	case known && before.slot > n.slot:
		return 0
	case !known && len(s.reads) >= maxUnchecked:
		return 1
	}
	s.reads[n.place()] = n
	return 0
}

// putBack adds a read that take returned, unless a later one has come.
func (s *unchecked) putBack(n *noted, due time.Time) {
	n.due = due
	s.add(n)
}

// hurry makes all reads of an upstream due.
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

// take removes and returns reads that one call can check, the oldest first: of one upstream, all
// new or all of one difference. New ones are due if they were made before readBefore, others by
// their own time. It drops those from before tooOld and returns their number.
func (s *unchecked) take(readBefore, now, tooOld time.Time) (batch []*noted, missed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var due []*noted
	for place, n := range s.reads {
		switch {
		case n.at.Before(tooOld):
			delete(s.reads, place)
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
		delete(s.reads, n.place())
		if len(batch) == maxBatchMints || n.length > firstRead {
			break
		}
	}
	return batch, missed
}

// together returns whether one call can check both.
func together(a, b *noted) bool {
	return a.upstream == b.upstream && a.length == b.length && a.length <= firstRead && (a.against == nil) == (b.against == nil) &&
		(a.against == nil || a.against.upstream == b.against.upstream)
}

// digests are of this process only, so that no upstream can make two answers of one digest.
var seed = maphash.MakeSeed()

// digest returns a digest of facts, whatever their slot, and one without amounts: supply, and the
// values inside extensions. A later read replaces amounts. It does not replace what it does not
// state, such as an extension or metadata.
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
