package runner

import (
	"math/bits"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/ingest/balances"
	"github.com/mintlake/mintlake/ingest/decode"
	"github.com/mintlake/mintlake/ingest/decode/swap"
	"github.com/mintlake/mintlake/ingest/decode/venues"
	"github.com/mintlake/mintlake/internal/counters"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// metrics are the runner's metrics. All labels come from finite sets.
type metrics struct {
	transactions  prometheus.Counter
	events        *prometheus.CounterVec
	requests      *prometheus.CounterVec
	facts         *prometheus.CounterVec
	raw           *prometheus.CounterVec
	ignored       *prometheus.CounterVec
	slots         *prometheus.CounterVec
	legs          *prometheus.CounterVec
	routes        *prometheus.CounterVec
	pools         *prometheus.CounterVec
	liquidity     *prometheus.CounterVec
	changes       prometheus.Counter
	states        prometheus.Counter
	transfers     *prometheus.CounterVec
	untold        prometheus.Counter
	unexplained   prometheus.Counter
	refused       prometheus.Counter
	partial       *prometheus.CounterVec
	unread        *prometheus.CounterVec
	overLimit     prometheus.Counter
	unclear       prometheus.Counter
	decodeSeconds prometheus.Histogram
	inFlight      prometheus.Gauge
	slot          prometheus.Gauge
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "mintlake_ingest_" + name, Help: help})
	}
	vector := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mintlake_ingest_" + name, Help: help}, labels)
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: "mintlake_ingest_" + name, Help: help})
	}
	m := &metrics{
		transactions: counter("transactions_total", "Transactions acknowledged, votes and failed ones included where the source gives them."),
		events:       vector("events_total", "Token events decoded, by kind; sightings are those written.", "kind"),
		requests:     vector("enrichment_requests_total", "Enrichment requests written, by reason.", "reason"),
		facts:        vector("account_facts_total", "Facts written of accounts that the stream showed, by kind.", "kind"),
		raw:          vector("raw_instructions_total", "Instructions of known programs kept unread, by program and reason.", "program", "reason"),
		ignored:      vector("ignored_instructions_total", "Instructions that change no mint, by program and reason.", "program", "reason"),
		slots:        vector("slots_total", "Slot records acknowledged, by status.", "status"),
		legs:         vector("swap_legs_total", "Swap legs decoded, by venue and by how many sources state their amounts: two (or more), one, none, or disagree.", "venue", "sources"),
		routes:       vector("swap_routes_total", "Aggregators' routes decoded, by aggregator.", "aggregator"),
		liquidity:    vector("liquidity_total", "Changes of pools' liquidity decoded, by venue.", "venue"),
		pools:        vector("pools_total", "Pool records written, by venue: created ones and those seen first.", "venue"),
		changes:      counter("balance_changes_total", "Changes of token accounts written."),
		states:       counter("account_states_total", "Changes of delegates of token accounts, and of whether they are frozen, written."),
		transfers:    vector("transfers_total", "Transfers written, by kind.", "kind"),
		untold:       counter("transfers_untold_total", "Transfers of which the transaction does not tell the mint, or a wallet."),
		unexplained:  counter("balances_unexplained_total", "Changes of token accounts that the transaction's transfers do not lead to."),
		refused:      counter("refused_inputs_total", "Inputs that could not be read."),
		partial:      vector("partial_blocks_total", "Blocks of which something could not be read, by reason; their slots are gaps.", "reason"),
		unread:       vector("unread_transactions_total", "Transactions that could not be read, by reason; each has a dead letter, up to a bound.", "reason"),
		overLimit:    counter("over_limit_transactions_total", "Transactions with more of something than the runtime's limits that this version knows; they are read."),
		unclear:      counter("unclear_versions_total", "Transactions of version 0 without lookups: servers older than yellowstone-grpc 15.1 show version 1 like that."),
		decodeSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "mintlake_ingest_decode_seconds", Help: "Time to decode one block.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 8),
		}),
		inFlight: gauge("in_flight_blocks", "Blocks between source and acknowledgement."),
		slot:     gauge("slot", "Highest slot acknowledged."),
	}
	m.preset()
	return m, counters.Register(registerer, m.transactions, m.events, m.requests, m.facts, m.raw, m.ignored, m.slots, m.legs, m.routes, m.pools, m.liquidity, m.changes, m.states, m.transfers, m.untold, m.unexplained, m.refused, m.partial, m.unread, m.overLimit, m.unclear, m.decodeSeconds, m.inFlight, m.slot)
}

