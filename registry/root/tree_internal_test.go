package root

import (
	"bytes"
	"crypto/sha256"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSortSums(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, count := range []int{0, 1, 2, 3, 8, 63, 64, 65, 66, 500} {
		sums := make([][]byte, count)
		for i := range sums {
			sums[i] = make([]byte, sumSize)
			sums[i][0], sums[i][31] = byte(random.IntN(3)), byte(random.IntN(256))
		}
		list := bytes.Join(sums, nil)
		sortSums(list)
		slices.SortFunc(sums, bytes.Compare)
		require.True(t, bytes.Equal(bytes.Join(sums, nil), list), count)
	}
}

// TestFullBuckets: whoever crowds a bucket with tokens makes it slow, not wrong, and it does not
// matter in what order he did.
func TestFullBuckets(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	leaf := func(number int) *Sum {
		digest := Sum(sha256.Sum256([]byte{byte(number), byte(number >> 8)}))
		return &digest
	}
	var want Sum
	for round := range 5 {
		tree := NewTree()
		for _, number := range random.Perm(1000) {
			tree.put(uint32(number), 77, leaf(number))
		}
		for _, number := range random.Perm(1000)[:500] {
			tree.put(uint32(number), 77, &nothing)
			tree.put(uint32(number), 77, leaf(number))
		}
		require.Equal(t, 1000, tree.Len())
		if round == 0 {
			want = tree.Sum()
		}
		require.Equal(t, want, tree.Sum())
		for _, number := range random.Perm(1000) {
			require.NotEqual(t, NewTree().Sum(), tree.Sum())
			tree.put(uint32(number), 77, &nothing)
		}
		require.Equal(t, NewTree().Sum(), tree.Sum())
		require.EqualValues(t, 334, tree.leaves.used, "cells are used again")
	}
}

// full is a tree of so many tokens, what it has taken of memory, and where the tokens are.
func full(tokens int) (tree *Tree, taken int, where []uint32) {
	tree = NewTree()
	random := rand.New(rand.NewPCG(1, 2))
	where = make([]uint32, tokens)
	for number := range where {
		where[number] = random.Uint32N(buckets)
		tree.put(uint32(number), where[number], &Sum{1, byte(number), byte(number >> 8), byte(number >> 16)})
	}
	return tree, tree.size(), where
}

// size returns how many bytes the tree takes.
func (t *Tree) size() int {
	size := len(t.top) + chunkCells*cellSize*len(t.leaves.chunks)
	for i := range t.branches {
		size += len(t.branches[i]) + len(t.leaves.first[i])
	}
	return size
}

func TestTreeIsSmall(t *testing.T) {
	_, empty, _ := full(0)
	require.Less(t, empty, 64<<10)
	const tokens = 2_000_000
	tree, taken, _ := full(tokens)
	require.Equal(t, tokens, tree.Len())
	t.Logf("%.1f bytes a token, %d for none", float64(taken)/tokens, empty)
	require.Less(t, taken, 48*tokens)
}

// BenchmarkSealOfMillions is what the tree has to do for a root of two million tokens, of which
// 20,000 have changed here and there.
func BenchmarkSealOfMillions(b *testing.B) {
	const changed = 20_000
	tree, _, where := full(2_000_000)
	tree.Sum()
	random := rand.New(rand.NewPCG(3, 4))
	begin := cpu()
	for b.Loop() {
		for range changed {
			number := random.IntN(len(where))
			tree.put(uint32(number), where[number], &Sum{2, byte(random.Uint32())})
		}
		tree.Sum()
	}
	b.ReportMetric((cpu()-begin)/float64(b.N)/changed, "cpu-ns/change")
}

// cpu is the processor time of this process in nanoseconds: unlike the clock, it does not count
// what other processes take.
func cpu() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return float64(usage.Utime.Nano() + usage.Stime.Nano())
}
