package api

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRepeatedBoundsAreOneSpan: tokens are compared with each figure once, though a query may have
// more than a thousand bounds.
func TestRepeatedBoundsAreOneSpan(t *testing.T) {
	least := 10.0
	mins := append(slices.Repeat([]string{"pools:9e9", "pools:1"}, 800), "traders_24h:2", "liquidity_usd:5")
	spans, err := figureSpans(marketSorts(), &least, mins, []string{"pools:9e10", "pools:9e12", "price_usd:7"})
	require.NoError(t, err)
	require.ElementsMatch(t, []figureSpan{
		{"liquidity_usd", 10, math.Inf(1)}, {"pools", 9e9, 9e10}, {"traders_24h", 2, math.Inf(1)}, {"price_usd", math.Inf(-1), 7},
	}, spans)
	_, err = figureSpans(marketSorts(), nil, strings.Split("pools:1,pools:x", ","), nil)
	require.Error(t, err)
}