// preset makes all series start at 0, except those of raw instructions, whose reasons are error
// texts that only the decoders know.
func (m *metrics) preset() {
	var kinds, venueNames, aggregators []string
	for _, kind := range schemas.Kinds() {
		kinds = append(kinds, string(kind))
	}
	for _, venue := range venues.All() {
		venueNames = append(venueNames, venue.Name)
	}
	for _, aggregator := range decode.Aggregators() {
		aggregators = append(aggregators, aggregator.Name)
	}
	counters.Preset(m.events, kinds)
	counters.Preset(m.requests, []string{"sighted", "metadata_set"})
	counters.Preset(m.facts, []string{factMintAccount, factMetaplexAccount})
	counters.Preset(m.ignored, decode.Programs(), decode.IgnoredReasons())
	counters.Preset(m.ignored, venueNames, swap.Reasons())
	counters.Preset(m.slots, []string{"ingested", "partial", "skipped", "dead", "unknown"})
	counters.Preset(m.partial, unreadReasons)
	counters.Preset(m.unread, unreadReasons)
	counters.Preset(m.legs, venueNames, []string{"two", "one", "none", "disagree"})
	counters.Preset(m.routes, aggregators)
	counters.Preset(m.pools, venueNames)
	counters.Preset(m.liquidity, venueNames)
	counters.Preset(m.transfers, schemas.TransferKinds())
}

// holdings counts a block's balances and transfers.
func (m *metrics) holdings(facts *balances.Facts) {
	m.changes.Add(float64(facts.Changes))
	m.states.Add(float64(facts.States))
	for kind, n := range facts.Moved {
		m.transfers.WithLabelValues(kind.String()).Add(float64(n))
	}
	m.untold.Add(float64(facts.Untold))
	m.unexplained.Add(float64(facts.Unexplained))
}

func (m *metrics) event(kind schemas.Kind) { m.events.WithLabelValues(string(kind)).Inc() }

func (m *metrics) request(reason eventspb.RequestReason) {
	label := "sighted"
	if reason == eventspb.RequestReason_REQUEST_REASON_METADATA_SET {
		label = "metadata_set"
	}
	m.requests.WithLabelValues(label).Inc()
}

// leg counts a leg by how many sources agree on its amounts.
func (m *metrics) leg(leg *eventspb.SwapLeg) {
	sources := "two"
	switch n := bits.OnesCount32(leg.GetAgreed()); {
	case leg.GetDisagreed() != 0:
		sources = "disagree"
	case n == 1:
		sources = "one"
	case n == 0:
		sources = "none"
	}
	m.legs.WithLabelValues(leg.GetVenue(), sources).Inc()
}

// Ignored implements decode.Observer.
func (m *metrics) Ignored(program, reason string) { m.ignored.WithLabelValues(program, reason).Inc() }

// Raw implements decode.Observer.
func (m *metrics) Raw(program, reason string) { m.raw.WithLabelValues(program, reason).Inc() }

func statusLabel(status eventspb.SlotStatus) string {
	switch status {
	case eventspb.SlotStatus_SLOT_STATUS_INGESTED:
		return "ingested"
	case eventspb.SlotStatus_SLOT_STATUS_PARTIAL:
		return "partial"
	case eventspb.SlotStatus_SLOT_STATUS_SKIPPED:
		return "skipped"
	case eventspb.SlotStatus_SLOT_STATUS_DEAD:
		return "dead"
	default:
		return "unknown"
	}
}
