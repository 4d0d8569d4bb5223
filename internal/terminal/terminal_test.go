package terminal

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"
)

func TestTextOfOthersCannotSteerTheTerminal(t *testing.T) {
	require.Equal(t, "a[31mb c", Clean("a\x1b[31m\x07b\tc"))
	require.Equal(t, "USDC", Clean("\u202eU\u200bS\u2066D\x9bC\u0000"))
	require.Equal(t, "日本 é", Clean("日本 é"))
	require.Equal(t, "US😀DC", Clean("U\ufe0fS😀\U000e0153\U000e01efD\u3164\u034fC\U000e0041"), "letters and marks that cannot be seen")
}

func FuzzClean(f *testing.F) {
	f.Add("a\x1b]0;title\x07")
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range Clean(text) {
			require.True(t, unicode.IsGraphic(r) && !unicode.Is(unicode.Cc, r) && !unicode.Is(unicode.Cf, r), "%U", r)
		}
	})
}

func TestTablesLineUp(t *testing.T) {
	table := Table{Head: []string{"SYMBOL", "VOLUME", "AGE"}, Right: map[int]bool{1: true}}
	table.Row(Cell{Text: "日本"}, Cell{Text: "$1"}, Cell{Text: "5 m"})
	table.Row(Cell{Text: "BONK"}, Cell{}, Cell{Text: "now"})
	table.Row(Cell{Text: strings.Repeat("x", 100)}, Cell{Text: "$10.5"}, Cell{})
	var out bytes.Buffer
	require.NoError(t, table.Write(&out, Paint{}))
	lines := strings.Split(out.String(), "\n")
	require.Len(t, lines, 5)
	wide := strings.Repeat(" ", Widest-6)
	require.Equal(t, "SYMBOL"+wide+"  VOLUME  AGE", lines[0])
	require.Equal(t, "日本"+strings.Repeat(" ", Widest-4)+"      $1  5 m", lines[1])
	require.Equal(t, "BONK"+strings.Repeat(" ", Widest-4)+"          now", lines[2])
	require.Equal(t, strings.Repeat("x", Widest-1)+"…   $10.5", lines[3])

	out.Reset()
	require.NoError(t, (&Table{Head: []string{"A"}}).Write(&out, Paint{}))
	require.Empty(t, out.String(), "no head above nothing")
}

func TestNumbersForPeople(t *testing.T) {
	for want, amount := range map[string]float64{"$0.00": 0, "$1.00": 0.99996, "$0.9999": 0.99994, "$0.1": 0.0999996, "$1e-21": 1e-21, "$0.0001234": 0.00012341, "$0.0000000012": 0.0000000012, "$999.50": 999.5, "$12.0K": 12_000, "$1.25M": 1_250_000, "$3.00B": 3e9, "$1.50T": 1.5e12} {
		require.Equal(t, want, USD(amount))
	}
	require.Equal(t, "1,234,567", Count(1234567))
	require.Equal(t, "-999", Count(-999))
	for _, c := range []struct {
		raw, want string
		decimals  int
	}{
		{"1500000000", "1.5", 9}, {"1", "0.000001", 6}, {"1234567000000", "1,234,567", 6}, {"0", "0", 6}, {"12345", "12,345", 0}, {"no number", "no number", 3},
	} {
		require.Equal(t, c.want, Amount(c.raw, c.decimals), c.raw)
	}
	for text, want := range map[string]string{"1.5": "1500000", "1,000": "1000000000", "12,345.5": "12345500000", ".5": "500000", "0.000001": "1"} {
		raw, err := Raw(text, 6)
		require.NoError(t, err, text)
		require.Equal(t, want, raw)
	}
	for _, text := range []string{"", "0", "-1", "1e9", "x", "1.0000001", "1.2.3", ".", "1,5", "0,25", "1,00", "1,0000", ",500", "1.5,000"} {
		_, err := Raw(text, 6)
		require.Error(t, err, text)
	}
}

func TestAgesForPeople(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	for want, age := range map[string]time.Duration{"now": -time.Second, "5 s": 5 * time.Second, "59 m": 59*time.Minute + 59*time.Second, "47 h": 47 * time.Hour, "3 d": 75 * time.Hour} {
		require.Equal(t, want, Ago(now.Add(-age), now))
	}
}

func TestSpan(t *testing.T) {
	for ms, want := range map[int]string{0: "0 ms", 85: "85 ms", 999: "999 ms", 12_345: "12.3s", 65_000: "1m5s", 3_600_000: "1h0m0s"} {
		require.Equal(t, want, Span(ms))
	}
}
