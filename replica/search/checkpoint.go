package search

import (
	"math"
	"slices"

	"github.com/mintlake/mintlake/replica/checkpoint"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Form is the number of the form in which Saved writes segments. It includes the rules by which
// texts become terms and grams. Raise it whenever one of these changes:
// TestTheFormIsTheOneThatItsNumberSays fails if that was forgotten.
const Form = 1

// Saved is the index at one moment. Save may write it while the index changes. It keeps the memory
// of that moment's segments.
type Saved struct{ version *version }

// Checkpoint returns the index as it is now, with every document that Apply was given. It must not
// be called before Filled.
func (x *Inverted) Checkpoint() Saved { return Saved{x.current.Load()} }

// Save writes the segments without the volumes: these are no facts, and a node gets them anew.
func (s Saved) Save(w *checkpoint.Writer) {
	v := s.version
	w.Number(uint64(len(v.attributes)))
	for i := range v.attributes {
		saveAttributes(w, &v.attributes[i])
	}
	checkpoint.List(w, v.shorts[:])
	w.Number(uint64(len(v.segments)))
	for _, segment := range v.segments {
		segment.save(w)
	}
}

func saveAttributes(w *checkpoint.Writer, a *attributes) {
	token22 := uint64(0)
	if a.token22 {
		token22 = 1
	}
	w.Number(token22)
	w.Bytes([]byte(a.launchpad))
	for _, texts := range [2][]string{a.extensions, a.tags} {
		w.Number(uint64(len(texts)))
		for _, text := range texts {
			w.Bytes([]byte(text))
		}
	}
}

func loadAttributes(r *checkpoint.Reader) (a attributes) {
	a.token22, a.launchpad = r.Number() == 1, string(r.Bytes())
	for _, texts := range [2]*[]string{&a.extensions, &a.tags} {
		for count := r.Number(); count > 0 && r.Err() == nil; count-- {
			*texts = append(*texts, string(r.Bytes()))
		}
	}
	return a
}

func (s *segment) save(w *checkpoint.Writer) {
	full := uint64(0)
	if s.full {
		full = 1
	}
	w.Number(full)
	for _, list := range s.numbers() {
		checkpoint.List(w, *list)
	}
	for _, list := range s.bitmapsOf() {
		checkpoint.List(w, *list)
	}
	checkpoint.List(w, s.mints)
	checkpoint.List(w, s.text)
	checkpoint.List(w, s.gramCounts)
	checkpoint.List(w, s.blocks.items)
	checkpoint.List(w, s.grams.entries)
	checkpoint.List(w, s.live)
	checkpoint.List(w, s.classic)
	for doc := range s.documents() {
		w.Number(uint64(s.seenAt(uint32(doc))))
	}
}

// numbers are the lists of 32 bits, in the order in which they are written.
func (c *columns) numbers() []*[]uint32 {
	return []*[]uint32{
		&c.rowIDs, &c.attributes, &c.symbols, &c.names, &c.byMint,
		&c.ends, &c.withGrams, &c.symbolTerms, &c.symbolRanks, &c.symbolDocs,
		&c.nameTerms, &c.nameDocs, &c.nameSymbols, &c.nameFirst,
		&c.postings, &c.bitmapLists, &c.halves.first, &c.halves.items, &c.blocks.first,
	}
}

// bitmapsOf are the lists of 64 bits.
func (c *columns) bitmapsOf() []*[]uint64 {
	return []*[]uint64{&c.isSymbol, &c.isNameOnce, &c.isNameOften, &c.bitmaps}
}

// loadSegment reads a segment. Its documents have no volumes.
func loadSegment(r *checkpoint.Reader, serial uint32) *segment {
	c := &columns{serial: serial, full: r.Number() == 1}
	for _, list := range c.numbers() {
		*list = checkpoint.ListOf[uint32](r)
	}
	for _, list := range c.bitmapsOf() {
		*list = checkpoint.ListOf[uint64](r)
	}
	c.mints = checkpoint.ListOf[pubkey.Key](r)
	c.text = checkpoint.ListOf[byte](r)
	c.gramCounts = checkpoint.ListOf[uint16](r)
	c.blocks.items = checkpoint.ListOf[uint16](r)
	c.grams.entries = checkpoint.ListOf[gramEntry](r)
	live, classic := checkpoint.ListOf[uint64](r), checkpoint.ListOf[uint64](r)
	n := len(c.rowIDs)
	words := (n + 63) / 64
	switch {
	case r.Err() != nil:
		return nil
	case len(c.mints) != n || len(c.attributes) != n || len(c.symbols) != n || len(c.names) != n || len(live) != words || len(classic) != words,
		len(c.halves.first) < 2, len(c.blocks.first) < 2, len(c.ends) != c.terms()+1:
		r.Refuse("the columns of a segment differ in length")
		return nil
	}
	c.halves.mask, c.blocks.mask = uint32(len(c.halves.first)-2), uint32(len(c.blocks.first)-2)
	for i := range c.grams.entries {
		if c.grams.entries[i].key != 0 {
			c.grams.count++
		}
	}
	return c.withSeen(r, live, classic)
}

// withSeen reads the times of the documents and returns the segment.
func (c *columns) withSeen(r *checkpoint.Reader, live, classic []uint64) *segment {
	n := len(c.rowIDs)
	chunks := (n + chunkSize - 1) / chunkSize
	s := &segment{
		columns: c, live: live, classic: classic, liveCount: countBits(live, 0, uint32(n)), classicCount: countBits(classic, 0, uint32(n)),
		keys: make([]*[chunkSize]uint64, chunks), seen: make([]*[chunkSize]int64, chunks), best: make([]uint64, chunks),
	}
	for chunk := range chunks {
		keys, seen, best := new([chunkSize]uint64), new([chunkSize]int64), uint64(math.MaxUint64)
		for at := range min(chunkSize, n-chunk*chunkSize) {
			seen[at] = int64(r.Number())
			keys[at] = orderKey(0, false, seen[at])
			if hasBit(live, uint32(chunk*chunkSize+at)) {
				best = min(best, keys[at])
			}
		}
		s.keys[chunk], s.seen[chunk], s.best[chunk] = keys, seen, best
	}
	return s
}

// Loaded is what Load has read.
type Loaded struct {
	version    *version
	attributes attributeTable
	locations  []location
}

// Load reads what Save wrote. The row ids must be below rows. If it fails, r.Err returns why.
func Load(r *checkpoint.Reader, rows int) *Loaded {
	l := &Loaded{version: &version{shorts: &shortCounts{}}, attributes: attributeTable{numbers: map[string]uint32{}}, locations: make([]location, rows)}
	for count := r.Number(); count > 0 && r.Err() == nil; count-- {
		l.attributes.add(loadAttributes(r))
	}
	if shorts := checkpoint.ListOf[[2]uint32](r); len(shorts) == shortKeys {
		copy(l.version.shorts[:], shorts)
	} else {
		r.Refuse("the counts of short texts are not as many as there are")
	}
	l.version.attributes = l.attributes.list
	for count := r.Number(); count > 0 && r.Err() == nil; count-- {
		s := loadSegment(r, uint32(len(l.version.segments)+1))
		if r.Err() != nil {
			return l
		}
		l.version.segments = append(l.version.segments, s)
		l.version.live += s.liveCount
		if !allBelow(s.rowIDs, rows) || !allBelow(s.attributes, len(l.attributes.list)) {
			r.Refuse("a document has a row that is not there")
			return l
		}
		locate(l.locations, s)
	}
	return l
}

// allBelow returns whether all numbers are below the limit.
func allBelow(list []uint32, limit int) bool {
	return len(list) == 0 || int(slices.Max(list)) < limit
}

// Adopt gives the index, which must be empty, what Load has read. l must not be used any more.
func (x *Inverted) Adopt(l *Loaded) {
	x.writer.Lock()
	defer x.writer.Unlock()
	x.attributes, x.locations, x.serials = l.attributes, l.locations, uint32(len(l.version.segments))
	l.version.number = x.current.Load().number + 1
	x.current.Store(l.version)
}
