package search

// minSets is how many matching texts make it worth while to give each list of the query's trigrams a bitmap.
const minSets = 256

// offerContaining offers the tokens of which symbol or name contains the query; where both do it is the symbol's turn. Tokens of the tiers
// above have been offered before.
func (s *searcher) offerContaining() {
	if len(s.matched) >= minSets {
		s.fillSets(s.gramLists)
	}
	for _, t := range s.matched {
		if s.flags[t]&(flagContains|flagPrefix) == flagContains {
			s.offerSymbolContaining(t)
			s.offerNameContaining(t)
		}
	}
}

// offerSymbolContaining offers the tokens that have the text as a symbol. Their names may be the more similar.
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
		if other := s.anySimilarity(name); other > own {
			f.field, f.score = FieldName, other
		}
		if s.top.mayTake(f.tier, f.score, f.key) && !s.isTaken(slot) {
			s.top.offer(&f)
		}
	})
}

// offerNameContaining offers the tokens that have the text as a name, and a symbol that does not contain the query.
func (s *searcher) offerNameContaining(t uint32) {
	v := s.view
	from, to := v.nameFirst[t], v.nameFirst[int(t)+1]
	if from == to {
		return
	}
	own := s.anySimilarity(t)
	f := found{view: v, tier: TierSubstring}
	for i := from; i < to; i++ {
		symbol, slot := v.nameSyms[i], v.nameSlots[i]
		if s.flags[symbol]&flagContains != 0 || !s.top.mayTake(f.tier, max(own, s.similarityBound(symbol)), 0) {
			continue
		}
		f.field, f.score = FieldName, own
		if other := s.anySimilarity(symbol); other >= own {
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

// similarityBound is not less than anySimilarity, and told at once.
func (s *searcher) similarityBound(t uint32) float64 {
	if s.flags[t]&flagSimilar != 0 {
		return s.similarityOf(t)
	}
	return MinSimilarity // not reached
}

// countSimilarity is the similarity of any text.
func (s *searcher) countSimilarity(t uint32) float64 {
	shared := 0
	for i := range s.gramLists {
		if s.gramLists[i].has(t) {
			shared++
		}
	}
	return score(shared, len(s.grams), int(s.view.gramCount[t]))
}
