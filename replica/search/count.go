package search

import "slices"

// count counts what matches, view by view; what was counted before and has not changed since is
// remembered.
func (s *searcher) count(version *version) {
	if s.countShort(version) {
		return
	}
	key := countKey{s.text, s.filter.classicOnly}
	var known []viewCount
	if !s.filter.slow {
		known = s.index.cache.count(&key)
	}
	s.counts, s.uncounted = s.counts[:0], s.uncounted[:0]
	for _, v := range version.views {
		// Views keep their order, so what is known is passed through once.
		for len(known) > 0 && known[0].serial != v.serial && slices.ContainsFunc(known, func(c viewCount) bool { return c.serial == v.serial }) {
			known = known[1:]
		}
		if len(known) > 0 && known[0].serial == v.serial && known[0].epoch == v.epoch {
			s.counts = append(s.counts, known[0])
			s.total += int(known[0].count)
			continue
		}
		s.counts = append(s.counts, viewCount{serial: v.serial, epoch: v.epoch})
		s.uncounted = append(s.uncounted, v)
	}
	s.marksOnly = !s.filter.slow
	views, counts := s.uncounted, make([]int, len(s.uncounted))
	for at, v := range views {
		before := s.total
		s.enter(v)
		s.match()
		if s.marksOnly {
			s.countMarks()
		} else {
			s.eachMatch(func(uint32) { s.total++ })
		}
		s.leave()
		counts[at] = s.total - before
	}
	s.marksOnly = false
	if len(views) > 0 && !s.filter.slow && len(s.text) <= 128 {
		for i := range s.counts {
			if c := &s.counts[i]; len(views) > 0 && c.serial == views[0].serial {
				c.count = uint32(counts[0])
				views, counts = views[1:], counts[1:]
			}
		}
		s.index.cache.putCount(&key, s.counts)
	}
}

// collectMatches counts the tokens of the view at hand that match, and offers those that may be
// among the best.
func (s *searcher) collectMatches() {
	s.setCutoff()
	s.match()
	switch {
	case s.order != SortRelevance:
		s.markPrefixes()
		s.eachMatch(s.offerMatch)
		return
	case s.marksOnly:
		s.countMarks()
	default:
		s.eachMatch(func(uint32) { s.total++ })
	}
	s.markPrefixes()
	s.offerContaining()
	s.offerSimilar()
	if s.cutoff.holds(&s.top) {
		return
	}
	s.leave()
	s.cutoff.lower()
	s.match()
	s.top.drop(s.view, TierSimilar)
	s.offerSimilar()
}

// eachMatch calls do for each token of a text with flags, once.
func (s *searcher) eachMatch(do func(slot uint32)) {
	v := s.view
	for _, t := range s.matched {
		if rank := v.symRank[t]; rank != none {
			s.eachSlot(v.symFirst[rank], v.symFirst[rank+1], do)
		}
		if s.flags[t]&flagAny == 0 {
			continue
		}
		for i := v.nameFirst[t]; i < v.nameFirst[int(t)+1]; i++ {
			if s.flags[v.nameSyms[i]] == 0 && s.isWanted(v.nameSlots[i]) {
				do(v.nameSlots[i])
			}
		}
	}
}

// isWanted says that a token is there and passes the filter.
func (s *searcher) isWanted(slot uint32) bool {
	return s.bits[slot/64]>>(slot%64)&1 != 0 && s.filter.passes(s.view, slot)
}

// markPrefixes tells which of the texts that contain the query begin with it.
func (s *searcher) markPrefixes() {
	prefix := s.text
	for _, t := range s.matched {
		if s.flags[t]&flagContains == 0 {
			continue
		}
		if text := s.view.text(t); len(text) >= len(prefix) && string(text[:len(prefix)]) == prefix {
			s.flags[t] |= flagPrefix
			if len(text) == len(prefix) {
				s.flags[t] |= flagExact
			}
		}
	}
}

// offerMatch counts a token and offers it, in an order other than that of relevance.
func (s *searcher) offerMatch(slot uint32) {
	s.total++
	f := found{view: s.view, slot: slot, key: s.top.sortKey(s.view, slot)}
	if !s.top.mayTake(0, 0, f.key) || s.isTaken(slot) || s.order == SortMint && !s.isAhead(slot) {
		return
	}
	f.tier = s.tierOf(slot)
	f.field, f.score = s.scoreOf(slot, f.tier)
	s.top.offer(&f)
}

