package root_test

import (
	"fmt"
	"testing"

	"github.com/mintlake/mintlake/registry/root"
)

func BenchmarkEncode(b *testing.B) {
	state := stateOf(whole()...)
	var element []byte
	for b.Loop() {
		element, _ = root.AppendEncode(element[:0], mintA, state)
	}
}

func BenchmarkAdd(b *testing.B) {
	element, _ := root.Encode(mintA, stateOf(whole()...))
	var h root.Hash
	for b.Loop() {
		h.Add(element)
	}
}

func BenchmarkSum(b *testing.B) {
	var h root.Hash
	for b.Loop() {
		h.Sum()
	}
}

// BenchmarkReplay is the second half of `mintlake root`: elements and hash of 100,000 mints.
func BenchmarkReplay(b *testing.B) {
	replay := root.NewReplay(root.EverySlot)
	for i := range 100_000 {
		facts := whole()
		for j := range facts {
			facts[j].Mint = fmt.Sprintf("%044d", i)
		}
		replay.Apply(facts)
	}
	for b.Loop() {
		replay.Root()
	}
	b.ReportMetric(100_000*float64(b.N)/b.Elapsed().Seconds(), "mints/s")
}
