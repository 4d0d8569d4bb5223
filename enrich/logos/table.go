package logos

import (
	"container/heap"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// entry is what is known of one mint's logo. It folds the topic's facts by the registry's rules. Of
// documents, the one with the highest slot counts, unless a later one of another URI could not be
// read. Token lists come after the document, in the order of their names. An operator's decision
// overrides both. Of checks, the one with the highest slot and number counts.
type entry struct {
	documentSlot uint64
	document     string // the image's URL that the document names
	uri          uint64 // uriHash of the document's URI
	hasDocument  bool
	// failedSlot and failedURI are those of the latest document that could not be read, if it is
	// not older than the one that was; else 0.
	failedSlot, failedURI uint64

	lists        []listed // sorted by name
	override     registry.LogoOverride
	overriddenAt uint64
	last         *eventspb.Logo // the check that holds; nil before the first
	lastSlot     uint64

	// attempts counts the failed attempts since the last check was written.
	attempts int
	scheduled
	// queued means that the entry is queued for a worker, or that one has it.
	queued bool
	mint   pubkey.Key
}

// listed is the logo that one token list names, as of a version of the list.
type listed struct {
	list    string
	version uint64
	url     string
}

// url returns the token's current logo URL; empty if there is none.
func (e *entry) url() string {
	own := e.document
	if e.failedSlot > 0 && e.failedURI != e.uri {
		own = "" // the token has another URI by now
	}
	for i := 0; own == "" && i < len(e.lists); i++ {
		own = e.lists[i].url
	}
	return e.override.Apply(own)
}

// checked reports whether the last check is about the current URL, and knew of the last purge.
func (e *entry) checked() bool {
	return e.last != nil && e.last.GetUrl() == e.url() && e.last.GetPurge() >= e.override.Purge
}

// slot returns the slot of the next check's fact: not before anything that is known of the logo.
func (e *entry) slot() uint64 { return max(e.documentSlot, e.lastSlot) }

// table has all entries, and a heap of the entries that are to be checked, by the time they are
// due.
type table struct {
	mu      sync.Mutex
	entries map[pubkey.Key]*entry
	heap    dueHeap[*entry]
	counts  map[string]int // by status
	// retracted has, for each mint, the slots whose documents and checks do not count.
	retracted map[pubkey.Key][]registry.Retracted
}

func newTable() *table {
	return &table{entries: map[pubkey.Key]*entry{}, counts: map[string]int{}, retracted: map[pubkey.Key][]registry.Retracted{}}
}

func (t *table) size() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.entries)
}

// apply folds a fact into the table. plan returns when to check an entry whose URL or last check
// changed; the zero time means never.
func (t *table) apply(enrichment *eventspb.Enrichment, plan func(*entry) time.Time) {
	if len(enrichment.GetMint()) != len(pubkey.Key{}) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	key := pubkey.Key(enrichment.GetMint())
	if ranges := registry.RetractedBy(enrichment); ranges != nil {
		t.retracted[key] = append(t.retracted[key], ranges...)
	}
	ofASlot := enrichment.GetOffchain() != nil || enrichment.GetDocumentCheck() != nil || enrichment.GetLogo() != nil
	if ofASlot && t.covers(key, enrichment.GetSlot()) {
		return
	}
	e := t.entries[key]
	if e == nil {
		if !mayBeFirst(enrichment) {
			return
		}
		e = &entry{mint: key, scheduled: scheduled{place: -1}}
		t.entries[key] = e
		t.counts[e.status()]++
	}
	before, wasChecked, check := e.url(), e.checked(), e.last.GetCheck()
	t.counts[e.status()]--
	e.fold(enrichment)
	t.takeBack(e)
	t.counts[e.status()]++
	if e.url() == before && e.checked() == wasChecked && e.last.GetCheck() == check {
		return
	}
	if e.url() != before || !e.checked() {
		e.attempts = 0
	}
	t.put(e, plan(e))
}

// takeBack makes an entry forget a document and a check whose slot was retracted. Both are fetched
// anew: what they had replaced is not kept. The number of the check stays, so that the next check
// has a higher number.
func (t *table) takeBack(e *entry) {
	if e.hasDocument && t.covers(e.mint, e.documentSlot) {
		e.hasDocument, e.documentSlot, e.document, e.uri = false, 0, "", 0
	}
	if e.failedSlot > 0 && t.covers(e.mint, e.failedSlot) {
		e.failedSlot, e.failedURI = 0, 0
	}
	if e.last != nil && t.covers(e.mint, e.lastSlot) {
		e.last, e.lastSlot = &eventspb.Logo{Check: e.last.GetCheck()}, 0
	}
}

// covers reports whether a slot of a mint was retracted. The caller holds the lock.
func (t *table) covers(mint pubkey.Key, slot uint64) bool {
	return takenBack(t.retracted[mint], slot)
}

func takenBack(ranges []registry.Retracted, slot uint64) bool {
	return slices.ContainsFunc(ranges, func(r registry.Retracted) bool { return r.HasSlot(slot) })
}

