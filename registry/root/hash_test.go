package root_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"lukechampine.com/blake3"
	"pgregory.net/rapid"

	"github.com/mintlake/mintlake/registry/root"
)

func hashOf(elements ...[]byte) root.Hash {
	var h root.Hash
	for _, element := range elements {
		h.Add(element)
	}
	return h
}

func lanes(t require.TestingT, h root.Hash) []uint16 {
	state, err := h.MarshalBinary()
	require.NoError(t, err)
	list := make([]uint16, len(state)/2)
	for i := range list {
		list[i] = binary.LittleEndian.Uint16(state[2*i:])
	}
	return list
}

// TestHashIsSolanas compares with the vectors of Solana's own lattice hash (agave, lattice-hash/src/lt_hash.rs).
func TestHashIsSolanas(t *testing.T) {
	hello := hashOf([]byte("hello"))
	require.Equal(t, []uint16{0x8fea, 0x3d16, 0x86b3, 0x9282, 0x445e, 0xc591, 0x8de5, 0xb34b}, lanes(t, hello)[:8])
	require.Equal(t, []uint16{0xba3f, 0x9924}, lanes(t, hello)[1022:])
	sum := hello.Sum()
	require.Equal(t, "4f9c1ab89ccd5ed0b6eb21936f99e598cf854b6db6c6773d0b51294618576455", hex.EncodeToString(sum[:]))
	require.Equal(t, []uint16{0x56dc, 0x1d98, 0x5420, 0x810d}, lanes(t, hashOf([]byte("world!")))[:4])
}

// TestLanesAreTheExtendedOutput holds the fast way and the plain one together, at every length around blocks and chunks.
func TestLanesAreTheExtendedOutput(t *testing.T) {
	input := make([]byte, 5000)
	for i := range input {
		input[i] = byte(i % 251)
	}
	for length := 0; length <= len(input); length++ {
		if length > 1300 && length%97 != 0 {
			continue
		}
		hasher := blake3.New(32, nil)
		_, _ = hasher.Write(input[:length])
		want := make([]byte, root.StateSize)
		_, _ = hasher.XOF().Read(want)
		h := hashOf(input[:length])
		got, err := h.MarshalBinary()
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), "length %d", length)
	}
}

func TestLanesAddModulo65536(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := []byte(rapid.String().Draw(t, "a")), []byte(rapid.String().Draw(t, "b"))
		left, right, both := lanes(t, hashOf(a)), lanes(t, hashOf(b)), lanes(t, hashOf(a, b))
		without := hashOf(a)
		without.Remove(b)
		difference := lanes(t, without)
		for i := range both {
			require.Equal(t, left[i]+right[i], both[i])
			require.Equal(t, left[i]-right[i], difference[i])
		}
	})
}

func TestHashOfASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		elements := rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 1500)).Draw(t, "elements")
		want := hashOf(elements...)

		require.Equal(t, want, hashOf(rapid.Permutation(elements).Draw(t, "order")...), "any order")

		cut := rapid.IntRange(0, len(elements)).Draw(t, "cut")
		parts, rest := hashOf(elements[:cut]...), hashOf(elements[cut:]...)
		parts.Combine(&rest)
		require.Equal(t, want, parts, "parts combine")
		parts.Without(&rest)
		require.Equal(t, hashOf(elements[:cut]...), parts, "and come apart")

		extra := rapid.SliceOf(rapid.Byte()).Draw(t, "extra")
		other := want
		other.Add(extra)
		require.NotEqual(t, want, other)
		require.NotEqual(t, want.Sum(), other.Sum())
		other.Remove(extra)
		require.Equal(t, want, other, "adding and removing leaves no trace")
		other.Add(extra)
		other.Remove(extra)
		other.Add([]byte("another"))
		require.Equal(t, hashOf(append(slices.Clone(elements), []byte("another"))...), other)

		state, err := want.MarshalBinary()
		require.NoError(t, err)
		var read root.Hash
		require.NoError(t, read.UnmarshalBinary(state))
		require.Equal(t, want, read)
	})
}

func TestEmptyAndOverflow(t *testing.T) {
	var empty root.Hash
	zeros := blake3.Sum256(make([]byte, root.StateSize))
	require.Equal(t, root.Sum(zeros), empty.Sum())
	h := hashOf([]byte("x"))
	for range 16 { // doubles each time
		same := h
		h.Combine(&same)
	}
	require.Equal(t, empty, h, "65,536 times the same element are none: an element may be added once only")
}

func TestStateAndSumRefuseOtherLengths(t *testing.T) {
	var h root.Hash
	require.Error(t, h.UnmarshalBinary(make([]byte, root.StateSize-1)))
	require.Error(t, h.UnmarshalBinary(make([]byte, root.StateSize+1)))
	var sum root.Sum
	for _, text := range []string{"", "1", "0OIl", "11111111111111111111111111111111111111111111111111"} {
		require.Error(t, sum.UnmarshalText([]byte(text)), text)
	}
	want := h.Sum()
	text, err := want.MarshalText()
	require.NoError(t, err)
	require.NoError(t, sum.UnmarshalText(text))
	require.Equal(t, want, sum)
}

func FuzzSumText(f *testing.F) {
	f.Add([]byte("6MW6T7yVdBNQDKoDmW7fHDXcYV2fxsDbz7nBtwHxNBEo"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var sum, again root.Sum
		if sum.UnmarshalText(text) == nil {
			require.NoError(t, again.UnmarshalText([]byte(sum.String())))
			require.Equal(t, sum, again)
		}
	})
}
