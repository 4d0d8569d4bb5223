package e2e

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/demo"
	"github.com/mintlake/mintlake/embedded/kafka/segments"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
	"github.com/mintlake/mintlake/operate/sizing"
	"github.com/mintlake/mintlake/schemas"
)

// What happens in a day of mainnet; docs/sizing.md says where the defaults come from.
var (
	mainnet      = sizing.Mainnet()
	slotsADay    = flag.Float64("slots", mainnet[sizing.Slot], "slots a day")
	transactions = flag.Float64("transactions", mainnet[sizing.Transaction]/86_400, "transactions a second that are no votes")
	legs         = flag.Float64("legs", sourcetest.MainnetLegs, "swap legs a second")
	events       = flag.Float64("events", 0, "token events a second; 0 is the mean of the recorded blocks, whose slots took 400 ms")
	poolsAMinute = flag.Float64("pools-minute", mainnet[sizing.PoolMinute]/1_440, "pools that trade in a minute")
	poolsAnHour  = flag.Float64("pools-hour", mainnet[sizing.PoolHour]/24, "pools that trade in an hour")
	poolsADay    = flag.Float64("pools-day", mainnet[sizing.PoolDay], "pools that trade in a day")
	newMints     = flag.Float64("new-mints", mainnet[sizing.NewMint], "new mints a day")
	newPools     = flag.Float64("new-pools", mainnet[sizing.NewPool], "new pools a day")
)

// What other benchmarks measure better: BenchmarkCompression of internal/kafka, and
// BenchmarkSwapBytes of volume with its many pools and wallets.
const (
	transactionBytes = 1_098
	legBytes         = 91.4
)

// unit is what a topic or a table grows with.
type unit = sizing.Unit

// grows says with what each topic and table grows. What is absent is small, or depends on users:
// keys, use, dead letters, enrichment.
var grows = func() map[string]unit {
	all := sizing.Grows()
	maps.DeleteFunc(all, func(_ string, u unit) bool { return u == sizing.Minute })
	return all
}()

// counted is how many of a unit a run has.
var counted = map[unit]string{
	sizing.Slot: "uniqExact(slot) FROM mintlake.slots_raw", sizing.Event: "count() FROM mintlake.token_events", sizing.Leg: "count() FROM mintlake.swaps",
	sizing.NewMint: "count() FROM mintlake.tokens", sizing.NewPool: "count() FROM mintlake.pools",
	sizing.PoolMinute: "count() FROM mintlake.pool_volume_1m", sizing.PoolHour: "count() FROM mintlake.pool_volume_1h", sizing.PoolDay: "count() FROM mintlake.pool_volume_1d",
	sizing.MintMinute: "count() FROM mintlake.volume_1m", sizing.MintHour: "count() FROM mintlake.volume_1h", sizing.MintDay: "count() FROM mintlake.volume_1d",
}

// stored is what a topic or a table holds: records or rows, and bytes on disk.
type stored struct{ count, bytes float64 }

// sizes is what a run left.
type sizes struct {
	topics, tables map[string]stored
	units          map[unit]float64
}

// BenchmarkSizing prints what each topic and table takes, by record and by what it grows with, and
// bytes a day at mainnet's rates: docs/sizing.md. Topics are measured of each recorded block by
// itself, as a live batch holds about a block; tables of a minute of the demo chain, because their
// merged parts hold many rows, and keys that recur as in a repeated block would compress too well.
func BenchmarkSizing(b *testing.B) {
	for b.Loop() {
		blocks, err := filepath.Glob(testkit.Shared(b, "data/blocks") + "/*")
		require.NoError(b, err)
		var alone []sizes
		for _, block := range blocks {
			alone = append(alone, sizesOf(b, block))
			fmt.Printf("\nblock %s\n", filepath.Base(block))
			alone[len(alone)-1].print()
		}
		dir := b.TempDir()
		const first = 400_000_000
		_, err = demo.WriteBlocks(dir, demo.Config{Seed: 7, TPS: 1_500, Tokens: 5_000, Wallets: 20_000, StartSlot: first}, first, first+149)
		require.NoError(b, err)
		many := sizesOf(b, dir)
		fmt.Println("\ndemo chain, 150 slots")
		many.print()
		printDay(alone, many)
		b.ReportMetric(0, "ns/op")
	}
}

// sizesOf runs the whole system over recorded blocks, then weighs what it stored.
func sizesOf(b *testing.B, path string) sizes {
	b.Helper()
	dir := b.TempDir()
	up := launch(b, dir, "--source", "file:"+path)
	up.awaitDone()
	up.awaitValued()
	time.Sleep(3 * time.Second) // the next valuation makes the daily figures
	s := sizes{map[string]stored{}, map[string]stored{}, map[unit]float64{}}
	for u, query := range counted {
		s.units[u] = figure(b, up.query("SELECT " + query)[0])
	}
	for _, table := range up.query("SELECT name FROM system.tables WHERE database = 'mintlake' AND engine LIKE '%MergeTree'") {
		up.query("OPTIMIZE TABLE mintlake." + table + " FINAL")
	}
	for _, row := range up.query("SELECT table, sum(rows), sum(bytes_on_disk) FROM system.parts WHERE active AND database = 'mintlake' GROUP BY table FORMAT TSV") {
		fields := strings.Split(row, "\t")
		s.tables[fields[0]] = stored{figure(b, fields[1]), figure(b, fields[2])}
	}
	require.Zero(b, up.stop(), up.log())
	s.weighTopics(b, filepath.Join(dir, "kafka"))
	return s
}

