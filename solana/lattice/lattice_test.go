package lattice_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"lukechampine.com/blake3"

	"github.com/mintlake/mintlake/solana/lattice"
)

func made(r *rand.Rand, size int) *lattice.Account {
	a := &lattice.Account{Lamports: r.Uint64()>>1 + 1, Executable: r.IntN(2) == 1, Data: make([]byte, size)}
	for _, part := range [][]byte{a.Address[:], a.Owner[:], a.Data} {
		for i := range part {
			part[i] = byte(r.Uint32())
		}
	}
	return a
}

// TestHashOfAnAccount compares with the library's streaming interface, at lengths around its
// blocks and chunks.
func TestHashOfAnAccount(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var hasher lattice.Hasher
	for _, size := range []int{0, 1, 82, 165, 679, 1024 - 73, 1024 - 72, 2000, 70_000} {
		a := made(r, size)
		stream := blake3.New(32, nil)
		executable := byte(0)
		if a.Executable {
			executable = 1
		}
		for _, part := range [][]byte{binary.LittleEndian.AppendUint64(nil, a.Lamports), a.Data, {executable}, a.Owner[:], a.Address[:]} {
			_, err := stream.Write(part)
			require.NoError(t, err)
		}
		var want [lattice.Size]byte
		_, err := stream.XOF().Read(want[:])
		require.NoError(t, err)
		require.Equal(t, want, hasher.Account(a).Bytes(), size)
	}
	require.Zero(t, *hasher.Account(&lattice.Account{Data: []byte{1}}), "without lamports it does not exist")
}

// TestSumsAreOfSixteenBits compares Add and Sub with plain numbers of 16 bits.
func TestSumsAreOfSixteenBits(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var hasher lattice.Hasher
	a, b := *hasher.Account(made(r, 10)), *hasher.Account(made(r, 20))
	sum, rest := a, a
	sum.Add(&b)
	rest.Sub(&b)
	rawA, rawB, rawSum, rawRest := a.Bytes(), b.Bytes(), sum.Bytes(), rest.Bytes()
	for i := 0; i < lattice.Size; i += 2 {
		x, y := binary.LittleEndian.Uint16(rawA[i:]), binary.LittleEndian.Uint16(rawB[i:])
		require.Equal(t, x+y, binary.LittleEndian.Uint16(rawSum[i:]))
		require.Equal(t, x-y, binary.LittleEndian.Uint16(rawRest[i:]))
	}
	sum.Sub(&b)
	require.Equal(t, a, sum)
	require.Equal(t, a, *lattice.FromBytes(&rawA))
}

func BenchmarkAccount(b *testing.B) {
	a := made(rand.New(rand.NewPCG(1, 2)), 165)
	var hasher lattice.Hasher
	var sum lattice.Hash
	for b.Loop() {
		sum.Add(hasher.Account(a))
	}
}
