package search

import "unicode/utf8"

// One edit changes only one half of a symbol. So a symbol that is one edit away from a query shares
// its first half with the beginning of the query, or its last half with the end. The symbol may
// have one rune less than the query, as many, or one more: two look-ups for each length find all.

// newHalves lists the symbols of a dictionary by the hashes of their halves.
func newHalves(d *dictionary) buckets[uint32] {
	entries := make([]bucketEntry[uint32], 0, 2*len(d.symbolTerms))
	for _, t := range d.symbolTerms {
		text := d.term(t)
		if len(text) == 0 {
			continue
		}
		runes := utf8.RuneCount(text)
		cut := cutAfter(text, runes/2)
		entries = append(entries, bucketEntry[uint32]{hashHalf(runes, true, text[:cut]), t}, bucketEntry[uint32]{hashHalf(runes, false, text[cut:]), t})
	}
	return newBuckets(entries)
}

// hashHalf returns the hash (FNV-1a with a final mix) of the first or last half of a symbol of that
// many runes.
func hashHalf[T string | []byte](runes int, isFirst bool, half T) uint32 {
	hash := uint64(runes)<<1 | 1
	if isFirst {
		hash ^= 0xABCDEF << 20
	}
	for i := range len(half) {
		hash = (hash ^ uint64(half[i])) * 0x100000001B3
	}
	return uint32(hash * hashFactor >> 32)
}

// halvesOf returns the hashes to look up for a query.
func halvesOf(text string, runes int) []uint32 {
	var hashes []uint32
	for length := max(1, runes-1); length <= runes+1; length++ {
		first, last := length/2, length-length/2
		if first <= runes {
			hashes = append(hashes, hashHalf(length, true, text[:cutAfter([]byte(text), first)]))
		}
		if last <= runes {
			hashes = append(hashes, hashHalf(length, false, text[cutAfter([]byte(text), runes-last):]))
		}
	}
	return hashes
}

// cutAfter returns the length in bytes of the first n runes.
func cutAfter(text []byte, n int) int {
	at := 0
	for ; n > 0 && at < len(text); n-- {
		_, size := utf8.DecodeRune(text[at:])
		at += size
	}
	return at
}

// findEdited finds the symbols one edit away.
func (c *candidates) findEdited() {
	s := c.segment
	for _, hash := range c.plan.halves {
		for _, t := range s.halves.list(hash) {
			if !c.edited.has(t) && (c.isScored || !c.matching.has(t)) && c.plan.isTypo(string(s.term(t))) {
				c.edited.add(t)
			}
		}
	}
}

// isTypo returns whether a symbol is one edit away from the query's text. An empty symbol is not:
// it would match every query of one letter.
func (p *plan) isTypo(symbol string) bool {
	// A rune is one to four bytes.
	difference := len(symbol) - len(p.text)
	return symbol != "" && difference >= -utf8.UTFMax && difference <= utf8.UTFMax && oneEdit(p.text, symbol)
}

// typoScore returns the score of a symbol one edit away: 1 - 1/n, where n is the number of runes of
// the longer text.
func (p *plan) typoScore(symbol string) float64 {
	return 1 - 1/float64(max(p.runes, utf8.RuneCountInString(symbol)))
}

// oneEdit returns whether inserting, deleting or replacing exactly one rune turns a into b.
func oneEdit(a, b string) bool {
	for a != "" && b != "" {
		ra, na := utf8.DecodeRuneInString(a)
		rb, nb := utf8.DecodeRuneInString(b)
		if ra != rb {
			return a[na:] == b[nb:] || a[na:] == b || a == b[nb:]
		}
		a, b = a[na:], b[nb:]
	}
	rest := a + b
	return rest != "" && utf8.RuneCountInString(rest) == 1
}
