package search

import (
	"cmp"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestClass: a class is less exactly where the tier is better, or the score within one of the last
// two.
func TestClass(t *testing.T) {
	drawn := rapid.Custom(func(t *rapid.T) entry {
		e := entry{tier: rapid.SampledFrom([]Tier{TierAll, TierMint, TierSymbol, TierSymbolPrefix, TierNamePrefix, TierSubstring, TierSimilar}).Draw(t, "tier")}
		if e.tier >= TierSubstring {
			e.score = rapid.OneOf(rapid.SampledFrom([]float64{0, MinSimilarity, 1}), rapid.Float64Range(0, 1)).Draw(t, "score")
		}
		return e
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawn.Draw(t, "a"), drawn.Draw(t, "b")
		relevance := top{query: &Query{}}
		got := cmp.Compare(relevance.class(a.tier, a.score), relevance.class(b.tier, b.score))
		require.Equal(t, cmp.Or(cmp.Compare(a.tier, b.tier), cmp.Compare(b.score, a.score)), got)
		byVolume := top{query: &Query{Sort: SortVolume}}
		require.Zero(t, byVolume.class(a.tier, a.score))
	})
}