// weighTopics reads the folder of a broker that has stopped.
func (s sizes) weighTopics(b *testing.B, root string) {
	b.Helper()
	report, err := segments.Check(root, nil)
	require.NoError(b, err)
	for _, topic := range schemas.Topics() {
		var t stored
		for _, end := range report.Ends([]string{topic.Name})[topic.Name] {
			t.count += float64(end)
		}
		files, err := filepath.Glob(filepath.Join(root, "broker", "partitions", topic.Name+"-*", "*.[di]*"))
		require.NoError(b, err)
		for _, file := range files {
			info, err := os.Stat(file)
			require.NoError(b, err)
			t.bytes += float64(info.Size())
		}
		if t.count > 0 {
			s.topics[topic.Name] = t
		}
	}
}

func figure(b *testing.B, text string) float64 {
	b.Helper()
	n, err := strconv.ParseFloat(text, 64)
	require.NoError(b, err)
	return n
}

func sum(all []sizes) sizes {
	out := sizes{map[string]stored{}, map[string]stored{}, map[unit]float64{}}
	for _, s := range all {
		for name, t := range s.topics {
			out.topics[name] = stored{out.topics[name].count + t.count, out.topics[name].bytes + t.bytes}
		}
		for name, t := range s.tables {
			out.tables[name] = stored{out.tables[name].count + t.count, out.tables[name].bytes + t.bytes}
		}
		for u, n := range s.units {
			out.units[u] += n
		}
	}
	return out
}

func (s sizes) print() {
	for _, u := range slices.Sorted(maps.Keys(s.units)) {
		fmt.Printf("  %-26s %8.0f\n", u, s.units[u])
	}
	fmt.Printf("  %-34s %8s %10s %8s\n", "", "records", "bytes", "each")
	for _, of := range []map[string]stored{s.topics, s.tables} {
		for _, name := range slices.Sorted(maps.Keys(of)) {
			fmt.Printf("  %-34s %8.0f %10.0f %8.1f\n", name, of[name].count, of[name].bytes, of[name].bytes/of[name].count)
		}
	}
}

// aDay is how many of each unit a day has.
func aDay(blocks sizes) map[unit]float64 {
	perSecond := *events
	if perSecond == 0 {
		perSecond = blocks.units[sizing.Event] / blocks.units[sizing.Slot] / 0.4
	}
	day := map[unit]float64{
		sizing.Slot: *slotsADay, sizing.Event: perSecond * 86_400, sizing.Leg: *legs * 86_400, sizing.Transaction: *transactions * 86_400, sizing.NewMint: *newMints, sizing.NewPool: *newPools,
		sizing.PoolMinute: *poolsAMinute * 1_440, sizing.PoolHour: *poolsAnHour * 24, sizing.PoolDay: *poolsADay,
	}
	// A mint trades on about one pool; SOL and stables are on the other side of most.
	day[sizing.MintMinute], day[sizing.MintHour], day[sizing.MintDay] = day[sizing.PoolMinute], day[sizing.PoolHour], day[sizing.PoolDay]
	return day
}

// ofTopic are a topic's bytes for one of what it grows with: a record's bytes in batches of a
// block, times the records. How many records that are says the demo chain, because every mint and
// pool of a block by itself is new; it has no routes, so that of swaps is the blocks' own.
func ofTopic(name string, blocks, many sizes) float64 {
	if name == schemas.TopicTransactions {
		return transactionBytes
	}
	from, u := many, grows[name]
	if name == schemas.TopicSwaps {
		from = blocks
	}
	return blocks.topics[name].bytes / blocks.topics[name].count * from.topics[name].count / from.units[u]
}

// ofTable are a table's bytes for one of what it grows with.
func ofTable(name string, alone []sizes, many sizes) float64 {
	table := many.tables[name]
	switch name {
	case "swaps_raw":
		return legBytes
	case "routes_raw":
		// The demo chain has none. What the block with most has more than the one with fewest is
		// free of a part's own bytes.
		less := func(a, b sizes) int { return int(a.tables[name].count - b.tables[name].count) }
		least, most, all := slices.MinFunc(alone, less).tables[name], slices.MaxFunc(alone, less).tables[name], sum(alone)
		return (most.bytes - least.bytes) / (most.count - least.count) * all.tables[name].count / all.units[sizing.Leg]
	case "last_trades_raw", "daily_volumes_raw": // a row for each mint that ever traded
		return table.bytes / table.count
	}
	return table.bytes / many.units[grows[name]]
}

// printDay prints bytes a day, and of topics what their retention keeps.
func printDay(alone []sizes, many sizes) {
	blocks := sum(alone)
	day := aDay(blocks)
	line := func(name string, bytes float64) float64 {
		n := day[grows[name]]
		fmt.Printf("| `%s` | %s | %.0f | %.1f | %.3f |", name, grows[name], n, bytes, n*bytes/1e9)
		return n * bytes / 1e9
	}
	fmt.Print("\n| | grows with | a day | bytes of each | GB a day | kept |\n|---|---|---|---|---|---|\n")
	var daily, kept float64
	for _, topic := range schemas.Topics() {
		if grows[topic.Name] == "" {
			continue
		}
		gb := line(topic.Name, ofTopic(topic.Name, blocks, many))
		daily += gb
		if topic.Retention == 0 {
			fmt.Println(" for ever |")
			continue
		}
		days := topic.Retention.Hours() / 24
		kept += gb * days
		fmt.Printf(" %.2f days: %.1f GB |\n", days, gb*days)
	}
	fmt.Printf("| all topics | | | | %.2f | %.1f GB where a retention ends it |\n", daily, kept)
	daily = 0
	for _, name := range slices.Sorted(maps.Keys(blocks.tables)) {
		if grows[name] != "" {
			daily += line(name, ofTable(name, alone, many))
			fmt.Println(" for ever |")
		}
	}
	fmt.Printf("| all tables | | | | %.2f | |\n", daily)
}
