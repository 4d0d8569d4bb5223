package registrytest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

func corpus(t testing.TB) *registrytest.Corpus {
	listed, err := registrytest.ReadLists(testkit.Shared(t, "data/tokenlists"))
	require.NoError(t, err)
	require.Greater(t, len(listed), 10_000)
	return registrytest.NewCorpus(1, listed)
}

// TestCorpusIsARegistry: the facts of a token fold to themselves, and to the token that search is
// told of.
func TestCorpusIsARegistry(t *testing.T) {
	for _, c := range []*registrytest.Corpus{corpus(t), registrytest.NewCorpus(2, nil)} {
		mints := map[pubkey.Key]bool{}
		members := 0
		for token := range c.Tokens(14_000) {
			mints[token.Mint] = true
			if token.Index%4 != 0 { // one in four is looked at closely
				continue
			}
			require.Equal(t, token, c.Token(token.Index), "made alone")
			facts := c.AppendFacts(nil, &token)
			require.Equal(t, facts, c.AppendFacts(nil, &token))
			var state registry.State
			for i := range facts {
				require.True(t, state.Apply(facts[i]))
			}
			require.Equal(t, facts, state.Facts())
			got, member := state.Token(token.Mint)
			if member {
				members++
			}
			require.Equal(t, registry.Text([]byte(token.Name)), got.Name)
			require.Equal(t, registry.Text([]byte(token.Symbol)), got.Symbol)
			require.Equal(t, token.Decimals, got.Decimals)
			require.Equal(t, token.IsToken22, got.IsToken22)
			require.Equal(t, token.FirstSeen, *got.FirstSeenAt)
		}
		require.Len(t, mints, 14_000)
		require.Greater(t, members, 3_000)
	}
}

func BenchmarkCorpusTokens(b *testing.B) {
	c := corpus(b)
	for i := 0; b.Loop(); i++ {
		c.Token(i)
	}
}

func BenchmarkCorpusFacts(b *testing.B) {
	c := corpus(b)
	var facts []registry.Fact
	bytes := 0
	for i := 0; b.Loop(); i++ {
		token := c.Token(i)
		facts = c.AppendFacts(facts[:0], &token)
		for j := range facts {
			bytes += len(facts[j].Value)
		}
	}
	b.ReportMetric(float64(bytes)/float64(b.N), "value-bytes/token")
}
