package registry_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

func TestShown(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "USDC": "USDC", "two words": "two words", "日本語": "日本語", "مرحبا\u200F": "مرحبا\u200F", "👨\u200D👩\u200D👧": "👨\u200D👩\u200D👧",
		"US\x00DC": "USDC", "US\x1B[31mDC": "US[31mDC", "US\nDC\t1": "US DC 1", "\x01\x7F\u009B": "", "a\u2028b": "a b",
		"\u202EDCSU": "DCSU", "\u2066a\u2069": "a", " a ": "a", "\x01 a \u0085": "a", "a\u0085b": "a b",
	} {
		require.Equal(t, want, registry.Shown(text), "%q", text)
	}
}

// TestShownIsItsPatterns: the SQL of the projector has the patterns.
func TestShownIsItsPatterns(t *testing.T) {
	breaks, hidden := regexp.MustCompile(registry.BreakPattern), regexp.MustCompile(registry.HiddenPattern)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("a b\x00\t\v\r\x1F\x7F\u0080\u0085\u009F\u00A0\u2027\u2028\u2029\u202A\u202E\u202F\u2065\u2066\u2069\u206A")))).Draw(t, "text")
		want := strings.Trim(hidden.ReplaceAllString(breaks.ReplaceAllString(text, " "), ""), " ")
		shown := registry.Shown(text)
		require.Equal(t, want, shown, "%q", text)
		require.Equal(t, shown, registry.Shown(shown))
	})
}

// TestControlCharactersStayFacts: what is shown is cleaned, what was stated is kept.
func TestControlCharactersStayFacts(t *testing.T) {
	mint := pubkey.Key{1}
	const name = "evil\x1B[2Jname"
	var state registry.State
	for _, fact := range []registry.Fact{
		{Register: registry.RegisterMetaplexName, Value: name}, {Register: registry.RegisterMetaplexSymbol, Value: "\u202EX\x00Y"},
		{Register: registry.RegisterMetadataPointer, Value: mint.String()},
		{Register: registry.RegisterToken2022Field, Item: ".site", Value: "https://x\n/"}, {Register: registry.RegisterToken2022Field, Item: ".a\x07b", Value: "bell"},
	} {
		fact.Mint = mint
		fact.Position.Slot = 5
		state.Apply(fact)
	}
	token, _ := state.Token(mint)
	require.Equal(t, "evil[2Jname", token.Name)
	require.Equal(t, "XY", token.Symbol)
	require.Equal(t, map[string]string{"site": "https://x /"}, token.Extensions)
	for _, fact := range state.Facts() {
		if fact.Register == registry.RegisterMetaplexName {
			require.Equal(t, name, fact.Value)
		}
	}
}
