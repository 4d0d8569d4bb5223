package search

import (
	"bytes"
	"math/bits"
)

// count is the third stage of a search. It returns how many documents of the segment have a
// candidate as symbol or name and pass the filter. If few documents do not pass the filter, it
// counts all with bitmaps and subtracts these few.
func (c *candidates) count(f *filter) (total int) {
	terms := 0
	for at := range usedWords(&c.matching, &c.edited) {
		terms += bits.OnesCount64(c.matching.words[at] | c.edited.words[at])
	}
	switch unwanted := c.segment.documents() - f.live(c.segment); {
	case terms == 0:
		return 0
	case !f.isSlow && unwanted == 0:
		return c.countAll()
	case !f.isSlow && unwanted < terms:
		return c.countAll() - c.countUnwanted(f)
	}
	c.eachDocument(f, func(uint32) { total++ })
	return total
}

// isMatch returns whether a document with these terms matches.
func (c *candidates) isMatch(symbol, name uint32) bool {
	return c.matching.has(symbol) || c.edited.has(symbol) || c.matching.has(name)
}

// countAll counts all documents that match, also tombstones: those whose names match, and those
// whose symbols match but not the names.
func (c *candidates) countAll() (total int) {
	s := c.segment
	for at := range usedWords(&c.matching, &c.edited) {
		names := c.matching.words[at]
		total += bits.OnesCount64(names & s.isNameOnce[at])
		for often := names & s.isNameOften[at]; often != 0; often &= often - 1 {
			from, to := s.docsOfName(uint32(at*64 + bits.TrailingZeros64(often)))
			total += int(to - from)
		}
		for symbols := (names | c.edited.words[at]) & s.isSymbol[at]; symbols != 0; symbols &= symbols - 1 {
			from, to := s.docsOfSymbol(uint32(at*64 + bits.TrailingZeros64(symbols)))
			for _, name := range s.names[from:to] {
				total += int(^c.matching.words[name/64] >> (name % 64) & 1)
			}
		}
	}
	return total
}

// countUnwanted counts the documents that match but do not pass the filter, tombstones too.
func (c *candidates) countUnwanted(f *filter) (total int) {
	s := c.segment
	for at, wanted := range f.bits(s) {
		unwanted := ^wanted
		if left := s.documents() - at*64; left < 64 {
			unwanted &= 1<<left - 1
		}
		for ; unwanted != 0; unwanted &= unwanted - 1 {
			doc := at*64 + bits.TrailingZeros64(unwanted)
			if c.isMatch(s.symbols[doc], s.names[doc]) {
				total++
			}
		}
	}
	return total
}

// eachDocument calls do once for each document that matches and passes the filter.
func (c *candidates) eachDocument(f *filter, do func(doc uint32)) {
	s := c.segment
	for at := range usedWords(&c.matching, &c.edited) {
		for symbols := (c.matching.words[at] | c.edited.words[at]) & s.isSymbol[at]; symbols != 0; symbols &= symbols - 1 {
			from, to := s.docsOfSymbol(uint32(at*64 + bits.TrailingZeros64(symbols)))
			f.eachDocument(s, from, to, do)
		}
		for names := c.matching.words[at] & (s.isNameOnce[at] | s.isNameOften[at]); names != 0; names &= names - 1 {
			from, to := s.docsOfName(uint32(at*64 + bits.TrailingZeros64(names)))
			for i := from; i < to; i++ {
				symbol, doc := s.nameSymbols[i], s.nameDocs[i]
				if !c.matching.has(symbol) && !c.edited.has(symbol) && f.wants(s, doc) {
					do(doc)
				}
			}
		}
	}
}

// countShort counts the documents of all segments that match a text of one or two printable ASCII
// characters. version.shorts has the number of documents that contain the text. Similar terms add
// none: a text of letters and digits has two or three grams, and a term shares enough of them only
// if it contains the text; a text without letters and digits has no grams. What is left to count
// are symbols one edit away. countShort returns false for other texts, and for a filter that must
// look at each document.
func (c *candidates) countShort(p *plan, v *version) (total int, ok bool) {
	key, ok := shortKey(p.text)
	if !ok || p.filter.isSlow || len(p.grams) > 0 && len(p.grams) != len(p.text)+1 {
		return 0, false
	}
	total = v.shorts.of(key, p.filter.classicOnly)
	text := []byte(p.text)
	for _, s := range v.segments {
		c.begin(p, s, false)
		c.findEdited()
		for t := range c.edited.all() {
			if bytes.Contains(s.term(t), text) {
				continue
			}
			from, to := s.docsOfSymbol(t)
			p.filter.eachDocument(s, from, to, func(doc uint32) {
				if !bytes.Contains(s.term(s.names[doc]), text) {
					total++
				}
			})
		}
		c.reset()
	}
	return total, true
}
