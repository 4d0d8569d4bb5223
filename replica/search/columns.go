package search

import (
	"bytes"
	"math"
	"slices"
	"sort"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

const (
	// maxDocuments bounds a segment. Every query is looked up in each segment, so few large
	// segments are quick. But building one takes more memory than anything else on a node.
	maxDocuments = 1_100_000
	// none is the place of a term that is not a symbol.
	none = math.MaxUint32
)

// columns are the part of a segment that never changes. Documents are numbered from 0 on in the
// order of their symbols.
type columns struct {
	serial uint32
	// full is true if the segment took as many documents as it may: it is not merged again until
	// most are gone.
	full bool

	// Columns of the documents.
	rowIDs, attributes []uint32
	mints              []pubkey.Key
	symbols, names     []uint32 // their terms
	byMint             []uint32 // documents in the order of their mints

	dictionary
	gramIndex
	halves buckets[uint32] // symbols by the hashes of their halves: see edits.go
	blocks buckets[uint16] // blocks of terms by short strings: see blocks.go
}

// documents is how many documents there are, dead ones too.
func (c *columns) documents() int { return len(c.rowIDs) }

// findMint returns the place in byMint of the first mint that is not before the given one.
func (c *columns) findMint(mint pubkey.Key) int {
	return sort.Search(len(c.byMint), func(i int) bool { return pubkey.Compare(c.mints[c.byMint[i]], mint) >= 0 })
}

// after returns the place in byMint of the first mint whose base58 text comes after the cursor.
func (c *columns) after(cursor string) int {
	if mint, err := pubkey.Parse(cursor); err == nil { // every cursor that Search returns is a mint
		return sort.Search(len(c.byMint), func(i int) bool { return pubkey.Compare(c.mints[c.byMint[i]], mint) > 0 })
	}
	return sort.Search(len(c.byMint), func(i int) bool { return c.mints[c.byMint[i]].String() > cursor })
}

// dictionary has the terms of a segment, which are its distinct symbols and names, and the posting
// list of each: the documents that have it as symbol, and those that have it as name. Terms are
// numbered in the order of how many grams they have.
type dictionary struct {
	text       []byte   // of all terms
	ends       []uint32 // where the text of a term begins, and at the next place ends
	gramCounts []uint16
	withGrams  []uint32 // by a number of grams, the first term that has at least so many

	// Documents are in the order of their symbols, so those of one symbol are side by side.
	symbolTerms []uint32 // terms that are symbols, sorted by text
	symbolRanks []uint32 // the place of a term in symbolTerms, or none
	symbolDocs  []uint32 // the first document of each of symbolTerms, and the end

	nameTerms   []uint32 // terms that are names, sorted by text
	nameDocs    []uint32 // the documents of each name, term by term
	nameSymbols []uint32 // the symbols of nameDocs
	nameFirst   []uint32 // where a term's begin in nameDocs, and at the next place end

	// Bitmaps of the terms that are symbols, that are the name of one document, and of several.
	isSymbol, isNameOnce, isNameOften []uint64
}

func (d *dictionary) terms() int { return len(d.gramCounts) }

// words returns how many words a bitmap of the terms has.
func (d *dictionary) words() int { return (d.terms() + 63) / 64 }

func (d *dictionary) term(t uint32) []byte { return d.text[d.ends[t]:d.ends[int(t)+1]] }

// docsOfSymbol returns the range [from, to) of the documents that have the term as symbol.
func (d *dictionary) docsOfSymbol(t uint32) (from, to uint32) {
	rank := d.symbolRanks[t]
	if rank == none {
		return 0, 0
	}
	return d.symbolDocs[rank], d.symbolDocs[rank+1]
}

// docsOfName returns the range [from, to) in nameDocs and nameSymbols of the documents that have
// the term as name.
func (d *dictionary) docsOfName(t uint32) (from, to uint32) {
	return d.nameFirst[t], d.nameFirst[int(t)+1]
}

// termsWith returns the first term that has at least so many grams.
func (d *dictionary) termsWith(grams int) int {
	if grams >= len(d.withGrams) {
		return d.terms()
	}
	return int(d.withGrams[grams])
}

// prefixRange returns the range [from, to) of the sorted terms that begin with prefix.
func (d *dictionary) prefixRange(sorted []uint32, prefix []byte) (from, to int) {
	from = sort.Search(len(sorted), func(i int) bool { return bytes.Compare(d.term(sorted[i]), prefix) >= 0 })
	to = from + sort.Search(len(sorted)-from, func(i int) bool { return !bytes.HasPrefix(d.term(sorted[from+i]), prefix) })
	return from, to
}

const (
	// A posting list of more than minBitmap terms, and of more than one in bitmapShare of all, has
	// a bitmap too. Looking up a term in it is quick, and it takes little memory beside such a
	// list.
	minBitmap   = 256
	bitmapShare = 64
)

// gramIndex has the posting list of each gram: the terms that contain it.
type gramIndex struct {
	grams    gramTable
	postings []uint32 // ascending terms, gram by gram
	// bitmaps are the bitmaps of the longest lists, one after the other. bitmapLists has where in
	// postings each of these lists begins.
	bitmaps     []uint64
	bitmapLists []uint32
}

// postingList has ascending terms, and a bitmap of them if there are many.
type postingList struct {
	terms  []uint32
	bitmap []uint64
}

// postingList returns the terms that contain the gram.
func (c *columns) postingList(g gram) postingList {
	e := c.grams.find(g)
	list := postingList{terms: c.postings[e.from : e.from+e.length]}
	if hasBitmap(int(e.length), c.terms()) {
		number, _ := slices.BinarySearch(c.bitmapLists, e.from)
		list.bitmap = c.bitmaps[number*c.words() : (number+1)*c.words()]
	}
	return list
}

// hasBitmap returns whether a posting list of that length has a bitmap.
func hasBitmap(length, terms int) bool { return length > minBitmap && length*bitmapShare > terms }

// has returns whether the term is in the list.
func (l *postingList) has(t uint32) bool {
	if l.bitmap != nil {
		return hasBit(l.bitmap, t)
	}
	_, found := slices.BinarySearch(l.terms, t)
	return found
}

// gramTable is a hash table with open addressing from grams to posting lists. While it is built, it
// numbers the grams.
type gramTable struct {
	entries []gramEntry
	count   int
}

// gramEntry has the gram plus one as key; 0 is a free entry.
type gramEntry struct {
	key uint64
	// from is where the postings begin; while the table is built, the gram's number.
	from, length uint32
}

func newGramTable(capacity int) gramTable {
	size := 16
	for size*3 < capacity*4 {
		size *= 2
	}
	return gramTable{entries: make([]gramEntry, size)}
}

// find returns the entry of a gram, or the free one where it would be.
func (t *gramTable) find(g gram) *gramEntry {
	mask := len(t.entries) - 1
	for at := int(uint32(uint64(g)*hashFactor>>32)) & mask; ; at = (at + 1) & mask {
		if e := &t.entries[at]; e.key == uint64(g)+1 || e.key == 0 {
			return e
		}
	}
}

// hashFactor is 2^64 over the golden ratio: the upper bits of a product with it are a hash (Knuth,
// The Art of Computer Programming, 6.4).
const hashFactor = 0x9E3779B97F4A7C15

// add returns the number of the gram, a new one if it has none.
func (t *gramTable) add(g gram) uint32 {
	if (t.count+1)*4 > len(t.entries)*3 {
		t.grow()
	}
	e := t.find(g)
	if e.key == 0 {
		*e = gramEntry{key: uint64(g) + 1, from: uint32(t.count)}
		t.count++
	}
	return e.from
}

// grow doubles the table.
func (t *gramTable) grow() {
	old := t.entries
	t.entries = make([]gramEntry, 2*len(old))
	for _, e := range old {
		if e.key != 0 {
			*t.find(gram(e.key - 1)) = e
		}
	}
}

// locate ends the numbering of the grams. Each entry gets the range of its postings, which is from
// first[number] to first[number+1].
func (t *gramTable) locate(first []uint32) {
	for i := range t.entries {
		if e := &t.entries[i]; e.key != 0 {
			e.from, e.length = first[e.from], first[e.from+1]-first[e.from]
		}
	}
}
