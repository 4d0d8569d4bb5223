package main

import (
	"cmp"
	"context"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/mapping"
	blevequery "github.com/blevesearch/bleve/v2/search/query"

	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/replica/search"
)

// bleveEngine finds candidates with Bleve, by trigrams and patterns. Bleve cannot sort by the order
// of DESIGN section 9, so bleveEngine ranks the candidates itself.
type bleveEngine struct {
	path  string
	index bleve.Index // once loaded
	rows  []rankedRow
}

type rankedRow struct {
	mint, symbol, name string
	volume             float64 // -1 unknown
	seen               int64
}

type bleveDocument struct {
	Symbol string   `json:"symbol"`
	Name   string   `json:"name"`
	Grams  []string `json:"grams"`
	Rank   float64  `json:"rank"`
}

func newBleve(dir string) *bleveEngine { return &bleveEngine{path: filepath.Join(dir, "index")} }

// fields are what Bleve indexes.
func fields() mapping.IndexMapping {
	keyword := mapping.NewKeywordFieldMapping()
	keyword.Store, keyword.IncludeInAll, keyword.DocValues, keyword.IncludeTermVectors = false, false, false, false
	number := mapping.NewNumericFieldMapping()
	number.Store, number.IncludeInAll = false, false
	document := bleve.NewDocumentStaticMapping()
	document.AddFieldMappingsAt("symbol", keyword)
	document.AddFieldMappingsAt("name", keyword)
	document.AddFieldMappingsAt("grams", keyword)
	document.AddFieldMappingsAt("rank", number)
	m := bleve.NewIndexMapping()
	m.DefaultMapping = document
	return m
}

func (b *bleveEngine) name() string { return "bleve" }
func (b *bleveEngine) close() {
	if b.index != nil {
		_ = b.index.Close()
	}
}

func (b *bleveEngine) notes() []string {
	return []string{"Bleve 2 (scorch): keywords symbol and name, keywords of the trigrams of both, doc values of the rank; candidates are ranked by the caller"}
}

