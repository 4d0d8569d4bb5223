package search

import (
	"math/bits"
	"slices"
	"strings"
)

// attributes are properties that filters ask for. There are few distinct combinations of them.
type attributes struct {
	token22          bool
	launchpad        string
	extensions, tags []string
}

// attributeTable numbers the combinations. It is for the writer; readers see the part of the list
// that their version has.
type attributeTable struct {
	numbers map[string]uint32
	list    []attributes
}

// number returns the number of a document's combination, a new one if it has none.
func (t *attributeTable) number(document *Document) uint32 {
	a := attributes{token22: document.Token.IsToken22, extensions: document.Extensions, tags: document.Token.Tags}
	if document.Token.Launchpad != nil {
		a.launchpad = *document.Token.Launchpad
	}
	if number, ok := t.numbers[a.key()]; ok {
		return number
	}
	return t.add(attributes{a.token22, strings.Clone(a.launchpad), cloneTexts(a.extensions), cloneTexts(a.tags)})
}

// add gives a combination that has no number the next one.
func (t *attributeTable) add(a attributes) uint32 {
	number := uint32(len(t.list))
	t.numbers[a.key()] = number
	t.list = append(t.list, a)
	return number
}

// key returns a text that no other combination has.
func (a *attributes) key() string {
	var key strings.Builder
	if a.token22 {
		key.WriteByte('2')
	}
	key.WriteByte(0)
	key.WriteString(a.launchpad)
	for _, texts := range [2][]string{a.extensions, a.tags} {
		key.WriteByte(0)
		for _, text := range texts {
			key.WriteString(text)
			key.WriteByte(1)
		}
	}
	return key.String()
}

// cloneTexts copies the bytes too: they may lie in a large buffer that belongs to the caller.
func cloneTexts(texts []string) []string {
	clone := slices.Clone(texts)
	for i := range clone {
		clone[i] = strings.Clone(clone[i])
	}
	return clone
}

// pass returns whether the query wants tokens with these attributes.
func (a *attributes) pass(query *Query) bool {
	f := &query.Filter
	if a.token22 && (!query.IncludeToken22 || f.Program == ProgramToken) || !a.token22 && f.Program == ProgramToken2022 {
		return false
	}
	if f.Tag != "" && !slices.Contains(a.tags, f.Tag) {
		return false
	}
	if f.Launchpad != "" && a.launchpad != f.Launchpad {
		return false
	}
	for _, kind := range f.Extensions {
		if !slices.Contains(a.extensions, kind) {
			return false
		}
	}
	for _, kind := range f.NotExtensions {
		if slices.Contains(a.extensions, kind) {
			return false
		}
	}
	return true
}

// filter is a query's filter, prepared. Most queries need only one of the two bitmaps of a segment,
// live or classic.
type filter struct {
	classicOnly bool
	isSlow      bool   // the bitmap is not enough: passes must look at each document
	attributes  []bool // which are wanted, by number; nil: all
	maxKey      uint64
	after       *int64
	rowIDs      func(id uint32) bool
}

func newFilter(query *Query, v *version) filter {
	f := filter{maxKey: ^uint64(0), after: query.Filter.CreatedAfter, rowIDs: query.Filter.Passes}
	f.classicOnly = !query.IncludeToken22 || query.Filter.Program == ProgramToken
	if volume := query.Filter.MinVolume; volume != nil {
		// A higher volume has a lower key, an unknown one a higher key than all.
		f.maxKey = orderKey(cleanVolume(*volume), true, 0)
	}
	byAttributes := query.Filter.Program == ProgramToken2022 || query.Filter.Tag != "" || query.Filter.Launchpad != "" || len(query.Filter.Extensions)+len(query.Filter.NotExtensions) > 0
	if byAttributes {
		f.attributes = make([]bool, len(v.attributes))
		for i := range v.attributes {
			f.attributes[i] = v.attributes[i].pass(query)
		}
	}
	f.isSlow = byAttributes || f.after != nil || f.rowIDs != nil || query.Filter.MinVolume != nil
	return f
}

// bits returns a bitmap of the documents that may pass.
func (f *filter) bits(s *segment) []uint64 {
	if f.classicOnly {
		return s.classic
	}
	return s.live
}

// live returns how many documents of the segment may pass.
func (f *filter) live(s *segment) int {
	if f.classicOnly {
		return s.classicCount
	}
	return s.liveCount
}

// wants returns whether a document is live and passes.
func (f *filter) wants(s *segment, doc uint32) bool {
	return hasBit(f.bits(s), doc) && f.passes(s, doc)
}

// passes checks the conditions that are not in the bitmap.
func (f *filter) passes(s *segment, doc uint32) bool {
	if !f.isSlow {
		return true
	}
	if s.key(doc) > f.maxKey || f.attributes != nil && !f.attributes[s.attributes[doc]] {
		return false
	}
	if f.after != nil {
		if seen := s.seenAt(doc); seen == unknownSeen || seen <= *f.after {
			return false
		}
	}
	return f.rowIDs == nil || f.rowIDs(s.rowIDs[doc])
}

// eachDocument calls do for the live documents in [from, to) that pass.
func (f *filter) eachDocument(s *segment, from, to uint32, do func(doc uint32)) {
	bitmap := f.bits(s)
	for from < to {
		word := bitmap[from/64] >> (from % 64)
		if word == 0 {
			from = (from/64 + 1) * 64
			continue
		}
		from += uint32(bits.TrailingZeros64(word))
		if from < to && f.passes(s, from) {
			do(from)
		}
		from++
	}
}

// count counts the live documents of a segment that pass.
func (f *filter) count(s *segment) (total int) {
	if !f.isSlow {
		return f.live(s)
	}
	f.eachDocument(s, 0, uint32(s.documents()), func(uint32) { total++ })
	return total
}

// cleanVolume returns 0 for volumes that no sum of values can be: negative ones and NaN.
func cleanVolume(volume float64) float64 {
	if volume > 0 {
		return volume
	}
	return 0
}
