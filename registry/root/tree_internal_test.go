package root

import (
	"crypto/sha256"
	"math/rand/v2"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFullBuckets: whoever crowds a bucket with tokens makes it slow, not wrong, and it does not
// matter in what order he did.
func TestFullBuckets(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	leaf := func(number int) *Sum {
		digest := Sum(sha256.Sum256([]byte{byte(number), byte(number >> 8)}))
		return &digest
	}
	var want Root
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
			want = tree.Root(1)
		}
		require.Equal(t, want, tree.Root(1))
		for _, number := range random.Perm(1000) {
			require.NotEqual(t, NewTree().Root(1), tree.Root(1))
			tree.put(uint32(number), 77, &nothing)
		}
		require.Equal(t, NewTree().Root(1), tree.Root(1))
		require.EqualValues(t, 334, tree.leaves.used, "cells are used again")
	}
}

// full is a tree of so many tokens, what it has taken of memory, and the tokens' places.
func full(tokens int) (tree *Tree, taken int, where []uint32) {
	tree = NewTree()
	random := rand.New(rand.NewPCG(1, 2))
	where = make([]uint32, tokens)
	for number := range where {
		where[number] = random.Uint32N(groups * fanOut)
		tree.add(uint32(number), where[number], &Sum{1, byte(number), byte(number >> 8), byte(number >> 16)})
	}
	return tree, tree.size(), where
}

// size returns how many bytes the tree takes.
func (t *Tree) size() int {
	size := chunkCells * cellSize * len(t.leaves.chunks)
	for i := range t.leaves.first {
		size += len(t.leaves.first[i])
	}
	for version := range t.nodes {
		size += len(t.nodes[version].top)
		for i := range t.nodes[version].branches {
			size += len(t.nodes[version].branches[i])
		}
	}
	return size
}

func TestTreeIsSmall(t *testing.T) {
	_, empty, _ := full(0)
	require.Less(t, empty, 80<<10)
	const tokens = 2_000_000
	tree, _, _ := full(tokens)
	require.Equal(t, tokens, tree.Len())
	tree.Sum()
	t.Logf("%.1f bytes a token, %d for none", float64(tree.size())/tokens, empty)
	require.Less(t, tree.size(), 53*tokens)
}

// BenchmarkSealOfMillions is what the tree has to do for a root of two or thirty million tokens, of
// which 20,000 have changed here and there.
func BenchmarkSealOfMillions(b *testing.B) {
	for _, millions := range []int{2, 30} {
		b.Run(strconv.Itoa(millions), func(b *testing.B) { benchmarkSeal(b, millions) })
	}
}

func benchmarkSeal(b *testing.B, millions int) {
	const changed = 20_000
	begin := cpu()
	tree, _, where := full(millions * 1_000_000)
	tree.Sum()
	b.Logf("made in %.1f s, %.1f bytes a token", (cpu()-begin)/1e9, float64(tree.size())/float64(len(where)))
	random := rand.New(rand.NewPCG(3, 4))
	begin = cpu()
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
