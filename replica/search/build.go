package search

import (
	"slices"
	"time"

	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// row is a document to be put into a segment.
type row struct {
	id, attributes uint32
	mint           pubkey.Key
	classic        bool
	key            uint64
	seen           int64
	symbol, name   string   // normalised
	from           location // where it is now; only when segments are merged
}

const (
	// buildTurn is how long a build runs before it yields the processor to waiting requests.
	buildTurn = 300 * time.Microsecond
	// turnRows is how many rows or terms are processed between two looks at the clock. They take
	// far less than buildTurn.
	turnRows = 16
)

// builder makes one segment of rows that come in the order of their symbols. It fills the columns
// row by row, without a list of all rows: a large segment has very many.
type builder struct {
	columns *columns
	keys    []uint64
	seen    []int64
	classic []uint64   // bits
	from    []location // only when segments are merged

	turn pause.Turn

	terms          *termSet // their numbers are provisional
	symbols, names []uint32 // provisional terms of the rows
}

func newBuilder(rows int) *builder {
	return &builder{
		columns: &columns{rowIDs: make([]uint32, 0, rows), attributes: make([]uint32, 0, rows), mints: make([]pubkey.Key, 0, rows)},
		keys:    make([]uint64, 0, rows), seen: make([]int64, 0, rows), classic: make([]uint64, (rows+63)/64), turn: pause.NewTurn(buildTurn),
		terms: newTermSet(rows), symbols: make([]uint32, 0, rows), names: make([]uint32, 0, rows),
	}
}

// add adds a row. It returns false if the segment is full: the row must go to the next.
func (b *builder) add(r *row) bool {
	c, doc := b.columns, len(b.keys)
	if doc == cap(b.keys) {
		return false
	}
	if doc%turnRows == 0 {
		b.turn.Next()
	}
	c.rowIDs, c.attributes, c.mints = append(c.rowIDs, r.id), append(c.attributes, r.attributes), append(c.mints, r.mint)
	b.keys, b.seen = append(b.keys, r.key), append(b.seen, r.seen)
	if r.classic {
		b.classic[doc/64] |= 1 << (doc % 64)
	}
	if r.from.serial != 0 {
		b.from = append(b.from, r.from)
	}
	b.symbols = append(b.symbols, b.number(r.symbol))
	b.names = append(b.names, b.number(r.name))
	return true
}

func (b *builder) number(text string) uint32 {
	if n := len(b.symbols); n > 0 && b.terms.text(b.symbols[n-1]) == text {
		return b.symbols[n-1] // symbols come sorted
	}
	return b.terms.number(text)
}

// finish makes the segment. full says that there were more rows than the segment takes.
func (b *builder) finish(serial uint32, full bool) *segment {
	c := b.columns
	c.serial, c.full = serial, full
	final := b.numberTerms(c)
	b.turn.Next()
	b.fillSymbols(c, final)
	b.turn.Next()
	c.fillNames()
	b.turn.Next()
	c.halves = newHalves(&c.dictionary)
	b.turn.Next()
	c.blocks = newBlocks(&c.dictionary)
	b.turn.Next()
	c.byMint = mintOrder(c.mints)
	return newSegment(c, b.keys, b.seen, b.classic)
}

// numberTerms gives the terms their numbers, in the order of how many grams they have, and fills
// the dictionary's texts and the gram index. It returns the final numbers of the provisional ones.
func (b *builder) numberTerms(c *columns) []uint32 {
	b.terms.numbers = nil // frees memory for what follows
	n := len(b.terms.texts)
	lists := gramNumbers{lists: make([]span, 0, n), counts: make([]uint16, 0, n)}
	c.grams = newGramTable(min(usualGrams*n, 4096)) // it grows if need be
	for i := range n {
		if i%turnRows == 0 {
			b.turn.Next()
		}
		lists.add(&c.grams, b.terms.text(uint32(i)))
	}
	lexical := textOrder(n, b.terms.text)
	order := byCount(lexical, lists.counts)
	final := make([]uint32, n)
	c.text, c.ends, c.gramCounts = make([]byte, 0, b.terms.size+textSpare), make([]uint32, 1, n+1), make([]uint16, n)
	for number, i := range order {
		final[i] = uint32(number)
		c.text = append(c.text, b.terms.text(i)...)
		c.ends = append(c.ends, uint32(len(c.text)))
		c.gramCounts[number] = lists.counts[i]
		for len(c.withGrams) <= int(lists.counts[i]) {
			c.withGrams = append(c.withGrams, uint32(number))
		}
	}
	c.text = append(c.text, make([]byte, textSpare)...)
	c.fillPostings(order, &lists)
	c.symbolTerms, c.nameTerms = sortedTerms(lexical, final, b.symbols), sortedTerms(lexical, final, b.names)
	return final
}

// sortedTerms maps the provisional numbers in listed to final ones. It returns each once, in
// lexical order.
func sortedTerms(lexical, final, listed []uint32) []uint32 {
	isListed := make([]bool, len(final))
	count := 0
	for _, i := range listed {
		if !isListed[i] {
			isListed[i] = true
			count++
		}
	}
	sorted := make([]uint32, 0, count)
	for _, i := range lexical {
		if isListed[i] {
			sorted = append(sorted, final[i])
		}
	}
	return sorted
}

// fillSymbols fills the fields of the dictionary about symbols.
func (b *builder) fillSymbols(c *columns, final []uint32) {
	c.symbolRanks = make([]uint32, c.terms())
	for i := range c.symbolRanks {
		c.symbolRanks[i] = none
	}
	for rank, t := range c.symbolTerms {
		c.symbolRanks[t] = uint32(rank)
	}
	c.symbols, c.names = b.symbols, b.names
	c.symbolDocs = make([]uint32, len(c.symbolTerms)+1)
	for doc := range c.symbols {
		c.symbols[doc], c.names[doc] = final[c.symbols[doc]], final[c.names[doc]]
		c.symbolDocs[c.symbolRanks[c.symbols[doc]]+1]++
	}
	for i := range c.symbolTerms {
		c.symbolDocs[i+1] += c.symbolDocs[i]
	}
	c.isSymbol = newBitmap(c.terms(), c.symbolTerms)
}

// fillNames fills the fields of the dictionary about names.
func (c *columns) fillNames() {
	c.nameFirst = make([]uint32, c.terms()+1)
	for _, name := range c.names {
		c.nameFirst[int(name)+1]++
	}
	c.isNameOnce, c.isNameOften = make([]uint64, c.words()), make([]uint64, c.words())
	for t := range c.terms() {
		switch c.nameFirst[t+1] {
		case 0:
		case 1:
			c.isNameOnce[t/64] |= 1 << (t % 64)
		default:
			c.isNameOften[t/64] |= 1 << (t % 64)
		}
		c.nameFirst[t+1] += c.nameFirst[t]
	}
	next := slices.Clone(c.nameFirst)
	c.nameDocs, c.nameSymbols = make([]uint32, len(c.names)), make([]uint32, len(c.names))
	for doc, name := range c.names {
		c.nameDocs[next[name]], c.nameSymbols[next[name]] = uint32(doc), c.symbols[doc]
		next[name]++
	}
}
