package evidence

import (
	"slices"
	"sort"
)

// smallGroup is the size up to which ranks are found by comparing all tokens. Most symbols have one
// token, some have tens of thousands. So a group of one token is a number, and a larger one a slice
// in the order of volume. One above smallGroup also has a slice in the order of age and the first
// token of each name, so that a rank is a binary search.
const smallGroup = 32

// groups are the tokens by their symbols' hashes.
type groups struct {
	// of has an entry for each hash: the row id of the only token, or manyBit and an index in many.
	of   map[uint64]uint32
	many []group
	free []uint32 // indexes in many of empty groups
	room []uint32 // see take
}

const manyBit = 1 << 31

type group struct {
	byVolume []uint32
	*large
}

// large is what a group of more than smallGroup tokens has in addition.
type large struct {
	byAge []uint32
	names map[uint32]sharers // by the name's hash
}

// sharers are the tokens of a group that have one name: how many, and the first in the order of
// volume.
type sharers struct{ count, first uint32 }

// place is where a token stands in its group.
type place struct {
	size, byVolume, byAge int
	canonical             uint32
	// copied: a token before it in the order of volume has the same name.
	copied bool
}

// onlyMember is the place of a token that is alone in its group.
func onlyMember(id uint32) place { return place{size: 1, byVolume: 1, byAge: 1, canonical: id} }

func newGroups() groups { return groups{of: map[uint64]uint32{}} }

// insert adds a token, whose traits must be set, to the group of its symbol.
func (g *groups) insert(x *Index, id uint32) {
	hash := x.at(id).symbol
	entry, exists := g.of[hash]
	if !exists {
		g.of[hash] = id
		return
	}
	if entry&manyBit == 0 {
		members := []uint32{entry, id}
		if x.byVolume(id, entry) {
			members = []uint32{id, entry}
		}
		g.of[hash] = manyBit | g.add(group{byVolume: members})
		return
	}
	members := &g.many[entry&^manyBit]
	members.byVolume = insertAt(members.byVolume, rank(members.byVolume, id, x.byVolume), id)
	if members.large != nil {
		members.byAge = insertAt(members.byAge, rank(members.byAge, id, x.byAge), id)
		members.addName(x, id)
	} else if len(members.byVolume) > smallGroup {
		members.grow(x)
	}
}

// insertAt inserts an id. It grows a full list by a quarter only: few of the many groups grow
// again.
func insertAt(list []uint32, at int, id uint32) []uint32 {
	if len(list) == cap(list) {
		grown := make([]uint32, len(list), len(list)+len(list)/4+1)
		copy(grown, list)
		list = grown
	}
	return slices.Insert(list, at, id)
}

func (g *groups) add(members group) uint32 {
	if n := len(g.free); n > 0 {
		at := g.free[n-1]
		g.free = g.free[:n-1]
		g.many[at] = members
		return at
	}
	g.many = append(g.many, members)
	return uint32(len(g.many) - 1)
}

// remove takes a token out. Its traits must still be those that it was inserted with.
func (g *groups) remove(x *Index, id uint32) {
	hash := x.at(id).symbol
	entry := g.of[hash]
	if entry&manyBit == 0 {
		delete(g.of, hash)
		return
	}
	members := &g.many[entry&^manyBit]
	at := rank(members.byVolume, id, x.byVolume)
	members.byVolume = slices.Delete(members.byVolume, at, at+1)
	switch {
	case len(members.byVolume) == 1:
		g.of[hash] = members.byVolume[0]
		*members = group{}
		g.free = append(g.free, entry&^manyBit)
	case len(members.byVolume) <= smallGroup/2:
		members.large = nil
	case members.large != nil:
		at = rank(members.byAge, id, x.byAge)
		members.byAge = slices.Delete(members.byAge, at, at+1)
		members.removeName(x, id)
	}
}

// grow makes a group a large one.
func (m *group) grow(x *Index) {
	m.large = &large{byAge: slices.Clone(m.byVolume), names: map[uint32]sharers{}}
	sort.Slice(m.byAge, func(i, j int) bool { return x.byAge(m.byAge[i], m.byAge[j]) })
	for _, id := range m.byVolume {
		m.addName(x, id)
	}
}

// addName adds a token to names.
func (m *group) addName(x *Index, id uint32) {
	name := x.at(id).name
	if name == 0 {
		return
	}
	s, known := m.names[name]
	if !known || x.byVolume(id, s.first) {
		s.first = id
	}
	s.count++
	m.names[name] = s
}

// removeName takes a token out of names. The caller has already removed the token from byVolume, or
// gives it another name next. In the second case byVolume still has it: the search for the name's
// new first token skips it.
func (m *group) removeName(x *Index, id uint32) {
	name := x.at(id).name
	s, known := m.names[name]
	if !known {
		return
	}
	if s.count--; s.count == 0 {
		delete(m.names, name)
		return
	}
	if s.first == id {
		at := slices.IndexFunc(m.byVolume, func(other uint32) bool { return other != id && x.at(other).name == name })
		s.first = m.byVolume[at]
	}
	m.names[name] = s
}

// rename gives a token another name, on which no order depends.
func (g *groups) rename(x *Index, id, name uint32) {
	token := x.at(id)
	entry := g.of[token.symbol]
	if entry&manyBit == 0 || g.many[entry&^manyBit].large == nil {
		token.name = name
		return
	}
	members := &g.many[entry&^manyBit]
	members.removeName(x, id)
	token.name = name
	members.addName(x, id)
}

// placeOf returns where a token stands in its group.
func (g *groups) placeOf(x *Index, id uint32) place {
	entry, exists := g.of[x.at(id).symbol]
	if !exists || entry&manyBit == 0 {
		return onlyMember(id)
	}
	members := &g.many[entry&^manyBit]
	p := place{size: len(members.byVolume), canonical: members.byVolume[0]}
	at := rank(members.byVolume, id, x.byVolume)
	p.byVolume = at + 1
	name := x.at(id).name
	if members.large != nil {
		p.byAge = rank(members.byAge, id, x.byAge) + 1
		p.copied = name != 0 && members.names[name].first != id
		return p
	}
	p.byAge = 1
	for _, other := range members.byVolume {
		if x.byAge(other, id) {
			p.byAge++
		}
	}
	p.copied = name != 0 && slices.ContainsFunc(members.byVolume[:at], func(other uint32) bool { return x.at(other).name == name })
	return p
}

// rank returns how many of a sorted list stand before a token.
func rank(list []uint32, id uint32, before func(a, b uint32) bool) int {
	return sort.Search(len(list), func(i int) bool { return !before(list[i], id) })
}
