package preflight

import (
	"math"
	"time"

	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/operate/sizing"
)

// Forecast is what a day costs at the rates of the dry run.
type Forecast struct {
	// Units are how many of each unit a day has.
	Units sizing.Rates `json:"units_a_day"`
	// SourceBytes is how many bytes the source sends in a day.
	SourceBytes float64 `json:"source_bytes_a_day"`
	// Calls are the JSON-RPC calls of a day.
	Calls []Calls `json:"calls_a_day"`
	Disk  []Disk  `json:"disk"`
	// Documents is how many documents new metadata names in a day. Backlog is how many tokens wait
	// for their document. BacklogDays is how many days it takes to read these; 0 if no token waits,
	// or if no documents are fetched.
	Documents   float64 `json:"documents_a_day"`
	Backlog     int64   `json:"documents_waiting"`
	BacklogDays float64 `json:"documents_days"`
}

// Calls is how many JSON-RPC calls one purpose takes in a day.
type Calls struct {
	For string  `json:"for"`
	Day float64 `json:"calls"`
}

// Disk is what lies on disk after some days, with one copy of each record and row.
type Disk struct {
	Days       float64 `json:"days"`
	Kafka      float64 `json:"kafka_bytes"`
	ClickHouse float64 `json:"clickhouse_bytes"`
}

const (
	secondsADay = 86_400
	minutesADay = 1_440
)

// Calls to each upstream that are made by the clock. The gateway makes pollCalls calls every
// pollEvery seconds while nobody calls it (gateway/jsonrpc: pollCalls and probeInterval). The
// genesis hash is asked for every chainEvery seconds (cmd/mintlake: identityEvery).
const (
	pollCalls  = 4
	pollEvery  = 5.0
	chainEvery = 30.0
)

// Batches of account reads: how many mints or accounts one call reads at most, and for how many
// seconds it waits for more of them. newWait is for new ones (enrich.Config.batchMints and
// batchWindow), changedWait for changed ones (enrich.RereadConfig.batchWait).
const (
	batchMints    = 50
	batchAccounts = 100
	newWait       = 0.02
	changedWait   = 1.0
)

// routesALeg is the number of aggregators' routes for one swap leg of mainnet, in the recorded
// blocks with which routes_raw was measured (docs/sizing.md: 255 routes and 1,157 legs a second).
const routesALeg = 255.0 / 1157

// largestHost is the share of all documents that lies on the host with most of them. It is an
// assumption.
const largestHost = 0.4

// forecast extrapolates the sample to a day.
func forecast(cfg Config, s *Sample) *Forecast {
	perSlot := 1 / float64(s.Slots+1) // the first slot's block is among those that were read
	slots := float64(s.Slots) / s.Seconds * secondsADay
	// day returns how many a day has of something that the sample has n times.
	day := func(n float64) float64 { return n * perSlot * slots }
	f := &Forecast{Units: sizing.Rates{sizing.Slot: slots, sizing.Minute: minutesADay}, SourceBytes: day(float64(s.SourceBytes)), Documents: day(s.Documents)}
	for _, unit := range []sizing.Unit{sizing.Event, sizing.Leg, sizing.Transaction, sizing.NewMint, sizing.NewPool} {
		f.Units[unit] = day(s.Units[unit])
	}
	// A pool or mint that trades in a minute also trades in that hour and that day. How many more
	// trade in an hour or a day, a sample of a minute cannot tell.
	minutes := max(1, s.Seconds/60)
	pools, mints := float64(s.PoolMinutes)/minutes, float64(s.MintMinutes)/minutes
	f.Units[sizing.PoolMinute], f.Units[sizing.PoolHour], f.Units[sizing.PoolDay] = pools*minutesADay, pools*24, pools
	f.Units[sizing.MintMinute], f.Units[sizing.MintHour], f.Units[sizing.MintDay] = mints*minutesADay, mints*24, mints
	f.Calls = calls(cfg, s, slots, day)
	f.disk(s, day)
	if f.Backlog = cfg.Tokens; cfg.Documents && cfg.MissingPerMinute > 0 && cfg.HostRate > 0 {
		tokens := float64(cfg.Tokens)
		f.BacklogDays = max(tokens/float64(cfg.MissingPerMinute)/minutesADay, largestHost*tokens/cfg.HostRate/secondsADay)
	}
	return f
}

