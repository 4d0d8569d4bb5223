package search

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mintlake/mintlake/registry"
)

// TestForksProveThatAWordIsContained: with few letters most texts have trigrams of the word in several places.
func TestForksProveThatAWordIsContained(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[ab1]{3,7}`).Draw(t, "word")
		text := rapid.StringMatching(`([abc1]{0,7}[ (])?[abc1é]{0,4}`).Draw(t, "head") + rapid.SampledFrom([]string{"", word, word[1:], word[:len(word)-1]}).Draw(t, "body") +
			rapid.StringMatching(`[abc1 ]{0,6}`).Draw(t, "tail")
		inner, isWord := innerPairs(word)
		require.True(t, isWord)
		set := grams(text)
		forks := appendForks(slices.Clone(set), 0)[len(set):]
		require.True(t, slices.IsSorted(forks))
		hasAll := !slices.ContainsFunc(requiredGrams(word), func(g gram) bool { return !slices.Contains(set, g) })
		hasFork := slices.ContainsFunc(inner, func(pair gram) bool { return slices.Contains(forks, pair) })
		if hasAll && !hasFork {
			require.Contains(t, text, word)
		}
		if strings.Contains(text, word) {
			require.True(t, hasAll)
		}
	})
}

func TestForks(t *testing.T) {
	for text, want := range map[string][]gram{
		"coin (coin)":  nil, // the same in front each time
		"market token": {forkOf('k', 'e')},
		"abxb ab":      nil,
		"xab yab ab":   {forkOf('a', 'b')},
		"":             nil,
		"aaaa":         {forkOf('a', 'a')},
		"犬犬é-z犬犬é 犬é":  {forkOf('犬', 'é'), forkOf('犬', '犬')},
	} {
		set := grams(text)
		got := appendForks(slices.Clone(set), 0)[len(set):]
		slices.Sort(want)
		require.ElementsMatch(t, want, got, text)
	}
	for _, text := range []string{"", "ab", "to ken", "(token"} {
		_, isWord := innerPairs(text)
		require.False(t, isWord, text)
	}
	inner, isWord := innerPairs("token")
	require.True(t, isWord)
	require.Equal(t, []gram{forkOf('o', 'k'), forkOf('k', 'e')}, inner)
}

// TestForksEqualScan has names of few letters, so that the trigrams' lists have bitmaps and most texts need not be read.
func TestForksEqualScan(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	draw := func(least, most int) string {
		text := make([]byte, least+random.IntN(most-least+1))
		for i := range text {
			text[i] = "aabbbccc (1"[random.IntN(11)]
		}
		return string(text)
	}
	inverted, scan := NewInverted(), NewScan()
	changes := make([]Change, 9_000)
	for i := range changes {
		mint := fmt.Sprintf("M%d", i)
		changes[i] = Change{ID: uint32(i), Mint: mint, Token: &registry.Token{Mint: mint, Symbol: draw(1, 4), Name: draw(8, 24), IsToken22: i%3 == 0}}
	}
	inverted.Apply(changes)
	scan.Apply(changes)
	gone := []Change{{ID: 7, Mint: changes[7].Mint}, {ID: 8_000, Mint: changes[8_000].Mint}}
	inverted.Apply(gone)
	scan.Apply(gone)
	dense := 0
	for _, v := range inverted.current.Load().views {
		dense += len(v.dense)
	}
	require.Positive(t, dense)
	for range 300 {
		q := Query{Text: draw(3, 6), Limit: 1 + random.IntN(60), Offset: random.IntN(2) * random.IntN(60), IncludeToken22: random.IntN(2) == 0}
		require.Equal(t, scan.Search(q), inverted.Search(q), "%+v", q)
	}
}