// offerSimilar offers the tokens of the last tier, each at the turn of its better text; the
// symbol's when they are alike.
func (s *searcher) offerSimilar() {
	if !s.top.mayTake(TierSimilar, 1, 0) {
		return
	}
	v := s.view
	f := found{view: v, tier: TierSimilar}
	isPromising := func(slot uint32) bool {
		f.slot, f.key = slot, v.key(slot)
		return s.top.mayTake(f.tier, f.score, f.key) && !s.isTaken(slot)
	}
	for _, t := range s.matched {
		if s.flags[t]&flagContains != 0 {
			continue
		}
		if rank := v.symRank[t]; rank != none {
			f.score, f.field = s.symbolScore(t), FieldSymbol
			if s.top.mayTake(f.tier, f.score, 0) {
				s.eachPromising(v.symFirst[rank], v.symFirst[rank+1], f.tier, f.score, func(slot uint32) {
					if !isPromising(slot) {
						return
					}
					if name := v.name[slot]; s.flags[name]&flagContains == 0 && s.similarityOf(name) <= f.score {
						s.top.offer(&f)
					}
				})
			}
		}
		f.score, f.field = s.similarityOf(t), FieldName
		if s.flags[t]&flagSimilar == 0 || !s.top.mayTake(f.tier, f.score, 0) {
			continue
		}
		for i := v.nameFirst[t]; i < v.nameFirst[int(t)+1]; i++ {
			if symbol := v.nameSyms[i]; s.flags[symbol]&flagContains == 0 && s.symbolScore(symbol) < f.score && s.isWanted(v.nameSlots[i]) {
				if isPromising(v.nameSlots[i]) {
					s.top.offer(&f)
				}
			}
		}
	}
}

// symbolScore is the score of a symbol that does not contain the query.
func (s *searcher) symbolScore(t uint32) float64 {
	best := s.similarityOf(t)
	if s.flags[t]&flagEdit != 0 {
		best = max(best, typoScore(s.runes, s.view.text(t)))
	}
	return best
}

// tierOf is the best tier of a token by the flags of its texts.
func (s *searcher) tierOf(slot uint32) Tier {
	symbol, name := s.flags[s.view.sym[slot]], s.flags[s.view.name[slot]]
	switch {
	case symbol&flagExact != 0:
		return TierSymbol
	case symbol&flagPrefix != 0:
		return TierSymbolPrefix
	case name&flagPrefix != 0:
		return TierNamePrefix
	case (symbol|name)&flagContains != 0:
		return TierSubstring
	case symbol != 0 || name&flagAny != 0:
		return TierSimilar
	}
	return noMatch
}

// scoreOf says what matched and how well.
func (s *searcher) scoreOf(slot uint32, tier Tier) (Field, float64) {
	v := s.view
	sym, name := v.sym[slot], v.name[slot]
	switch tier {
	case TierSymbol, TierSymbolPrefix:
		return FieldSymbol, 0
	case TierNamePrefix:
		return FieldName, 0
	default:
	}
	field, best := FieldSymbol, s.similarityOf(sym)
	// One that is not similar is less than one that is.
	if best == 0 || s.flags[name]&flagSimilar != 0 {
		if other := s.similarityOf(name); other > best {
			field, best = FieldName, other
		}
	}
	if tier == TierSubstring && best == 0 {
		best = s.countSimilarity(sym)
		if other := s.countSimilarity(name); other > best {
			field, best = FieldName, other
		}
	}
	if tier == TierSimilar && s.flags[sym]&flagEdit != 0 {
		if typo := typoScore(s.runes, v.text(sym)); typo >= best {
			field, best = FieldSymbol, typo
		}
	}
	return field, best
}

// similarityOf is 0 for a text that is not similar.
func (s *searcher) similarityOf(t uint32) float64 {
	return score(int(s.flags[t]>>sharedShift), len(s.grams), int(s.view.gramCount[t]))
}

// takenMatches says whether the token whose mint the query is matches by its texts, too.
func (s *searcher) takenMatches(version *version) bool {
	for _, v := range version.views {
		if v.serial != s.taken.serial {
			continue
		}
		s.enter(v)
		s.match()
		matches := s.tierOf(s.taken.slot) != noMatch
		s.leave()
		return matches
	}
	return false
}

// countShort counts what matches one or two characters: what contains them was counted when it
// came. Where both are letters or digits what is similar contains them, as two of two trigrams, or
// two of three, cannot be shared otherwise; where none is, nothing is similar. What is left are the
// symbols one edit away.
func (s *searcher) countShort(version *version) bool {
	key, ok := shortKey(s.text)
	if !ok || s.filter.slow || len(s.grams) > 0 && len(s.grams) != len(s.text)+1 {
		return false
	}
	if s.filter.classicOnly {
		s.total += int(version.shorts[key][1])
	} else {
		s.total += int(version.shorts[key][0])
	}
	for _, v := range version.views {
		s.enter(v)
		s.fit()
		s.editedSymbols()
		for _, t := range s.matched {
			if containsText(v.text(t), s.text) {
				continue
			}
			rank := v.symRank[t]
			s.eachSlot(v.symFirst[rank], v.symFirst[rank+1], func(slot uint32) {
				if !containsText(v.text(v.name[slot]), s.text) {
					s.total++
				}
			})
		}
		s.leave()
	}
	return true
}