// disk adds what lies on disk after a day, a week, a month and a year.
func (f *Forecast) disk(s *Sample, day func(float64) float64) {
	var topics []sizing.Store
	for name, bytes := range s.Topics {
		topics = append(topics, sizing.Store{Name: name, Grows: sizing.Slot, Bytes: day(float64(bytes)) / f.Units[sizing.Slot], Days: sizing.KeptDays(name)})
	}
	tables := sizing.Tables()
	for i := range tables {
		// The bytes of routes_raw are per leg, and were measured with routesALeg routes per leg.
		if tables[i].Name == "routes_raw" && s.Units[sizing.Leg] > 0 {
			tables[i].Bytes *= s.Routes / s.Units[sizing.Leg] / routesALeg
		}
	}
	for _, days := range []float64{1, 7, 30, 365} {
		f.Disk = append(f.Disk, Disk{days, sizing.After(topics, days, f.Units), sizing.After(tables, days, f.Units)})
	}
}

// calls returns the calls of a day that Mintlake makes by itself, without any request of a user.
func calls(cfg Config, s *Sample, slots float64, day func(float64) float64) (all []Calls) {
	if cfg.Source.Kind == source.KindRPC {
		all = append(all, Calls{"blocks and the tip", 2 * slots})
	}
	n := float64(len(cfg.Upstreams))
	if n == 0 {
		return all
	}
	checks := min(2, n) // with several, a second one is asked about each mint
	all = append(all, Calls{"new mints and metadata",
		checks*batches(day(s.NewMintReads), slots, batchMints, newWait) + batches(day(s.ResolverReads), slots, batchAccounts, newWait)})
	if cfg.RereadCalls > 0 {
		changed := min(batches(day(s.ChangedReads), slots, batchMints, changedWait), float64(cfg.RereadCalls)*secondsADay)
		all = append(all, Calls{"changed mints", checks * changed})
	}
	if cfg.Swap {
		all = append(all, Calls{"new pools", batches(day(s.Units[sizing.NewPool]), slots, batchAccounts, newWait)})
	}
	if cfg.Gateway {
		all = append(all, Calls{"the gateway, without callers", n * pollCalls * secondsADay / pollEvery})
	}
	return append(all, Calls{"which chain it is", n * secondsADay / chainEvery})
}

// batches returns how many calls a day it takes to make reads reads a day. A day has slots slots.
// The reads of a slot come together. A call waits wait seconds for further reads, or until it has
// size of them. Reads are assumed to fall on slots at random, so the share of slots with a read is
// 1-exp(-reads/slots).
func batches(reads, slots, size, wait float64) float64 {
	withReads := slots * -math.Expm1(-reads/slots)
	return max(reads/size, withReads/(1+withReads/secondsADay*wait))
}

// total returns all calls of a day.
func (f *Forecast) total() (sum float64) {
	for _, c := range f.Calls {
		sum += c.Day
	}
	return sum
}

// rate returns how many calls a second an upstream should bear: twice the mean, because calls come
// in bursts, within 10 to 100. It returns 10 for a nil Forecast.
func (f *Forecast) rate(upstreams int) int {
	const least, most = 10, 100
	if f == nil || upstreams == 0 {
		return least
	}
	return int(math.Ceil(min(max(2*f.total()/secondsADay/float64(upstreams), least), most)))
}

// burst is for how long the rate of an upstream is tried.
const burst = 3 * time.Second
