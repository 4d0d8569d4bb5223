package main

import (
	"math/rand/v2"
	"strings"

	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/replica/search"
)

// warming is how many other queries of a class are asked before it is measured.
const warming = 200

// pageSize is how many tokens each query asks for.
const pageSize = 50

// query is one search. Peers search for normalised; Mintlake normalises text itself.
type query struct {
	text       string // as a user writes it
	normalised string
}

// class is a list of queries of one kind. No text occurs twice, so that no answer comes from a
// cache.
type class struct {
	name    string
	queries []query
	// others are asked before, to warm the engine up without the queries that are measured.
	others []query
}

// makeQueries makes queries of randomly chosen tokens. So common names occur in more queries than
// rare ones.
func makeQueries(c *registrytest.Corpus, o *options) []class {
	random := rand.New(rand.NewPCG(o.seed, 4)) //nolint:gosec // the same queries in each run
	draw := func(name string, change func(symbol, name []rune) string) class {
		seen := map[string]bool{}
		made := class{name: name}
		for tries := 0; len(made.queries) < o.queries+warming && tries < 50*o.queries; tries++ {
			token := c.Token(random.IntN(o.tokens))
			symbol, name := []rune(token.Symbol), []rune(token.Name)
			if len(symbol) == 0 || len(name) == 0 {
				continue
			}
			text := strings.TrimSpace(change(symbol, name))
			if normalised := search.Normalise(text); normalised != "" && !seen[normalised] {
				seen[normalised] = true
				made.queries = append(made.queries, query{text, normalised})
			}
		}
		if count := len(made.queries); count > warming { // in a small registry all are measured
			made.queries, made.others = made.queries[:count-warming], made.queries[count-warming:]
		}
		return made
	}
	return []class{
		draw("exact symbol", func(symbol, _ []rune) string { return string(symbol) }),
		draw("prefix", func(symbol, _ []rune) string { return string(symbol[:1+random.IntN(len(symbol))]) }),
		{name: "top by volume", queries: []query{{}}},
		draw("fuzzy: a typo", func(symbol, name []rune) string { return typo(random, symbol, name) }),
		draw("fuzzy: part of a name", func(_, name []rune) string {
			from := random.IntN(len(name))
			return string(name[from : from+1+random.IntN(len(name)-from)])
		}),
	}
}

// typo returns the symbol or the name with one character replaced, dropped or doubled.
func typo(random *rand.Rand, symbol, name []rune) string {
	text := symbol
	if random.IntN(2) == 0 {
		text = name
	}
	at := random.IntN(len(text))
	switch random.IntN(3) {
	case 0:
		return string(text[:at]) + string(rune('a'+random.IntN(26))) + string(text[at+1:])
	case 1:
		return string(text[:at]) + string(text[at+1:])
	default:
		return string(text[:at+1]) + string(text[at:])
	}
}
