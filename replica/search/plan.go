package search

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// plan is the first stage of a search: what a query asks for, the same for all segments. It is
// immutable.
type plan struct {
	query  *Query
	filter filter
	// mint is the text as a mint, if it is one.
	mint   pubkey.Key
	isMint bool

	text  string // normalised
	runes int
	grams []gram
	// bands say how many of grams a term must share to be similar: that depends on how many grams
	// the term has.
	bands []band
	// required are the grams of every term that contains the text. When isProof is true, a term
	// that has them and none of innerForks contains it.
	required   []gram
	innerForks []gram
	isProof    bool
	blockHash  uint32
	halves     []uint32 // hashes of the halves of symbols one edit away
}

func newPlan(query *Query, v *version) *plan {
	p := &plan{query: query, filter: newFilter(query, v), text: Normalise(query.Text)}
	if p.text == "" {
		return p
	}
	if mint, err := pubkey.Parse(strings.TrimSpace(query.Text)); err == nil {
		p.mint, p.isMint = mint, true
	}
	p.runes = utf8.RuneCountInString(p.text)
	p.grams = grams(p.text)
	p.bands = bandsOf(len(p.grams))
	p.required = requiredGrams(p.text)
	p.innerForks, p.isProof = innerPairs(p.text)
	p.blockHash = blockHash(p.text)
	p.halves = halvesOf(p.text, p.runes)
	return p
}

// requiredGrams returns grams that each term containing the text has: those inside the text's
// words, those at the ends of words that have a blank beside them in the text, and those of its
// punctuation. Each three neighbouring runes of a text without blanks are among them.
func requiredGrams(text string) []gram {
	var required []gram
	runes := []rune(text)
	for from := 0; from < len(runes); {
		if !isWordRune(runes[from]) {
			from++
			continue
		}
		to := from
		for to < len(runes) && isWordRune(runes[to]) {
			to++
		}
		word := runes[from:to]
		// Only a blank proves where a word of the term ends. Beside punctuation, the grams of the
		// punctuation tell more.
		if from > 0 && runes[from-1] == ' ' {
			word = append([]rune("  "), word...)
		}
		if to < len(runes) && runes[to] == ' ' {
			word = append(slices.Clip(word), ' ')
		}
		for i := 0; i+3 <= len(word); i++ {
			required = append(required, gram(word[i])<<(2*runeBits)|gram(word[i+1])<<runeBits|gram(word[i+2]))
		}
		from = to
	}
	required = appendPunctuation(required, text, min(3, len(runes)))
	slices.Sort(required)
	return slices.Compact(required)
}

// band is the terms with at least from and fewer than to grams. To be similar, such a term must
// share need of the query's grams.
type band struct{ from, to, need int }

// bandsOf divides all terms into bands, for a query of n grams. Where need is above n, no term is
// similar.
func bandsOf(n int) []band {
	if n == 0 {
		return nil
	}
	bands := []band{{0, 0, n + 1}}
	most := int(float64(n)/MinSimilarity) + 2
	for m := 1; m <= most; m++ {
		last := &bands[len(bands)-1]
		last.to = m
		if need := leastShared(n, m); need != last.need {
			bands = append(bands, band{m, m, need})
		}
	}
	bands[len(bands)-1].to = math.MaxInt
	return bands
}

// leastShared returns how many of the query's n grams a term of m grams must share to be similar;
// n+1 if it cannot be.
func leastShared(n, m int) int {
	// This is score solved for shared, and one less, because the rounding may differ.
	least := max(1, int(math.Floor(MinSimilarity*float64(n+m)/(1+MinSimilarity)))-1)
	for shared := least; shared <= min(n, m); shared++ {
		if score(shared, n, m) >= MinSimilarity {
			return shared
		}
	}
	return n + 1
}

// explain compares a document's symbol and name with the query. It returns the tier, the field that
// matches, and the score. It does not look at the mint.
func (p *plan) explain(symbol, name string) (Tier, Field, float64) {
	switch {
	case symbol == p.text:
		return TierSymbol, FieldSymbol, 0
	case strings.HasPrefix(symbol, p.text):
		return TierSymbolPrefix, FieldSymbol, 0
	case strings.HasPrefix(name, p.text):
		return TierNamePrefix, FieldName, 0
	}
	field, best := FieldSymbol, p.similarity(symbol)
	if other := p.similarity(name); other > best {
		field, best = FieldName, other
	}
	if strings.Contains(symbol, p.text) || strings.Contains(name, p.text) {
		return TierSubstring, field, best
	}
	if p.isTypo(symbol) {
		if typo := p.typoScore(symbol); typo >= best {
			field, best = FieldSymbol, typo
		}
		return TierSimilar, field, best
	}
	if best >= MinSimilarity {
		return TierSimilar, field, best
	}
	return noMatch, FieldNone, 0
}

func (p *plan) similarity(text string) float64 {
	other := grams(text)
	return score(countShared(p.grams, other), len(p.grams), len(other))
}
