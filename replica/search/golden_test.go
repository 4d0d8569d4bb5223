package search_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/replica/search"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

const golden = "testdata/golden-queries/"

// goldenTokens are the tokens of the lists with what is assumed about them, see
// testdata/golden-queries/README.md.
func goldenTokens(t *testing.T) []*registry.Token {
	t.Helper()
	listed, err := registrytest.ReadLists(filepath.Dir(testkit.Shared(t, "data/tokenlists/verified_tokens.json")))
	require.NoError(t, err)
	var tokens []*registry.Token
	byMint := map[pubkey.Key]*registry.Token{}
	add := func(token *registry.Token) *registry.Token {
		tokens, byMint[token.Mint] = append(tokens, token), token
		return token
	}
	for i := range listed {
		token := add(&registry.Token{Mint: listed[i].Mint, Symbol: listed[i].Symbol, Name: listed[i].Name})
		if listed[i].Volume > 0 {
			token.DailyVolumeUSD = &listed[i].Volume
		}
		if listed[i].Created > 0 {
			token.FirstSeenAt = &listed[i].Created
		}
	}
	var assumed []struct {
		Mint         pubkey.Key
		Symbol, Name *string
		Volume       *float64
		FirstSeenAt  *int64 `json:"first_seen_at"`
	}
	raw, err := os.ReadFile(golden + "assumed.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &assumed))
	for _, a := range assumed {
		token := byMint[a.Mint]
		if token == nil {
			token = add(&registry.Token{Mint: a.Mint})
			token.DailyVolumeUSD, token.FirstSeenAt = a.Volume, a.FirstSeenAt
		}
		if a.Symbol != nil {
			token.Symbol = *a.Symbol
		}
		if a.Name != nil {
			token.Name = *a.Name
		}
	}
	return tokens
}

// tierOf names a tier as `match.tier` does.
var tierOf = []string{"all", "exact_mint", "exact_symbol", "symbol_prefix", "name_prefix", "substring", "similar"}

// short is a token as the corpus names it: what of the symbol can be seen, and the beginning of the
// mint.
func short(token *registry.Token) string {
	symbol := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.Is(unicode.C, r) {
			return -1
		}
		return r
	}, token.Symbol)
	if symbol == "" {
		symbol = "-"
	}
	return symbol + "@" + token.Mint.String()[:8]
}

func TestGoldenQueries(t *testing.T) {
	tokens := goldenTokens(t)
	for name, index := range map[string]search.Index{"scan": search.NewScan(), "inverted": search.NewInverted()} {
		changes := make([]search.Document, len(tokens))
		for i, token := range tokens {
			changes[i] = search.Document{ID: uint32(i), Mint: token.Mint, Token: token}
		}
		index.Apply(changes)
		t.Run(name, func(t *testing.T) { runGolden(t, index, tokens) })
	}
}

func runGolden(t *testing.T, index search.Index, tokens []*registry.Token) {
	t.Helper()
	file, err := os.Open(golden + "queries.txt")
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	queries := 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		queries++
		fields := strings.Split(line, "\t")
		require.Len(t, fields, 5, "each query says why: %s", line)
		query, err := strconv.Unquote(fields[0])
		require.NoError(t, err, line)
		want := strings.Fields(fields[3])
		if fields[3] == "-" {
			want = nil
		}
		result := index.Search(search.Query{Text: query, IncludeToken22: true, Limit: max(len(want), 1)})
		var got []string
		for _, hit := range result.Hits {
			got = append(got, short(tokens[hit.ID]))
		}
		if !equal(got, want) || strconv.Itoa(result.Total) != fields[1] || len(got) > 0 && tierOf[result.Hits[0].Tier] != fields[2] {
			t.Errorf("%s\n finds %v of %d: %+v", line, got, result.Total, result.Hits)
		}
	}
	require.GreaterOrEqual(t, queries, 150)
}

func equal(a, b []string) bool { return strings.Join(a, " ") == strings.Join(b, " ") }
