package search

// span is the range [from, to).
type span struct{ from, to uint32 }

// gramNumbers has the numbers of the grams of each term, with those of punctuation and forks, term
// after term. They lie in pieces, because a single list would be in memory twice whenever it grows,
// just when a node needs the most memory.
type gramNumbers struct {
	pieces [][]uint32
	lists  []span   // by term, counted through all pieces; no list lies in two pieces
	counts []uint16 // by term, how many grams of pg_trgm it has
	sizes  []uint32 // by number, how many terms have that gram
	all    int      // how many numbers all lists have
	buf    []gram
}

// pieceNumbers is how many numbers a piece has, unless one term has more.
const pieceNumbers = 1 << 20

// usualGrams is how many grams a term has on average, for sizing memory.
const usualGrams = 14

// add numbers the grams of the next term.
func (l *gramNumbers) add(table *gramTable, text string) {
	l.buf = appendGrams(l.buf[:0], text)
	l.counts = append(l.counts, uint16(len(l.buf)))
	l.buf = appendForks(appendPunctuation(l.buf, text, 1), 0, text)
	last := len(l.pieces) - 1
	if last < 0 || len(l.pieces[last])+len(l.buf) > pieceNumbers {
		l.pieces = append(l.pieces, make([]uint32, 0, min(pieceNumbers, usualGrams*(cap(l.lists)-len(l.lists)))))
		last++
	}
	piece := l.pieces[last]
	from := len(piece)
	for _, g := range l.buf {
		number := table.add(g)
		if int(number) == len(l.sizes) {
			l.sizes = append(l.sizes, 0)
		}
		l.sizes[number]++
		piece = append(piece, number)
	}
	l.pieces[last] = piece
	l.lists = append(l.lists, span{uint32(last*pieceNumbers + from), uint32(last*pieceNumbers + len(piece))})
	l.all += len(piece) - from
}

// of returns the numbers of a term.
func (l *gramNumbers) of(term uint32) []uint32 {
	list := l.lists[term]
	if list.from == list.to {
		return nil
	}
	piece := list.from / pieceNumbers
	return l.pieces[piece][list.from-piece*pieceNumbers : list.to-piece*pieceNumbers]
}

// fillPostings makes the posting lists of the terms in their final order, and the bitmaps.
func (c *columns) fillPostings(order []uint32, lists *gramNumbers) {
	first := make([]uint32, len(lists.sizes)+1)
	for i, size := range lists.sizes {
		first[i+1] = first[i] + size
	}
	c.grams.locate(first)
	next := lists.sizes // its memory: the sizes are not needed any more
	copy(next, first)
	c.postings = make([]uint32, lists.all)
	for term, i := range order {
		for _, number := range lists.of(i) {
			c.postings[next[number]] = uint32(term)
			next[number]++
		}
	}
	for i := range next {
		if hasBitmap(int(first[i+1]-first[i]), c.terms()) {
			c.bitmapLists = append(c.bitmapLists, first[i])
		}
	}
	c.bitmaps = make([]uint64, 0, len(c.bitmapLists)*c.words())
	for i := range next {
		if from, to := first[i], first[i+1]; hasBitmap(int(to-from), c.terms()) {
			c.bitmaps = append(c.bitmaps, newBitmap(c.terms(), c.postings[from:to])...)
		}
	}
}
