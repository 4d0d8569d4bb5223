package search

import (
	"cmp"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestClassOf: a class is less exactly where the tier is better, or the score within one of the
// last two.
func TestClassOf(t *testing.T) {
	drawn := rapid.Custom(func(t *rapid.T) found {
		f := found{tier: rapid.SampledFrom([]Tier{TierAll, TierMint, TierSymbol, TierSymbolPrefix, TierNamePrefix, TierSubstring, TierSimilar}).Draw(t, "tier")}
		if f.tier >= TierSubstring {
			f.score = rapid.OneOf(rapid.SampledFrom([]float64{0, MinSimilarity, 1}), rapid.Float64Range(0, 1)).Draw(t, "score")
		}
		return f
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawn.Draw(t, "a"), drawn.Draw(t, "b")
		var relevance top
		got := cmp.Compare(relevance.classOf(a.tier, a.score), relevance.classOf(b.tier, b.score))
		require.Equal(t, cmp.Or(cmp.Compare(a.tier, b.tier), cmp.Compare(b.score, a.score)), got)
		byVolume := top{order: SortVolume}
		require.Zero(t, byVolume.classOf(a.tier, a.score))
	})
}
