package search

import "bytes"

// walk is a search in the order of mints, from behind the cursor.
func (s *searcher) walk(version *version) Result {
	limit := max(0, s.query.Limit)
	if s.text != "" {
		// One more than the page tells whether there is a next.
		s.top = top{order: SortMint, k: min(limit, version.live) + 1, found: s.top.found[:0]}
		s.matching(version)
	} else {
		s.top = top{order: SortMint, k: version.live + 1, found: s.top.found[:0]}
		s.walkAll(version, min(limit, version.live)+1)
	}
	ordered := s.top.sorted()
	result := Result{Total: s.total}
	if limit == 0 {
		return result
	}
	if len(ordered) > limit {
		ordered = ordered[:limit]
		last := &ordered[limit-1]
		result.Next = unpackMint(last.view.mint(last.slot))
	}
	if len(ordered) > 0 {
		result.Hits = hitsOf(ordered)
	}
	return result
}

// walkAll offers the first count tokens of each view behind the cursor.
func (s *searcher) walkAll(version *version, count int) {
	for _, v := range version.views {
		s.enter(v)
		s.countSlots(0, uint32(v.slots()))
		left := count
		// No cursor is before all mints.
		for at := v.findMint(s.cursor[:]); at < v.slots() && left > 0; at++ {
			slot := v.mintOrder[at]
			if s.bits[slot/64]>>(slot%64)&1 == 0 || !s.filter.passes(v, slot) || !s.isAhead(slot) {
				continue
			}
			s.top.offer(&found{view: v, slot: slot, tier: TierAll, key: s.top.sortKey(v, slot)})
			left--
		}
	}
}

// isAhead says that a token is behind the cursor of a walk.
func (s *searcher) isAhead(slot uint32) bool {
	return !s.hasCursor || bytes.Compare(s.view.mint(slot), s.cursor[:]) > 0
}

func containsText(text []byte, part string) bool {
	switch len(part) {
	case 1:
		return bytes.IndexByte(text, part[0]) >= 0
	case 2:
		for i := 1; i < len(text); i++ {
			if text[i] == part[1] && text[i-1] == part[0] {
				return true
			}
		}
		return false
	}
	return bytes.Contains(text, []byte(part))
}
