package search_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/replica/search"
)

// BenchmarkTail asks what takes longest, each time as if for the first: frequent words,
// punctuation, and parts of words. MINTLAKE_BENCH_TOKENS says of how many tokens, 200,000 unless
// set.
func BenchmarkTail(b *testing.B) {
	const batch = 50_000
	tokens := testkit.BenchTokens(b, 200_000)
	lists, err := registrytest.ReadLists(testkit.Shared(b, "data/tokenlists"))
	require.NoError(b, err)
	corpus := registrytest.NewCorpus(1, lists)
	index := search.NewInverted()
	for from := 0; from < tokens; from += batch {
		changes := make([]search.Document, 0, batch)
		for i := from; i < from+batch; i++ {
			token := corpus.Token(i)
			changes = append(changes, search.Document{ID: uint32(i), Mint: token.Mint, Token: token.Registry()})
		}
		index.Fill(changes)
	}
	index.Filled()
	index.Wait()
	for _, text := range []string{"", "coin", "token", "automat", "(sa", "(sanctum", "coin(", "1(sa", "-automa", "(s", ")", "d)", "ted)", "nt", "uto", "(sanctum automated) e5apf", "s coin"} {
		b.Run("q="+text, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				index.Forget()
				b.StartTimer()
				index.Search(search.Query{Text: text, IncludeToken22: true, Limit: 50})
			}
		})
	}
}