// mayBeFirst reports whether a fact can be the first one about a logo: without an entry, other
// facts change nothing.
func mayBeFirst(enrichment *eventspb.Enrichment) bool {
	switch fact := enrichment.GetFact().(type) {
	case *eventspb.Enrichment_Offchain:
		return fact.Offchain.GetImage() != ""
	case *eventspb.Enrichment_TokenListEntry:
		return fact.TokenListEntry.GetLogoUri() != ""
	case *eventspb.Enrichment_LogoOverride, *eventspb.Enrichment_Logo, *eventspb.Enrichment_Facts:
		return true
	}
	return false
}

func (e *entry) fold(enrichment *eventspb.Enrichment) {
	slot := enrichment.GetSlot()
	switch fact := enrichment.GetFact().(type) {
	case *eventspb.Enrichment_Offchain:
		e.foldDocument(slot, uriHash(fact.Offchain.GetUri()), registry.Text([]byte(fact.Offchain.GetImage())))
	case *eventspb.Enrichment_DocumentCheck:
		if slot >= max(e.documentSlot, e.failedSlot) {
			e.failedSlot, e.failedURI = slot, uriHash(fact.DocumentCheck.GetUri())
		}
	case *eventspb.Enrichment_TokenListEntry:
		entry := fact.TokenListEntry
		e.foldList(listed{entry.GetList(), entry.GetVersion(), registry.Text([]byte(entry.GetLogoUri()))})
	case *eventspb.Enrichment_LogoOverride:
		e.foldOverride(fact.LogoOverride.GetVersion(), registry.LogoOverride{
			URL: fact.LogoOverride.GetUrl(), None: fact.LogoOverride.GetNone(), Purge: fact.LogoOverride.GetPurge(),
		})
	case *eventspb.Enrichment_Logo:
		e.foldCheck(slot, fact.Logo)
	case *eventspb.Enrichment_Facts:
		e.foldImported(enrichment)
	}
}

// uriHash stands for a document's URI.
func uriHash(uri []byte) uint64 {
	sum := sha256.Sum256([]byte(registry.Text(uri)))
	return binary.LittleEndian.Uint64(sum[:])
}

func (e *entry) foldDocument(slot, uri uint64, image string) {
	// Of two documents of one slot, the registry takes the one that is greater by bytes, and this
	// table the one that is read last. If they differ, the check is of another URL than the
	// registry's and does not count there, which does no harm.
	if e.hasDocument && slot < e.documentSlot {
		return
	}
	e.hasDocument, e.documentSlot, e.document, e.uri = true, slot, image, uri
	if slot >= e.failedSlot {
		e.failedSlot, e.failedURI = 0, 0
	}
}

func (e *entry) foldList(entry listed) {
	i, had := slices.BinarySearchFunc(e.lists, entry.list, func(l listed, name string) int { return strings.Compare(l.list, name) })
	switch {
	case !had:
		e.lists = slices.Insert(e.lists, i, entry)
	case entry.version >= e.lists[i].version:
		e.lists[i] = entry
	}
}

func (e *entry) foldOverride(version uint64, override registry.LogoOverride) {
	if version >= e.overriddenAt {
		e.overriddenAt, e.override = version, override
	}
}

func (e *entry) foldCheck(slot uint64, check *eventspb.Logo) {
	if e.last != nil && (slot < e.lastSlot || slot == e.lastSlot && check.GetCheck() <= e.last.GetCheck()) {
		return
	}
	if check.GetUrl() == e.document {
		check.Url = e.document // share the string: there are millions
	}
	e.lastSlot, e.last = slot, check
}

// status returns the status that the registry derives from the same facts, see
// registry.State.Token.
func (e *entry) status() string {
	switch {
	case e.url() == "":
		return registry.LogoMissing
	case !e.checked():
		return registry.LogoUnchecked
	case e.last.GetStatus() == eventspb.LogoStatus_LOGO_STATUS_OK:
		return registry.LogoOK
	}
	return registry.LogoBroken
}

// put sets when an entry is due; the zero time means never. An entry that is queued goes back into
// the heap when its worker is done. The caller holds the lock.
func (t *table) put(e *entry, due time.Time) {
	e.due = due
	if !e.queued {
		t.heap.put(e)
	}
}

// next takes an entry that is due and returns it with its URL. If there is none, url is empty and
// left is how long to wait.
func (t *table) next(now time.Time) (j job, url string, left time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.heap) > 0 {
		e := t.heap[0]
		if left := e.due.Sub(now); left > 0 {
			return job{}, "", left
		}
		heap.Pop(&t.heap)
		if url := e.url(); url != "" {
			e.queued = true
			return job{mint: e.mint, due: e.due}, url, 0
		}
	}
	return job{}, "", time.Hour
}

// view returns a copy of an entry for a worker.
func (t *table) view(mint pubkey.Key) entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	seen := *t.entries[mint]
	seen.lists = slices.Clone(seen.lists)
	return seen
}

// finish ends a worker's turn with an entry. change updates the entry and returns when it is due
// again.
func (t *table) finish(mint pubkey.Key, change func(*entry) time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.entries[mint]
	e.queued = false
	t.counts[e.status()]--
	due := change(e)
	t.counts[e.status()]++
	t.put(e, due)
}

func (t *table) count(status string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counts[status]
}
