package replica

import (
	"context"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/registry/root"
	"github.com/mintlake/mintlake/replica/liveroot"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// cpu is the processor time of this thread in nanoseconds: unlike the clock, it does not count what
// other processes take. Nor does it count the collector's own threads, which work for the one copy
// and the other at no time that could be told; the fold makes nearly all of their work.
func cpu() float64 {
	var spent unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &spent); err != nil {
		panic(err)
	}
	return float64(spent.Nano())
}

// behind is how many slots a slot is sealed late: a node waits until all partitions are read as
// far.
const behind = 8

// lane is a copy that records are fed to, and the processor time that it took, in nanoseconds.
type lane struct {
	store        *store
	seal, sealed uint64
	took         float64
}

// corpus is a snapshot of so many tokens, all older than the history that is fed to a lane.
type corpus int

func (c corpus) Load(_ context.Context, _ []pubkey.Key, each func(mint pubkey.Key, facts []registry.Fact)) error {
	tokens := registrytest.NewCorpus(1, nil)
	var facts []registry.Fact
	for token := range tokens.Tokens(int(c)) {
		token.FirstSeen = 0 // at the corpus's first slot
		facts = tokens.AppendFacts(facts[:0], &token)
		each(token.Mint, facts)
	}
	return nil
}

// newLane seals the root as a node's status does: at every so many slots, asking for it each time.
// With seal 0 no root is kept.
func newLane(b *testing.B, seal uint64, tokens int) *lane {
	s := newStore(indexed{}, nil)
	if seal > 0 {
		s.tracker = liveroot.NewTracker(s.shared, liveroot.Config{Every: seal, State: s.appendState})
	}
	if tokens > 0 {
		require.NoError(b, s.load(b.Context(), corpus(tokens)))
	}
	s.goLive()
	s.makeBase(b.Context())
	s.rootless = seal == 0
	return &lane{store: s, seal: seal}
}

// feed is what a node does with a batch. The last one seals all there is.
func (l *lane) feed(b *testing.B, records []kafka.Record, last bool) {
	begin := cpu()
	batch := batch{applied: map[kafka.TopicPartition]int64{}}
	for i := range records {
		require.NoError(b, batch.add(&records[i]))
	}
	l.store.apply(batch.facts)
	if slot := l.store.tracker.Highest(); l.seal > 0 && (last || slot >= l.sealed+l.seal+behind) {
		l.sealed = (slot - behind) / l.seal * l.seal
		l.store.seal(l.sealed, last)
		l.store.root()
	}
	l.took += cpu() - begin
}

// follow feeds records to a copy without a root and to one with, as their tails do, and returns the
// processor time of each record in nanoseconds. Each batch goes to both, one right after the other,
// in turn the one and the other first: so both have the same machine, however busy it is.
func follow(b *testing.B, records []kafka.Record, size int, seal uint64, tokens int) (without, with float64) {
	lanes := []*lane{newLane(b, 0, tokens), newLane(b, seal, tokens)}
	peer, rooted := lanes[0], lanes[1]
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	runtime.GC()
	for from := 0; from < len(records); from += size {
		to := min(from+size, len(records))
		for _, each := range lanes {
			each.feed(b, records[from:to], to == len(records))
		}
		slices.Reverse(lanes)
	}
	return peer.took / float64(len(records)), rooted.took / float64(len(records))
}

// BenchmarkFoldWithRoot prints what keeping the root costs in per cent of the fold: decoding,
// folding, packing and making the tokens that change, without Kafka and the search index, which
// would only make the root's share smaller. A batch of 50 is what a live node sees at a time, one
// of 5,000 what it takes to catch up. MINTLAKE_BENCH_TOKENS says how many tokens are there before,
// 2,000,000 for instance; else none.
func BenchmarkFoldWithRoot(b *testing.B) {
	tokens := testkit.BenchTokens(b, 0)
	history := registrytest.History(300_000)
	records := make([]kafka.Record, len(history))
	for i := range history {
		records[i] = kafka.Record{Topic: schemas.TopicEnrichments, Value: history[i].Value}
		if history[i].Event {
			records[i].Topic = schemas.TopicTokenEvents
		}
	}
	for _, batch := range []int{50, 5000} {
		for _, seal := range []uint64{150, 1500, root.SealEvery} {
			b.Run(strconv.Itoa(batch)+"-records-a-batch/sealed-each-"+strconv.FormatUint(seal, 10)+"-slots", func(b *testing.B) {
				var without, with float64
				for b.Loop() {
					peer, rooted := follow(b, records, batch, seal, tokens)
					without, with = without+peer, with+rooted
				}
				b.ReportMetric(without/float64(b.N), "fold-ns/record")
				b.ReportMetric((with-without)/float64(b.N), "root-ns/record")
				b.ReportMetric(100*(with-without)/without, "root-%/fold")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
