package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheDocumentIsComputed: the table in docs/sizing.md is what the costs above it give.
func TestTheDocumentIsComputed(t *testing.T) {
	text, err := os.ReadFile("../../docs/sizing.md")
	require.NoError(t, err)
	costs, err := parseCosts(string(text))
	require.NoError(t, err)
	table, err := plan(costs)
	require.NoError(t, err)
	updated, err := replaceTable(string(text), table)
	require.NoError(t, err)
	require.Equal(t, string(text), updated, "run: go run ./tools/sizing -write")
}

func TestFormula(t *testing.T) {
	costs := map[string]cost{
		ofIngest: {1000, 50}, ofProjector: {2000, 100}, ofAPI: {100, 100}, ofKafka: {2e6, 1}, ofMemory: {1, 600},
		ofClickHouse: {2000, 50}, ofRead: {10, 500}, ofDocument: {1, 5000}, ofStream: {1000, 20}, ofDelivery: {1000, 25}, ofCall: {1000, 475}, ofQuote: {10, 600},
	}
	one, hundred := sizeOf(costs, 1), sizeOf(costs, 100)
	require.InDelta(t, 0.1, one.cores[ofIngest], 1e-9, "1,000 a second at 50 us each, at half a processor")
	require.Equal(t, []int{2, 4, 3}, []int{one.projectors, one.partitions, one.brokers}, "the least of each")
	require.InDelta(t, 40, hundred.cores[ofProjector], 1e-9)
	require.Equal(t, []int{20, 64, 12}, []int{hundred.projectors, hundred.partitions, hundred.brokers})
	require.InDelta(t, 0.02, one.of(ofRead, ofDocument), 1e-9)
	require.Equal(t, []int{2, 2, 2, 2}, []int{one.servers, one.enrichers, one.gateways, one.swaps}, "the least of each")
	require.InDelta(t, 20, hundred.cores[ofClickHouse], 1e-9)
	require.Equal(t, 6, hundred.servers, "three of eight processors, twice")
	require.InDelta(t, 4, hundred.cores[ofStream], 1e-9, "each gateway reads the whole stream")
	require.Equal(t, []int{2, 50, 2}, []int{hundred.enrichers, hundred.gateways, hundred.swaps})
	require.InDelta(t, 31.536e6, one.tokensAYear, 1)
}

func TestBadCosts(t *testing.T) {
	for _, text := range []string{"", costsBegin, costsBegin + "\n| " + ofIngest + " | 1 | 0 | x |\n" + costsEnd} {
		_, err := parseCosts(text)
		require.Error(t, err)
	}
	_, err := replaceTable(strings.Repeat("x", 10), "")
	require.Error(t, err)
}
