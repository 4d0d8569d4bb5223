package search

import (
	"slices"
	"strings"
)

// attributes are what filters ask for and few distinct combinations of exist.
type attributes struct {
	token22          bool
	extensions, tags []string
}

// attributeTable numbers combinations. It is the writer's; readers see the list up to the length
// that their version has.
type attributeTable struct {
	numbers map[string]uint32
	list    []attributes
}

func (t *attributeTable) number(document *Document) uint32 {
	var key strings.Builder
	if document.Token.IsToken22 {
		key.WriteByte('2')
	}
	for _, texts := range [2][]string{document.Extensions, document.Token.Tags} {
		key.WriteByte(0)
		for _, text := range texts {
			key.WriteString(text)
			key.WriteByte(1)
		}
	}
	if number, ok := t.numbers[key.String()]; ok {
		return number
	}
	number := uint32(len(t.list))
	t.numbers[key.String()] = number
	t.list = append(t.list, attributes{document.Token.IsToken22, cloneTexts(document.Extensions), cloneTexts(document.Token.Tags)})
	return number
}

// cloneTexts copies the bytes too: they may lie in a large buffer of somebody else.
func cloneTexts(texts []string) []string {
	clone := slices.Clone(texts)
	for i := range clone {
		clone[i] = strings.Clone(clone[i])
	}
	return clone
}

// pass says that the query wants tokens with these attributes.
func (a *attributes) pass(query *Query) bool {
	f := &query.Filter
	if a.token22 && (!query.IncludeToken22 || f.Program == ProgramToken) || !a.token22 && f.Program == ProgramToken2022 {
		return false
	}
	if f.Tag != "" && !slices.Contains(a.tags, f.Tag) {
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

// filter is a query's filter made ready: most queries need only one of two bitmaps.
type filter struct {
	classicOnly bool
	slow        bool // the bitmap does not tell all
	attrs       []bool
	maxKey      uint64
	after       *int64
	wanted      func(id uint32) bool
}

func newFilter(query *Query, v *version) filter {
	f := filter{maxKey: ^uint64(0), after: query.Filter.CreatedAfter, wanted: query.Filter.Passes}
	f.classicOnly = !query.IncludeToken22 || query.Filter.Program == ProgramToken
	if volume := query.Filter.MinVolume; volume != nil {
		f.maxKey = orderKey(cleanVolume(*volume), true, 0)
	}
	byAttributes := query.Filter.Program == ProgramToken2022 || query.Filter.Tag != "" || len(query.Filter.Extensions)+len(query.Filter.NotExtensions) > 0
	if byAttributes {
		f.attrs = make([]bool, len(v.attrs))
		for i := range v.attrs {
			f.attrs[i] = v.attrs[i].pass(query)
		}
	}
	f.slow = byAttributes || f.after != nil || f.wanted != nil || query.Filter.MinVolume != nil
	return f
}

// bits are the slots that may pass.
func (f *filter) bits(v *view) []uint64 {
	if f.classicOnly {
		return v.classic
	}
	return v.alive
}

// live is how many tokens of the view have their bit set.
func (f *filter) live(v *view) int {
	if f.classicOnly {
		return v.liveOld
	}
	return v.live
}

// passes looks at what the bitmap does not tell.
func (f *filter) passes(v *view, slot uint32) bool {
	if !f.slow {
		return true
	}
	if v.key(slot) > f.maxKey || f.attrs != nil && !f.attrs[v.attrs[slot]] {
		return false
	}
	if f.after != nil {
		if seen := v.seenAt(slot); seen == unknownSeen || seen <= *f.after {
			return false
		}
	}
	return f.wanted == nil || f.wanted(v.ids[slot])
}

// cleanVolume leaves out what no sum of values is: less than nothing, and no number.
func cleanVolume(volume float64) float64 {
	if volume > 0 {
		return volume
	}
	return 0
}
