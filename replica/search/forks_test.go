package search

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"
	"github.com/mintlake/mintlake/registry"
)

// keysOf are all that a text is listed by.
func keysOf(text string) []gram {
	return appendForks(appendPunctuation(grams(text), text, 1), 0, text)
}

// TestForksProveThatAQueryIsContained: with few letters and marks most texts have the threes of the
// query in several places.
func TestForksProveThatAQueryIsContained(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		query := strings.TrimSpace(rapid.OneOf(rapid.StringMatching(`[ab1]{3,7}`), rapid.StringMatching(`[ab(-]{1,6}`), rapid.StringMatching(`[ab( ]{1,6}`)).Draw(t, "query"))
		if query == "" {
			return
		}
		part := rapid.SampledFrom([]string{"", query, query[1:], query[:len(query)-1]}).Draw(t, "body")
		text := rapid.StringMatching(`([abc1(]{0,7}[ (])?[abc1é-]{0,4}`).Draw(t, "head") + part + rapid.StringMatching(`[abc1 (-]{0,6}`).Draw(t, "tail")
		inner, isProven := innerPairs(query)
		keys := keysOf(text)
		required := requiredGrams(query)
		hasAll := !slices.ContainsFunc(required, func(g gram) bool { return !slices.Contains(keys, g) })
		hasFork := slices.ContainsFunc(inner, func(pair gram) bool { return slices.Contains(keys, pair) })
		if isProven {
			require.NotEmpty(t, required)
		}
		if isProven && hasAll && !hasFork {
			require.Contains(t, text, query)
		}
		if strings.Contains(text, query) {
			require.True(t, hasAll)
		}
		slices.Sort(keys)
		require.Len(t, slices.Compact(keys), len(keysOf(text)), "each key once")
	})
}

func TestForks(t *testing.T) {
	for text, want := range map[string][]gram{
		"coin coin":    nil, // the same in front each time
		"coin (coin)":  {forkOf('c', 'o')},
		"(coin) (co":   nil,
		"a(b c(b":      {forkOf('(', 'b')},
		"a( a (":       nil, // a blank is in no pair
		"market token": {forkOf('k', 'e')},
		"abxb ab":      nil,
		"xab yab ab":   {forkOf('a', 'b')},
		"":             nil,
		"aaaa":         {forkOf('a', 'a')},
		"犬犬é z犬犬é 犬é":  {forkOf('犬', 'é'), forkOf('犬', '犬')},
		"犬犬é-z犬犬é 犬é":  {forkOf('犬', 'é'), forkOf('犬', '犬')},
	} {
		set := appendForks(grams(text), 0, text)[len(grams(text)):]
		slices.Sort(want)
		require.ElementsMatch(t, want, set, text)
	}
	for _, text := range []string{"", "ab", "to ken", "( a"} {
		_, isProven := innerPairs(text)
		require.False(t, isProven, text)
	}
	for text, want := range map[string][]gram{"token": {forkOf('o', 'k'), forkOf('k', 'e')}, "(tok": {forkOf('t', 'o')}, "(": nil, "a)": nil, "(ab": nil} {
		inner, isProven := innerPairs(text)
		require.True(t, isProven, text)
		require.Equal(t, want, inner, text)
	}
}

func TestPunctuation(t *testing.T) {
	key := func(runes ...rune) (g gram) {
		for _, r := range runes {
			g = g<<21 | gramRune(r)
		}
		return g
	}
	require.Empty(t, appendPunctuation(nil, "two words 犬", 1))
	require.ElementsMatch(t, []gram{
		key('('), key('a', '('), key('(', 'b'), key('x', 'a', '('), key('a', '(', 'b'), key('(', 'b', ' '),
	}, appendPunctuation(nil, "xa(b c", 1))
	require.ElementsMatch(t, []gram{key('a', '('), key('(', 'b'), key('a', '(', 'b')}, appendPunctuation(nil, "a(b", 2))
	require.ElementsMatch(t, []gram{key('a', '(', 'b')}, appendPunctuation(nil, "a(b", 3))
	require.ElementsMatch(t, []gram{key(0), key(0, '-'), key('-')}, appendPunctuation(nil, "\x00-", 1))
}

// TestForksEqualScan has names of few letters, so that the trigrams' lists have bitmaps and most
// texts need not be read.
func TestForksEqualScan(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	draw := func(least, most int) string {
		text := make([]byte, least+random.IntN(most-least+1))
		for i := range text {
			text[i] = "aabbbccc (1-"[random.IntN(12)]
		}
		return string(text)
	}
	inverted, scan := NewInverted(), NewScan()
	changes := make([]Document, 9_000)
	for i := range changes {
		mint := named(fmt.Sprintf("M%d", i))
		changes[i] = Document{ID: uint32(i), Mint: mint, Token: &registry.Token{Mint: mint, Symbol: draw(1, 4), Name: draw(8, 24), IsToken22: i%3 == 0}}
	}
	inverted.Apply(changes)
	scan.Apply(changes)
	gone := []Document{{ID: 7, Mint: changes[7].Mint}, {ID: 8_000, Mint: changes[8_000].Mint}}
	inverted.Apply(gone)
	scan.Apply(gone)
	withBitmap := 0
	for _, s := range inverted.current.Load().segments {
		withBitmap += len(s.bitmapLists)
	}
	require.Positive(t, withBitmap)
	for range 300 {
		q := Query{Text: draw(1, 6), Limit: 1 + random.IntN(60), Offset: random.IntN(2) * random.IntN(60), IncludeToken22: random.IntN(2) == 0}
		require.Equal(t, scan.Search(q), inverted.Search(q), "%+v", q)
	}
}
