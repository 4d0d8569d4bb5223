package e2e

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
	"github.com/mintlake/mintlake/projector"
	"github.com/mintlake/mintlake/projector/swaps"
	"github.com/mintlake/mintlake/schemas"
)

// BenchmarkScaleOut fills the topics from recorded blocks of the demo chain, lets an API node
// follow, and then one, two and three projectors catch up with the whole log, each time into an
// empty ClickHouse. It prints tables for docs/benchmarks.md.
func BenchmarkScaleOut(b *testing.B) {
	for range b.N {
		fmt.Printf("\n%s, %s, %d cores\n\n", machine(), time.Now().Format(time.DateOnly), runtime.NumCPU())
		for n := 1; n <= 3; n++ {
			benchProjectors(b, n)
		}
	}
}

// machine is the processor's name.
func machine() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	_, rest, _ := strings.Cut(string(text), "model name")
	name, _, _ := strings.Cut(strings.TrimLeft(rest, "\t :"), "\n")
	return name
}

// processorSeconds of a process and of its descendants that run now: the embedded ClickHouse is
// one.
func (i *instance) processorSeconds() float64 {
	i.t.Helper()
	all, err := procfs.AllProcs()
	require.NoError(i.t, err)
	children, seconds := map[int][]int{}, map[int]float64{}
	for _, p := range all {
		if stat, err := p.Stat(); err == nil {
			children[stat.PPID] = append(children[stat.PPID], p.PID)
			seconds[p.PID] = stat.CPUTime()
		}
	}
	sum := 0.0
	for next := []int{i.cmd.Process.Pid}; len(next) > 0; next = next[1:] {
		sum += seconds[next[0]]
		next = append(next, children[next[0]]...)
	}
	return sum
}

// recordsIn is how many records topics hold.
func recordsIn(b testing.TB, brokers string, topics ...string) (n int64) {
	b.Helper()
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: strings.Split(brokers, ",")}, kafka.Deps{})
	require.NoError(b, err)
	defer admin.Close()
	ends, err := admin.EndOffsets(context.Background(), topics)
	require.NoError(b, err)
	for _, end := range ends {
		n += end
	}
	return n
}

// projected are all topics that a projector process reads.
func projected() []string { return append(projector.Topics(), swaps.Topics()...) }

func benchProjectors(b *testing.B, n int) {
	brokers := strings.Join(kafkatest.Start(b), ",")
	perMillion := func(seconds float64, records int64) string { return fmt.Sprintf("%.1f", seconds/float64(records)*1e6) }

	// The first time also: what ingest, enrich and an API node take.
	ingest := beginCommand(b, "ingest", b.TempDir(), "--kafka-brokers", brokers, "--source", "file:"+demoBlocks(b))
	ingest.awaitUp()
	require.Eventually(b, func() bool {
		return strings.Contains(ingest.log(), `msg="source is done"`) && ingest.metric("mintlake_ingest_stream_spill_bytes") == 0
	}, 6*hang, 50*time.Millisecond)
	time.Sleep(2 * time.Second) // the last blocks
	used := ingest.processorSeconds()
	written := recordsIn(b, brokers, schemas.TopicTokenEvents, schemas.TopicSwaps, schemas.TopicPools, schemas.TopicSlots, schemas.TopicEnrichmentRequests)
	transactions := ingest.metric("mintlake_ingest_transactions_total")
	require.Zero(b, ingest.stop())

	engine := launch(b, b.TempDir(), "--source", "none", "--rooms", "volume", "--kafka-brokers", brokers)
	engine.addresses["kafka"] = brokers
	common := []string{"--kafka-brokers", brokers, "--clickhouse-dsn", engine.addresses["clickhouse"]}
	if n == 1 {
		fmt.Printf("ingest: %.0f transactions, %d records, %.1f processor seconds: %s a million transactions, %s a million records\n", transactions, written,
			used, perMillion(used, int64(transactions)), perMillion(used, written))
		api := beginCommand(b, "api", b.TempDir(), common...)
		api.awaitUp()
		followed := recordsIn(b, brokers, schemas.TopicTokenEvents, schemas.TopicEnrichments, schemas.TopicSlots, schemas.TopicPools)
		deadline := time.Now().Add(hang)
		for s := api.status(); s.Root.Hash == nil || s.Registry.Tokens == 0; s = api.status() {
			require.True(b, time.Now().Before(deadline), api.log())
			time.Sleep(200 * time.Millisecond)
		}
		time.Sleep(5 * time.Second)
		used := api.processorSeconds()
		fmt.Printf("api: %d records, %.1f processor seconds: %s a million records\n\n", followed, used, perMillion(used, followed))
		require.Zero(b, api.stop())
		fmt.Println("| projectors | records | until the lag is gone | records a second | projectors, s a million | ClickHouse and volume, s a million | of both cores | partitions of events and facts, of swaps | records each |")
		fmt.Println("|---|---|---|---|---|---|---|---|---|")
	}
	total := recordsIn(b, brokers, projected()...)
	before, start := engine.processorSeconds(), time.Now()
	var members []*instance
	for range n {
		members = append(members, beginCommand(b, "projector", b.TempDir(), common...))
	}
	for _, i := range members {
		i.awaitUp()
	}
	facts := awaitShares(b, members, schemas.GroupProjector, partitionsOf(projector.Topics()...))
	legs := awaitShares(b, members, schemas.GroupSwaps, partitionsOf(swaps.Topics()...))
	engine.awaitProjected(6 * hang) // a machine that does other work too
	took := time.Since(start)
	projectors, stored := 0.0, engine.processorSeconds()-before
	var each []string
	for _, i := range members {
		projectors += i.processorSeconds()
		each = append(each, strconv.FormatFloat(i.metric("mintlake_kafka_fetched_records_total"), 'f', 0, 64))
	}
	fmt.Printf("| %d | %d | %.1f s | %.0f | %s | %s | %.0f %% | %v, %v | %s |\n", n, total, took.Seconds(), float64(total)/took.Seconds(),
		perMillion(projectors, total), perMillion(stored, total), 100*(projectors+stored)/took.Seconds()/float64(runtime.NumCPU()), facts, legs,
		strings.Join(each, ", "))
	for _, i := range members {
		require.Zero(b, i.stop())
	}
	require.Zero(b, engine.stop())
}
