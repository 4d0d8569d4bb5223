package testkit

import (
	"os"
	"strconv"
	"testing"
)

// BenchTokens returns how many tokens a benchmark is about: MINTLAKE_BENCH_TOKENS, or usual without
// it.
func BenchTokens(b *testing.B, usual int) int {
	b.Helper()
	text := os.Getenv("MINTLAKE_BENCH_TOKENS")
	if text == "" {
		return usual
	}
	tokens, err := strconv.Atoi(text)
	if err != nil {
		b.Fatalf("MINTLAKE_BENCH_TOKENS: %v", err)
	}
	return tokens
}
