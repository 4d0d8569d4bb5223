package search

import (
	"cmp"
	"slices"
	"strings"
)

// document is a token with what matching needs, computed once.
type document struct {
	id            uint32
	mint          string
	token22       bool
	symbol, name  string
	symbolRunes   int
	symbolGrams   []gram
	nameGrams     []gram
	gramMask      uint64
	volume        float64
	hasVolume     bool
	firstSeen     int64
	hasFirstSeen  bool
	fewestAnyGram int
	extensions    []string
	tags          []string
	launchpad     string
}

func newDocument(given *Document) *document {
	token := given.Token
	d := &document{id: given.ID, mint: given.Mint.String(), token22: token.IsToken22, symbol: Normalise(token.Symbol), name: Normalise(token.Name)}
	d.symbolRunes = len([]rune(d.symbol))
	d.symbolGrams, d.nameGrams = grams(d.symbol), grams(d.name)
	d.gramMask = maskOf(d.symbolGrams) | maskOf(d.nameGrams)
	d.fewestAnyGram = min(len(d.symbolGrams), len(d.nameGrams))
	if token.DailyVolumeUSD != nil {
		d.volume, d.hasVolume = cleanVolume(*token.DailyVolumeUSD), true
	}
	if token.FirstSeenAt != nil {
		d.firstSeen, d.hasFirstSeen = *token.FirstSeenAt, true
	}
	d.extensions, d.tags = slices.Clone(given.Extensions), slices.Clone(token.Tags)
	if token.Launchpad != nil {
		d.launchpad = *token.Launchpad
	}
	return d
}

// passes says that the query wants to see such a token at all.
func (d *document) passes(query *Query) bool {
	f := &query.Filter
	switch {
	case d.token22 && (!query.IncludeToken22 || f.Program == ProgramToken), !d.token22 && f.Program == ProgramToken2022:
		return false
	case f.MinVolume != nil && (!d.hasVolume || d.volume < *f.MinVolume):
		return false
	case f.CreatedAfter != nil && (!d.hasFirstSeen || d.firstSeen <= *f.CreatedAfter):
		return false
	case f.Passes != nil && !f.Passes(d.id):
		return false
	case f.Tag != "" && !slices.Contains(d.tags, f.Tag), f.Launchpad != "" && d.launchpad != f.Launchpad:
		return false
	}
	for _, kind := range f.Extensions {
		if !slices.Contains(d.extensions, kind) {
			return false
		}
	}
	for _, kind := range f.NotExtensions {
		if slices.Contains(d.extensions, kind) {
			return false
		}
	}
	return true
}

// match is a document found, with its place in the order.
type match struct {
	*document
	tier  Tier
	field Field
	score float64
}

// compareMatches orders a before b when negative. It is total: mints are unique.
func compareMatches(sort Sort, a, b *match) int {
	c := 0
	switch sort {
	case SortRelevance:
		if c = cmp.Or(cmp.Compare(a.tier, b.tier), cmp.Compare(b.score, a.score)); c == 0 {
			c = cmp.Or(compareVolumes(a, b), compareKnown(a.hasFirstSeen, b.hasFirstSeen), cmp.Compare(a.firstSeen, b.firstSeen))
		}
	case SortVolume:
		c = cmp.Or(compareVolumes(a, b), compareKnown(a.hasFirstSeen, b.hasFirstSeen), cmp.Compare(a.firstSeen, b.firstSeen))
	case SortNewest:
		c = cmp.Or(compareKnown(a.hasFirstSeen, b.hasFirstSeen), cmp.Compare(b.firstSeen, a.firstSeen))
	case SortOldest:
		c = cmp.Or(compareKnown(a.hasFirstSeen, b.hasFirstSeen), cmp.Compare(a.firstSeen, b.firstSeen))
	case SortFigure:
		figureA, knownA := figureOf(a.id)
		figureB, knownB := figureOf(b.id)
		c = cmp.Or(compareKnown(knownA, knownB), cmp.Compare(figureB, figureA))
	case SortMint:
	}
	if c != 0 {
		return c
	}
	return strings.Compare(a.mint, b.mint)
}

// figureOf is the Figure of drawn queries: some are equal, some negative, some unknown.
func figureOf(id uint32) (float64, bool) {
	if id%4 == 0 {
		return 0, false
	}
	return float64(id%7) - 3, true
}

// compareVolumes puts the greater volume first and what is unknown last.
func compareVolumes(a, b *match) int {
	return cmp.Or(compareKnown(a.hasVolume, b.hasVolume), cmp.Compare(b.volume, a.volume))
}

// compareKnown puts what is known first.
func compareKnown(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// maskOf is a set of trigrams in 64 bits: a bit that is not set proves a trigram absent.
func maskOf(set []gram) uint64 {
	var mask uint64
	for _, g := range set {
		mask |= g.bit()
	}
	return mask
}

func (g gram) bit() uint64 {
	return 1 << (uint64(g) * 0x9E3779B97F4A7C15 >> 58)
}

// similarity is the size of the intersection over the size of the union; 0 when both are empty.
func similarity(a, b []gram) float64 {
	shared, i, j := 0, 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			shared++
			i++
			j++
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	if shared == 0 {
		return 0
	}
	return float64(shared) / float64(len(a)+len(b)-shared)
}
