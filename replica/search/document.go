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
}

func newDocument(change *Change) *document {
	token := change.Token
	d := &document{id: change.ID, mint: strings.Clone(change.Mint), token22: token.IsToken22, symbol: Normalise(token.Symbol), name: Normalise(token.Name)}
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
	d.extensions, d.tags = slices.Clone(change.Extensions), slices.Clone(token.Tags)
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
	case f.Tag != "" && !slices.Contains(d.tags, f.Tag):
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
	case SortMint:
	}
	if c != 0 {
		return c
	}
	return strings.Compare(a.mint, b.mint)
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
