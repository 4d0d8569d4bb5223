package arith

import (
	"testing"

	"github.com/holiman/uint256"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"
)

// drawn draws a number of any length, many of them with ends of all ones or zeros.
func drawn(t *rapid.T, name string) *uint256.Int {
	words := rapid.SliceOfN(rapid.OneOf(rapid.Uint64(), rapid.SampledFrom([]uint64{0, 1, 1 << 62, 1<<63 - 1, 1 << 63, ^uint64(0)})), 4, 4).Draw(t, name)
	n := uint256.Int(words)
	return n.Rsh(&n, uint(rapid.IntRange(0, 255).Draw(t, name+" shift")))
}

// TestDivideIsTheLongDivision, for quotients of one word and longer ones, with aliases.
func TestDivideIsTheLongDivision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, d := drawn(t, "n"), drawn(t, "d")
		if rapid.Bool().Draw(t, "near a multiple") {
			// Where a guess from the leading bits goes wrong first.
			n.Mul(d, uint256.NewInt(rapid.Uint64().Draw(t, "times")))
			n.Sub(n, uint256.NewInt(rapid.Uint64Range(0, 1).Draw(t, "less")))
		}
		var want, left, q uint256.Int
		want.DivMod(n, d, &left)
		require.Equal(t, !left.IsZero(), Divide(&q, n, d))
		require.Equal(t, want, q)
		over, by := *n, *d
		Divide(&over, &over, d)
		require.Equal(t, want, over)
		Divide(&by, n, &by)
		require.Equal(t, want, by)
		if !left.IsZero() {
			want.AddUint64(&want, 1)
		}
		DivideUp(&q, n, d)
		require.Equal(t, want, q)
	})
}

func TestDivideByNothing(t *testing.T) {
	q := *uint256.NewInt(7)
	DivideUp(&q, uint256.NewInt(5), new(uint256.Int))
	require.True(t, q.IsZero())
}

func TestRootImpact(t *testing.T) {
	price, wide := uint256.NewInt(1_000_000), new(uint256.Int).Lsh(uint256.NewInt(1), 127)
	require.Zero(t, RootImpact(price, price))
	require.EqualValues(t, 1, RootImpact(price, uint256.NewInt(999_999)), "rounded up")
	require.EqualValues(t, 100, RootImpact(price, uint256.NewInt(990_000)))
	require.EqualValues(t, 5000, RootImpact(wide, new(uint256.Int).Lsh(wide, 1)), "of the higher price")
	require.EqualValues(t, 10_000, RootImpact(wide, uint256.NewInt(1)))
}