func (b *bleveEngine) load(ctx context.Context, c *registrytest.Corpus, tokens int) error {
	// The builder writes the whole index offline and merges it once. Batches on an open index take
	// three times as long for two million tokens, and leave several segments.
	builder, err := bleve.NewBuilder(b.path, fields(), map[string]any{"batchSize": 20_000, "mergeMax": 100, "buildPathPrefix": filepath.Dir(b.path)})
	if err != nil {
		return err
	}
	for token := range c.Tokens(tokens) {
		row := rankedRow{token.Mint.String(), search.Normalise(token.Symbol), search.Normalise(token.Name), -1, token.FirstSeen}
		rank := float64(token.FirstSeen)
		if token.Volume > 0 {
			row.volume, rank = token.Volume, -token.Volume
		}
		b.rows = append(b.rows, row)
		var grams []string
		for _, g := range append(trigrams(row.symbol), trigrams(row.name)...) {
			grams = append(grams, strconv.FormatUint(g, 36))
		}
		if err := builder.Index(strconv.Itoa(token.Index), bleveDocument{row.symbol, row.name, grams, rank}); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if err := builder.Close(); err != nil {
		return err
	}
	b.index, err = bleve.Open(b.path)
	return err
}

// candidates returns a query for all tokens that may match: they share enough trigrams with the
// text, contain it, or have a symbol one edit away.
func candidates(text string) blevequery.Query {
	quoted := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`).Replace(text)
	var any []blevequery.Query
	for _, field := range []string{"symbol", "name"} {
		part := bleve.NewWildcardQuery("*" + quoted + "*")
		part.SetField(field)
		any = append(any, part)
	}
	edit := bleve.NewFuzzyQuery(text)
	edit.SetField("symbol")
	edit.SetFuzziness(1)
	any = append(any, edit)
	if grams := trigrams(text); len(grams) > 0 {
		shared := bleve.NewDisjunctionQuery()
		for _, g := range grams {
			term := bleve.NewTermQuery(strconv.FormatUint(g, 36))
			term.SetField("grams")
			shared.AddQuery(term)
		}
		shared.SetMin(math.Max(1, math.Ceil(search.MinSimilarity*float64(len(grams))-1e-9)))
		any = append(any, shared)
	}
	return bleve.NewDisjunctionQuery(any...)
}

func (b *bleveEngine) search(ctx context.Context, q *query) (a answer, err error) {
	if q.normalised == "" {
		request := bleve.NewSearchRequestOptions(bleve.NewMatchAllQuery(), 2*pageSize, 0, false)
		request.SortBy([]string{"rank", "_id"})
		found, err := b.index.SearchInContext(ctx, request)
		if err != nil {
			return a, err
		}
		matches := make([]ranked, 0, len(found.Hits))
		for _, hit := range found.Hits {
			id, _ := strconv.Atoi(hit.ID)
			matches = append(matches, ranked{id: id})
		}
		a = b.page(matches)
		a.total = int(found.Total)
		return a, nil
	}
	request := bleve.NewSearchRequestOptions(candidates(q.normalised), len(b.rows), 0, false)
	request.Score = "none"
	found, err := b.index.SearchInContext(ctx, request)
	if err != nil {
		return a, err
	}
	grams, runes, mint := trigrams(q.normalised), utf8.RuneCountInString(q.normalised), strings.TrimSpace(q.text)
	matches := make([]ranked, 0, len(found.Hits))
	for _, hit := range found.Hits {
		id, err := strconv.Atoi(hit.ID)
		if err != nil {
			return a, err
		}
		if tier, score := rank(&b.rows[id], q.normalised, mint, grams, runes); tier < 7 {
			matches = append(matches, ranked{id, tier, score})
		}
	}
	return b.page(matches), nil
}

type ranked struct {
	id, tier int
	score    float64
}

func (b *bleveEngine) page(matches []ranked) answer {
	slices.SortFunc(matches, func(x, y ranked) int {
		p, r := &b.rows[x.id], &b.rows[y.id]
		return cmp.Or(cmp.Compare(x.tier, y.tier), cmp.Compare(y.score, x.score), cmp.Compare(r.volume, p.volume), cmp.Compare(p.seen, r.seen), strings.Compare(p.mint, r.mint))
	})
	a := answer{total: len(matches)}
	for _, m := range matches[:min(pageSize, len(matches))] {
		a.ids = append(a.ids, m.id)
	}
	return a
}

// rank returns the tier and the score of a token by DESIGN section 9. Tier 7 means that it does not
// match.
func rank(row *rankedRow, text, mint string, grams []uint64, runes int) (tier int, score float64) {
	switch {
	case row.mint == mint:
		return 1, 0
	case row.symbol == text:
		return 2, 0
	case strings.HasPrefix(row.symbol, text):
		return 3, 0
	case strings.HasPrefix(row.name, text):
		return 4, 0
	}
	score = max(sharedShare(grams, trigrams(row.symbol)), sharedShare(grams, trigrams(row.name)))
	if strings.Contains(row.symbol, text) || strings.Contains(row.name, text) {
		return 5, score
	}
	if row.symbol != "" && isOneEdit(text, row.symbol) {
		return 6, max(score, 1-1/float64(max(runes, utf8.RuneCountInString(row.symbol))))
	}
	if score >= search.MinSimilarity {
		return 6, score
	}
	return 7, 0
}

// isOneEdit returns whether one edit (replace, insert or delete a character) makes b of a. It cuts
// off the common beginning and end: at most one character of each may remain.
func isOneEdit(a, b string) bool {
	x, y := []rune(a), []rune(b)
	for len(x) > 0 && len(y) > 0 && x[0] == y[0] {
		x, y = x[1:], y[1:]
	}
	for len(x) > 0 && len(y) > 0 && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	return len(x) <= 1 && len(y) <= 1 && len(x)+len(y) > 0
}
