package search

import (
	"bytes"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// ranking is the last stage of a search: it keeps the best documents. Each document is offered
// once, in its best tier.
type ranking struct {
	plan *plan
	top  top
	// exact is the document whose mint the text is; its segment is nil if there is none.
	exact entry
	// starts has the results of firstAfter, so that each segment is searched once.
	starts map[*segment]int
}

func newRanking(p *plan, size int) *ranking {
	return &ranking{plan: p, top: top{query: p.query, size: size}}
}

// page returns the hits from offset on. In orders other than relevance it computes only now how
// they match.
func (r *ranking) page(offset int) []Hit {
	sorted := r.top.sorted()
	if offset >= len(sorted) {
		return nil
	}
	hits := make([]Hit, len(sorted)-offset)
	for i := range hits {
		e := &sorted[offset+i]
		if r.plan.text != "" && r.plan.query.Sort != SortRelevance && !r.isExact(e.segment, e.doc) {
			e.tier, e.field, e.score = r.plan.explain(e.texts())
		}
		hits[i] = Hit{e.segment.rowIDs[e.doc], e.tier, e.field, e.score}
	}
	return hits
}

// texts returns the symbol and the name of the document.
func (e *entry) texts() (symbol, name string) {
	s := e.segment
	return string(s.term(s.symbols[e.doc])), string(s.term(s.names[e.doc]))
}

// matchesByText returns whether a document matches by its symbol or name, too.
func (e *entry) matchesByText(p *plan) bool {
	tier, _, _ := p.explain(e.texts())
	return tier != noMatch
}

func (r *ranking) isExact(s *segment, doc uint32) bool {
	return r.exact.segment == s && r.exact.doc == doc
}

// rankAll ranks all documents: there is no text.
func (r *ranking) rankAll(v *version) (total int) {
	for _, s := range v.segments {
		total += r.plan.filter.count(s)
		if r.plan.query.Sort == SortMint {
			r.walk(s)
		} else {
			r.offerRange(s, 0, uint32(s.documents()), TierAll, FieldNone)
		}
	}
	return total
}

// walk offers the documents of a segment that pass the filter in the order of their mints, from the
// first one after the cursor on, as many as a page takes.
func (r *ranking) walk(s *segment) {
	left := r.top.size
	for at := r.firstAfter(s); at < s.documents() && left > 0; at++ {
		doc := s.byMint[at]
		if r.plan.filter.wants(s, doc) {
			r.top.offer(entry{segment: s, doc: doc, tier: TierAll, key: r.top.key(s, doc)})
			left--
		}
	}
}

// offerMint offers the document whose mint is the text.
func (r *ranking) offerMint(v *version) {
	if !r.plan.isMint {
		return
	}
	for _, s := range v.segments {
		for at := s.findMint(r.plan.mint); at < s.documents() && s.mints[s.byMint[at]] == r.plan.mint; at++ {
			if doc := s.byMint[at]; r.plan.filter.wants(s, doc) {
				r.exact = entry{segment: s, doc: doc, tier: TierMint, field: FieldMint, key: r.top.key(s, doc)}
				if r.isAfter(s, doc) {
					r.top.offer(r.exact)
				}
				return
			}
		}
	}
}

// isAfter returns whether a document comes after the query's cursor. Only the order by mint has a
// cursor here: in other orders all documents do.
func (r *ranking) isAfter(s *segment, doc uint32) bool {
	if r.plan.query.Sort != SortMint || r.plan.query.Cursor == "" {
		return true
	}
	first := r.firstAfter(s)
	return first < s.documents() && pubkey.Compare(s.mints[doc], s.mints[s.byMint[first]]) >= 0
}

// firstAfter returns the place in s.byMint of the first document whose mint comes after the query's
// cursor. Without a cursor it is 0.
func (r *ranking) firstAfter(s *segment) int {
	if r.plan.query.Cursor == "" {
		return 0
	}
	first, known := r.starts[s]
	if !known {
		if r.starts == nil {
			r.starts = map[*segment]int{}
		}
		first = s.after(r.plan.query.Cursor)
		r.starts[s] = first
	}
	return first
}

// eachPromising calls do for the documents in [from, to) that pass the filter and may enter the
// page with that tier and score. It skips chunks whose best key is below the threshold.
func (r *ranking) eachPromising(s *segment, from, to uint32, tier Tier, score float64, do func(doc uint32, key uint64)) {
	for from < to {
		end := min(to, (from/chunkSize+1)*chunkSize)
		if !r.plan.query.byOrderKey() || r.top.mayEnter(tier, score, s.best[from/chunkSize]) {
			r.plan.filter.eachDocument(s, from, end, func(doc uint32) {
				if key := r.top.key(s, doc); r.top.mayEnter(tier, score, key) && !r.isExact(s, doc) {
					do(doc, key)
				}
			})
		}
		from = end
	}
}

// offerRange offers the documents in [from, to), all of one tier that has no scores.
func (r *ranking) offerRange(s *segment, from, to uint32, tier Tier, field Field) {
	r.eachPromising(s, from, to, tier, 0, func(doc uint32, key uint64) {
		r.top.offer(entry{segment: s, doc: doc, tier: tier, field: field, key: key})
	})
}

// offerPrefixes offers the documents of the tiers better than the fuzzy ones: exact symbols, then
// symbols and names that begin with the text. It skips a tier when better ones fill the page.
func (r *ranking) offerPrefixes(v *version) {
	prefix := []byte(r.plan.text)
	longer := make([][2]uint32, len(v.segments)) // documents whose symbols begin with the text
	for i, s := range v.segments {
		from, to := s.prefixRange(s.symbolTerms, prefix)
		exact := from
		if from < to && len(s.term(s.symbolTerms[from])) == len(prefix) {
			from++
		}
		r.offerRange(s, s.symbolDocs[exact], s.symbolDocs[from], TierSymbol, FieldSymbol)
		longer[i] = [2]uint32{s.symbolDocs[from], s.symbolDocs[to]}
	}
	for i, s := range v.segments {
		r.offerRange(s, longer[i][0], longer[i][1], TierSymbolPrefix, FieldSymbol)
	}
	for _, s := range v.segments {
		if r.top.mayEnter(TierNamePrefix, 0, 0) {
			r.offerNames(s, prefix)
		}
	}
}

// offerNames offers the documents whose names begin with the text, unless their symbols do too.
func (r *ranking) offerNames(s *segment, prefix []byte) {
	e := entry{segment: s, tier: TierNamePrefix, field: FieldName}
	from, to := s.prefixRange(s.nameTerms, prefix)
	for _, t := range s.nameTerms[from:to] {
		first, last := s.docsOfName(t)
		for _, doc := range s.nameDocs[first:last] {
			e.doc, e.key = doc, s.key(doc)
			if r.top.mayEnter(e.tier, 0, e.key) && r.plan.filter.wants(s, doc) && !r.isExact(s, doc) && !bytes.HasPrefix(s.term(s.symbols[doc]), prefix) {
				r.top.offer(e)
			}
		}
	}
}
