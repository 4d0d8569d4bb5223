package search

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"
)

const (
	// maxLeaders are kept in order: the first pages of what is asked for most, the tokens with the
	// most volume.
	maxLeaders = 1024
	// minLeaders are few enough to look for more.
	minLeaders = 256
)

// leader is a token among the first, with what orders it.
type leader struct {
	key  uint64
	seen int64
	mint mintKey
	id   uint32
	gone bool // of what changes: it is not to be among the leaders
}

func compareLeaders(a, b leader) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.seen, b.seen), bytes.Compare(a.mint[:], b.mint[:]))
}

// leaders are the first tokens of a version when there is no text, as a page to hand out. They are
// immutable.
type leaders struct {
	list  []leader
	hits  []Hit
	isAll bool // there are no other tokens
}

func newLeaders(list []leader, isAll bool) *leaders {
	l := &leaders{list: list, hits: make([]Hit, len(list)), isAll: isAll}
	for i := range list {
		l.hits[i] = Hit{ID: list[i].id, Tier: TierAll, Field: FieldNone}
	}
	return l
}

// worst is a key that no leader exceeds, and that a token must not exceed to be one.
func (l *leaders) worst() uint64 {
	if l.isAll || len(l.list) == 0 {
		return math.MaxUint64
	}
	return l.list[len(l.list)-1].key
}

// updated is what the leaders are when tokens changed, of which there are so many now. It is nil
// when that cannot be told from the leaders alone.
func (l *leaders) updated(changed map[uint32]leader, live int) *leaders {
	next := slices.DeleteFunc(slices.Clone(l.list), func(t leader) bool { _, ok := changed[t.id]; return ok })
	for _, t := range changed {
		// Behind the last of the leaders there are tokens that are not known here.
		if !t.gone && (l.isAll || compareLeaders(t, l.list[len(l.list)-1]) <= 0) {
			next = append(next, t)
		}
	}
	slices.SortFunc(next, compareLeaders)
	next = slices.Clone(next[:min(len(next), maxLeaders)])
	if len(next) < min(minLeaders, live) {
		return nil
	}
	return newLeaders(next, len(next) == live)
}

// lead notes a change of a token that was, or is now, among the leaders. A key that it had not is
// the greatest.
func (b *batch) lead(t leader, isClassic bool, wasKey uint64, wasClassic bool) {
	for class, l := range b.next.leaders {
		was, is := wasKey, t.key
		if class == classicOnly && !wasClassic {
			was = math.MaxUint64
		}
		if class == classicOnly && !isClassic || t.gone {
			t.gone, is = true, math.MaxUint64
		}
		if worst := l.worst(); !l.isAll && was > worst && is > worst {
			continue
		}
		if b.led[class] == nil {
			b.led[class] = map[uint32]leader{}
		}
		b.led[class][t.id] = t
	}
}

// Classes of leaders.
const (
	allClasses = iota
	classicOnly
	classes
)

// finishLeaders gives the new version its leaders.
func (b *batch) finishLeaders() {
	for class, changed := range b.led {
		if len(changed) == 0 {
			continue
		}
		live := b.next.live
		if class == classicOnly {
			live = b.next.liveClassic
		}
		l := b.next.leaders[class].updated(changed, live)
		if l == nil {
			l = b.x.findLeaders(&b.next, class == classicOnly, live)
		}
		b.next.leaders[class] = l
	}
}

// findLeaders looks for the leaders among all tokens.
func (x *Inverted) findLeaders(v *version, isClassic bool, live int) *leaders {
	s := x.pool.Get().(*searcher)
	defer x.release(s)
	s.plan = newPlan(&Query{IncludeToken22: !isClassic, Limit: maxLeaders}, v)
	s.total, s.taken = 0, place{}
	s.top = top{k: min(maxLeaders, live), found: s.top.found[:0]}
	s.everything(v)
	list := make([]leader, 0, s.top.k)
	for _, f := range s.top.sorted() {
		list = append(list, leader{key: f.key, seen: f.view.seenAt(f.slot), mint: mintKey(f.view.mint(f.slot)), id: f.view.ids[f.slot]})
	}
	return newLeaders(list, len(list) == live)
}

// leading answers a search for nothing in particular from the leaders; false when they are not
// enough, or it is another search.
func (v *version) leading(query *Query) (Result, bool) {
	f := &query.Filter
	isPlain := (query.Sort == SortRelevance || query.Sort == SortVolume) && f.Program != ProgramToken2022 && f.Tag == "" && f.MinVolume == nil &&
		f.CreatedAfter == nil && f.Passes == nil && len(f.Extensions)+len(f.NotExtensions) == 0
	if !isPlain || strings.TrimSpace(query.Text) != "" {
		return Result{}, false
	}
	l, total := v.leaders[allClasses], v.live
	if !query.IncludeToken22 || f.Program == ProgramToken {
		l, total = v.leaders[classicOnly], v.liveClassic
	}
	from := min(max(0, query.Offset), len(l.hits))
	left := l.hits[from:]
	switch {
	case query.Limit <= len(left):
		left = left[:max(0, query.Limit)]
	case !l.isAll:
		return Result{}, false
	}
	result := Result{Total: total}
	if len(left) > 0 {
		result.Hits = slices.Clip(left)
	}
	return result, true
}
