package root_test

import (
	"testing"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/registry/root"
)

func BenchmarkEncode(b *testing.B) {
	state := stateOf(whole()...)
	var element []byte
	for b.Loop() {
		element, _ = root.AppendEncode(element[:0], mintA, state)
	}
}

// BenchmarkPut is what a changed mint costs, encoded and hashed, without the nodes above it.
func BenchmarkPut(b *testing.B) {
	states := []*registry.State{stateOf(whole()...), stateOf(whole()[1:]...)}
	tree, i := root.NewTree(), 0
	for b.Loop() {
		i++
		tree.Put(0, mintA, states[i%2])
	}
}

// BenchmarkReplay is the second half of `mintlake root`: elements and hash of 100,000 mints.
func BenchmarkReplay(b *testing.B) {
	replay := root.NewReplay(root.EverySlot)
	for i := range 100_000 {
		facts := whole()
		for j := range facts {
			facts[j].Mint = numbered(i)
		}
		replay.Apply(facts)
	}
	for b.Loop() {
		replay.Root()
	}
	b.ReportMetric(100_000*float64(b.N)/b.Elapsed().Seconds(), "mints/s")
}
