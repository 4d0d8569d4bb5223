package search_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/replica/search"
)

// BenchmarkLoad takes in a registry as a node does that starts.
func BenchmarkLoad(b *testing.B) {
	const tokens, batch = 200_000, 50_000
	lists, err := registrytest.ReadLists(testkit.Shared(b, "data/tokenlists"))
	require.NoError(b, err)
	corpus := registrytest.NewCorpus(1, lists)
	changes := make([]search.Document, 0, tokens)
	for i := range tokens {
		token := corpus.Token(i)
		changes = append(changes, search.Document{ID: uint32(i), Mint: token.Mint, Token: token.Registry()})
	}
	b.ReportAllocs()
	for b.Loop() {
		index := search.NewInverted()
		for from := 0; from < tokens; from += batch {
			index.Apply(changes[from : from+batch])
		}
		index.Wait()
	}
}
