package search

// minSets is how many matching texts make it worth while to give each list of the query's trigrams
// a bitmap.
const minSets = 256

// offerContaining offers the tokens of which symbol or name contains the query, each once: where
// both do at the symbol's turn, else at the name's turn, or, where there are many, at the turn of
// the more similar one, so that texts of little similarity can be passed over. Tokens of the tiers
// above have been offered before.
func (s *searcher) offerContaining() {
	containing := 0
	for _, t := range s.matched {
		containing += int(s.flags[t] & flagContains / flagContains)
	}
	areMany := containing >= s.index.minSets
	if areMany && s.fillSets(s.gramLists) {
		s.uniteSets()
	}
	s.below = s.cutoff.below()
	for _, t := range s.matched {
		switch f := s.flags[t]; {
		case f&flagContains == 0:
			if areMany {
				s.offerSymbolBeside(t)
			}
		case f&flagPrefix == 0:
			s.offerSymbolContaining(t)
			s.offerNameContaining(t, areMany)
		}
	}
}

// offerSymbolContaining offers the tokens that have the text as a symbol. Their names may be the
// more similar.
func (s *searcher) offerSymbolContaining(t uint32) {
	v := s.view
	rank := v.symRank[t]
	if rank == none {
		return
	}
	own := s.anySimilarity(t)
	f := found{view: v, tier: TierSubstring}
	s.eachSlot(v.symFirst[rank], v.symFirst[rank+1], func(slot uint32) {
		name := v.name[slot]
		if s.flags[name]&flagPrefix != 0 || !s.top.mayTake(f.tier, max(own, s.similarityBound(name)), 0) {
			return
		}
		f.field, f.score, f.slot, f.key = FieldSymbol, own, slot, v.key(slot)
		if other := s.similarityAbove(name, own); other > own {
			f.field, f.score = FieldName, other
		}
		if s.top.mayTake(f.tier, f.score, f.key) && !s.isTaken(slot) {
			s.top.offer(&f)
		}
	})
}

// offerSymbolBeside offers the tokens that have the text, which is similar, as a symbol, and a name
// that contains the query and is less similar.
func (s *searcher) offerSymbolBeside(t uint32) {
	v := s.view
	rank := v.symRank[t]
	if rank == none || s.flags[t]&flagSimilar == 0 {
		return
	}
	f := found{view: v, tier: TierSubstring, field: FieldSymbol, score: s.similarityOf(t)}
	if !s.top.mayTake(f.tier, f.score, 0) {
		return
	}
	s.eachPromising(v.symFirst[rank], v.symFirst[rank+1], f.tier, f.score, func(slot uint32) {
		f.slot, f.key = slot, v.key(slot)
		if !s.top.mayTake(f.tier, f.score, f.key) || s.isTaken(slot) {
			return
		}
		if name := v.name[slot]; s.flags[name]&(flagContains|flagPrefix) == flagContains && s.similarityAbove(name, f.score) <= f.score {
			s.top.offer(&f)
		}
	})
}

// offerNameContaining offers the tokens that have the text as a name, and a symbol that does not
// contain the query; with lessOnly none with one that is written down as similar, and as much.
func (s *searcher) offerNameContaining(t uint32, lessOnly bool) {
	v := s.view
	from, to := v.nameFirst[t], v.nameFirst[int(t)+1]
	if from == to || lessOnly && !s.top.mayTake(TierSubstring, max(s.similarityBound(t), s.below), 0) {
		return
	}
	own := s.anySimilarity(t)
	f := found{view: v, tier: TierSubstring}
	for i := from; i < to; i++ {
		symbol, slot := v.nameSyms[i], v.nameSlots[i]
		if f := s.flags[symbol]; f&flagContains != 0 || lessOnly && f&flagSimilar != 0 && s.similarityOf(symbol) >= own ||
			!s.top.mayTake(TierSubstring, max(own, s.similarityBound(symbol)), 0) {
			continue
		}
		f.field, f.score = FieldName, own
		if other := s.similarityAbove(symbol, own); other >= own {
			f.field, f.score = FieldSymbol, other
		}
		if !s.top.mayTake(f.tier, f.score, 0) || !s.isWanted(slot) || s.isTaken(slot) {
			continue
		}
		f.slot, f.key = slot, v.key(slot)
		if s.top.mayTake(f.tier, f.score, f.key) {
			s.top.offer(&f)
		}
	}
}

// anySimilarity is the similarity of any text.
func (s *searcher) anySimilarity(t uint32) float64 {
	if s.flags[t]&flagSimilar != 0 {
		return s.similarityOf(t)
	}
	return s.countSimilarity(t)
}

// similarityAbove is the similarity of any text, or any lesser number when it is surely less than
// another.
func (s *searcher) similarityAbove(t uint32, other float64) float64 {
	if s.flags[t]&flagSimilar == 0 && s.below < other {
		return 0
	}
	return s.anySimilarity(t)
}

// similarityBound is not less than anySimilarity, and told at once.
func (s *searcher) similarityBound(t uint32) float64 {
	if s.flags[t]&flagSimilar != 0 {
		return s.similarityOf(t)
	}
	return s.below
}

// countSimilarity is the similarity of any text.
func (s *searcher) countSimilarity(t uint32) float64 {
	if len(s.related) > 0 && s.related[t/64]>>(t%64)&1 == 0 {
		return 0
	}
	shared := 0
	for i := range s.gramLists {
		if s.gramLists[i].has(t) {
			shared++
		}
	}
	return score(shared, len(s.grams), int(s.view.gramCount[t]))
}

// uniteSets finds the texts that share any trigram with the query. All its lists have bitmaps.
func (s *searcher) uniteSets() {
	words := s.view.words()
	if cap(s.related) < words {
		s.related = make([]uint64, words)
	}
	s.related = s.related[:words]
	clear(s.related)
	for i := range s.gramLists {
		for at, word := range s.gramLists[i].set[:words] {
			s.related[at] |= word
		}
	}
}
