package search

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// plan is a query made ready: what is the same for all segments.
type plan struct {
	query  *Query
	filter filter
	mint   string
	text   string // normalised
	runes  int
	ascii  bool
	grams  []gram
	bands  []band
	// required are keys of every text that contains the query; requiredAt is where they are among
	// grams, or -1.
	required   []gram
	requiredAt []int
	needle     needle
	// inner is of a query without blanks: see forks.go.
	inner    []gram
	isProven bool
	edits    []uint32
	sketch   uint32
	short    uint32 // the hash of two of the query's runes, or of its only one
	order    Sort
	// cursor is the query's, packed.
	cursor    mintKey
	hasCursor bool
}

func newPlan(query *Query, v *version) *plan {
	p := &plan{query: query, filter: newFilter(query, v), mint: strings.TrimSpace(query.Text), text: Normalise(query.Text), order: query.Sort}
	p.cursor, p.hasCursor = packMint(query.Cursor)
	p.runes = utf8.RuneCountInString(p.text)
	if p.text == "" {
		return p
	}
	p.grams = grams(p.text)
	p.needle = newNeedle(p.text)
	p.ascii = isASCII(p.text)
	p.bands = bandsOf(len(p.grams))
	p.required = requiredGrams(p.text)
	for _, g := range p.required {
		at, ok := slices.BinarySearch(p.grams, g)
		if !ok {
			at = -1
		}
		p.requiredAt = append(p.requiredAt, at)
	}
	p.inner, p.isProven = innerPairs(p.text)
	p.edits, p.sketch = editKeys(p.text, p.runes), sketchOf([]byte(p.text))
	previous, size := utf8.DecodeRuneInString(p.text)
	p.short = hashShort(-1, previous)
	if size < len(p.text) {
		next, _ := utf8.DecodeRuneInString(p.text[size:])
		p.short = hashShort(previous, next)
	}
	return p
}

// requiredGrams are the trigrams that lie inside the text's words, and at those ends of words that
// the text itself shows, and the keys of its marks; each three runes of a text without blanks are
// among them.
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
		// Beside a mark its keys tell more.
		if from > 0 && runes[from-1] == ' ' {
			word = append([]rune("  "), word...)
		}
		if to < len(runes) && runes[to] == ' ' {
			word = append(slices.Clip(word), ' ')
		}
		for i := 0; i+3 <= len(word); i++ {
			required = append(required, gram(word[i])<<42|gram(word[i+1])<<21|gram(word[i+2]))
		}
		from = to
	}
	required = appendMarks(required, text, min(3, len(runes)))
	slices.Sort(required)
	return slices.Compact(required)
}

// band is the texts with from to to (exclusive) trigrams: to be similar they must share need of the
// query's.
type band struct{ from, to, need int }

// bandsOf are all texts in the order of their trigrams. In those where need is more than the query
// has none is similar.
func bandsOf(n int) []band {
	if n == 0 {
		return nil
	}
	bands := []band{{0, 0, n + 1}}
	most := int(float64(n)/MinSimilarity) + 2
	for m := 1; m <= most; m++ {
		last := &bands[len(bands)-1]
		last.to = m
		if need := threshold(n, m); need != last.need {
			bands = append(bands, band{m, m, need})
		}
	}
	bands[len(bands)-1].to = math.MaxInt
	return bands
}

// threshold is how many of the query's n trigrams a text of m must share to be similar; more than n
// when it cannot.
func threshold(n, m int) int {
	least := max(1, int(math.Floor(MinSimilarity*float64(n+m)/(1+MinSimilarity)))-1)
	for shared := least; shared <= min(n, m); shared++ {
		if score(shared, n, m) >= MinSimilarity {
			return shared
		}
	}
	return n + 1
}

// score is the similarity of sets of n and m trigrams that share so many.
func score(shared, n, m int) float64 {
	if shared == 0 {
		return 0
	}
	return float64(shared) / float64(n+m-shared)
}
