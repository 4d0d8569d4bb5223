package evidence

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func skeletons(t testing.TB) *Skeletons {
	t.Helper()
	s, err := NewSkeletons()
	require.NoError(t, err)
	return s
}

func TestTextsThatLookAlikeHaveOneSkeleton(t *testing.T) {
	s := skeletons(t)
	for _, alike := range [][]string{
		{"USDC", "usdc", " UsdC ", "$USDC", "UЅDC", "USDС", "ＵＳＤＣ", "𝐔𝐒𝐃𝐂", "U\u200bSDC", "US\u00adDC", "uѕdс"},
		{"BONK", "bonk", "B0NK", "b0nk", "ВОNК", "вonk", "ΒΟΝΚ", "ᏴONK"},
		{"WIF", "wif", "$WIF", "WlF", "W1F", "W|F", "WⅠF", "#WIF"},
		{"Solana", "SOLANA", "SoIana", "S0lana", "Ѕolana", "sοlana"},
		{"vroom", "νroom", "VROOM"},
		{"PEPE", "РЕРЕ", "реpе"},
		{"İnu", "I\u0307nu"},
		{"Café", "CAFE\u0301"},
		{"two words", "Two  Words", "\tTWO WORDS\n", "two\u00a0words", "tw\u043e words"},
		{"猫", "猫\ufe00"},
	} {
		for _, text := range alike[1:] {
			require.Equal(t, s.Symbol(alike[0]), s.Symbol(text), "%q and %q", alike[0], text)
		}
	}
}

func TestTextsThatDifferHaveTwo(t *testing.T) {
	s := skeletons(t)
	for _, pair := range [][2]string{
		{"AI", "AL"}, {"SOL", "SO1"}, {"USDC", "USDT"}, {"USDC", "USDC2"}, {"NAN", "VAV"}, {"Café", "Cafe"}, {"SOL", "S OL"}, {"猫", "犬"},
		{"$", "#"}, {"USDC", "USDС.e"},
	} {
		if pair[0] == "$" {
			require.Empty(t, s.Symbol("$"), "nothing is left")
			continue
		}
		require.NotEqual(t, s.Symbol(pair[0]), s.Symbol(pair[1]), pair)
	}
	require.Empty(t, s.Symbol(" \u200b\u2060 "))
}

// TestPrototypesAreFinal: UTS #39 says that a prototype maps to itself, else one pass would not be
// enough.
func TestPrototypesAreFinal(t *testing.T) {
	s := skeletons(t)
	require.Greater(t, len(s.prototypes), 6_000)
	for source, prototype := range s.prototypes {
		for _, r := range prototype {
			_, again := s.prototypes[r]
			require.False(t, again, "%q to %q", source, prototype)
		}
	}
}

// TestCaseIsNoDifference: texts in one case throughout have the skeleton of the other case.
func TestCaseIsNoDifference(t *testing.T) {
	s := skeletons(t)
	rapid.Check(t, func(t *rapid.T) {
		small := rapid.StringMatching(`[a-z0-9 .]{0,12}`).Draw(t, "text")
		capitals := []byte(small)
		for i, c := range capitals {
			if c >= 'a' && c <= 'z' {
				capitals[i] = c - 32
			}
		}
		require.Equal(t, s.Text(small), s.Text(string(capitals)))
	})
}

func FuzzSkeleton(f *testing.F) {
	s := skeletons(f)
	f.Add("USDC")
	f.Add("\xff\u202eWlF\u0345")
	f.Fuzz(func(t *testing.T, text string) {
		require.Equal(t, s.Text(text), s.Text(" "+text+"\u200b"))
		_ = hasURL(text)
		_ = mixesScripts(text)
		_ = hasInvisible(text)
	})
}
