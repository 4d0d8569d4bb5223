package memory

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestArena: what is taken is zeroed, of its size, and nobody else's.
func TestArena(t *testing.T) {
	a := NewArena()
	var taken [][]byte
	for i, size := range []int{0, 1, 100, slabSize - 50, slabSize, slabSize + 1, 3, 5 * slabSize, 7} {
		bytes := a.Take(size)
		require.Len(t, bytes, size)
		require.Equal(t, size, cap(bytes))
		for at := range bytes {
			if bytes[at] != 0 {
				t.Fatalf("byte %d of %d is not zero", at, size)
			}
			bytes[at] = byte(i)
		}
		taken = append(taken, bytes)
	}
	for i, bytes := range taken {
		for at := range bytes {
			if bytes[at] != byte(i) {
				t.Fatalf("byte %d of %d was written by another", at, i)
			}
		}
	}
}
