package replica

import (
	"math"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/registry/registrytest"
	"github.com/mintlake/mintlake/registry/root"
	"github.com/mintlake/mintlake/schemas"
)

// cpu is the processor time of this process in nanoseconds: unlike the clock, it does not count what other processes take.
func cpu() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return float64(usage.Utime.Nano() + usage.Stime.Nano())
}

// behind is how many slots a slot is sealed late: a node waits until all partitions are read as far.
const behind = 8

// follow feeds records to a copy as its tail does, and seals the root as the node's status does: at every so many slots, asking for it each time.
// With seal 0 no root is kept. It returns the processor time of each record, in nanoseconds.
func follow(b *testing.B, records []kafka.Record, size int, seal uint64) float64 {
	s := newStore(heard{}, nil)
	if seal > 0 {
		s.tracker = root.NewTracker(s.book, root.Config{Every: seal, State: s.appendState})
	}
	s.goLive()
	s.makeBase(b.Context())
	s.rootless = seal == 0
	runtime.GC()
	sealed, begin := uint64(0), cpu()
	for from := 0; from < len(records); from += size {
		batch := batch{applied: map[kafka.TopicPartition]int64{}}
		for i := range records[from:min(from+size, len(records))] {
			require.NoError(b, batch.add(&records[from+i]))
		}
		s.apply(batch.facts)
		if slot := s.tracker.Highest(); seal > 0 && slot >= sealed+seal+behind {
			sealed = (slot - behind) / seal * seal
			s.seal(sealed, false)
			s.root()
		}
	}
	s.seal(0, true)
	if seal > 0 {
		s.root()
	}
	return (cpu() - begin) / float64(len(records))
}

// BenchmarkFoldWithRoot prints what keeping the root costs in per cent of the fold: decoding, folding, packing and making the tokens that change,
// without Kafka and the search index, which would only make the root's share smaller. The same records go through a copy without and with
// a root, in turn, the best of each counts. A batch of 50 is what a live node sees at a time, one of 5,000 what it takes to catch up.
func BenchmarkFoldWithRoot(b *testing.B) {
	history := registrytest.History(300_000)
	records := make([]kafka.Record, len(history))
	for i := range history {
		records[i] = kafka.Record{Topic: schemas.TopicEnrichments, Value: history[i].Value}
		if history[i].Event {
			records[i].Topic = schemas.TopicTokenEvents
		}
	}
	for _, batch := range []int{50, 5000} {
		for _, seal := range []uint64{150, root.SealEvery} {
			b.Run(strconv.Itoa(batch)+"-records-a-batch/sealed-each-"+strconv.FormatUint(seal, 10)+"-slots", func(b *testing.B) {
				without, with := math.Inf(1), math.Inf(1)
				for b.Loop() {
					without = min(without, follow(b, records, batch, 0))
					with = min(with, follow(b, records, batch, seal))
				}
				b.ReportMetric(without, "fold-ns/record")
				b.ReportMetric(with-without, "root-ns/record")
				b.ReportMetric(100*(with-without)/without, "%root/fold")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
