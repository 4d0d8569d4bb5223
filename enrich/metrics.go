package enrich

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
	"github.com/mintlake/mintlake/logos/fetch"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// Reasons of dead letters: metric labels, and the prefix of the reason in a dead letter.
const (
	reasonBadRequest = "bad_request"
	reasonRPC        = "rpc_refused"
	reasonRPCBehind  = "rpc_behind"
	reasonMetaplex   = "metaplex_malformed"
	reasonOffchain   = "offchain"
)

// Reasons why a part of a request was skipped: metric labels.
const (
	skipNoUpstream       = "no_upstream"
	skipOffchainDisabled = "offchain_disabled"
)

// What answered a request, or a part of it, so that no read was made: metric labels.
const (
	dedupMetadataAccount  = "metadata_account"
	dedupUnresolved       = "unresolved"
	dedupAccounts         = "accounts"
	dedupNotAMint         = "not_a_mint"
	dedupOffchain         = "offchain"
	dedupOffchainFailures = "offchain_failed"
	dedupOffchainReplaced = "offchain_replaced"
)

// Outcomes of RPC calls: metric labels.
const (
	rpcOK        = "ok"
	rpcRetryable = "retryable"
	rpcRefused   = "refused"
)

type metrics struct {
	requests    *prometheus.CounterVec
	facts       *prometheus.CounterVec
	rpcCalls    *prometheus.CounterVec
	fetches     *prometheus.CounterVec
	resolutions *prometheus.CounterVec
	skipped     *prometheus.CounterVec
	dedup       *prometheus.CounterVec
	deadLetters *prometheus.CounterVec
	queueAge    prometheus.GaugeFunc
	inFlight    prometheus.Gauge
	answerAge   *prometheus.HistogramVec
}

func newMetrics(registerer prometheus.Registerer, queueAge func() float64) (*metrics, error) {
	counter := func(name, help, label string, values ...string) *prometheus.CounterVec {
		vector := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mintlake_enrich_" + name, Help: help}, []string{label})
		for _, value := range values {
			vector.WithLabelValues(value)
		}
		return vector
	}
	classes := make([]string, 0, len(fetch.Classes()))
	for _, class := range fetch.Classes() {
		classes = append(classes, string(class))
	}
	reasons := []string{"unknown"}
	for _, name := range eventspb.RequestReason_name {
		reasons = append(reasons, reasonLabel(name))
	}
	m := &metrics{
		requests: counter("requests_total", "Enrichment requests read, by reason.", "reason", reasons...),
		facts: counter("facts_total", "Facts written, by kind.", "kind",
			"mint_account", "metaplex_account", "offchain", "not_a_mint", "document_check"),
		rpcCalls:    counter("rpc_calls_total", "Calls of getMultipleAccounts, by outcome.", "outcome", rpcOK, rpcRetryable, rpcRefused),
		fetches:     counter("fetches_total", "Attempts to fetch off-chain metadata, by class of outcome.", "class", classes...),
		resolutions: counter("resolutions_total", "Metadata accounts read for the mint that they name, by outcome.", "outcome", resolutions()...),
		skipped: counter("skipped_total", "Parts of requests not done because they are not configured, by why.", "why",
			skipNoUpstream, skipOffchainDisabled),
		dedup: counter("dedup_hits_total", "Parts of requests that an earlier answer or a later request covers, by what that is.", "what",
			dedupMetadataAccount, dedupUnresolved, dedupAccounts, dedupNotAMint, dedupOffchain, dedupOffchainFailures, dedupOffchainReplaced),
		deadLetters: counter("dead_letters_total", "Dead letters written, by reason.", "reason",
			reasonBadRequest, reasonRPC, reasonRPCBehind, reasonMetaplex, reasonOffchain),
		queueAge: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "mintlake_enrich_queue_age_seconds", Help: "Age of the oldest request that is read and not answered.",
		}, queueAge),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "mintlake_enrich_in_flight", Help: "Requests that are read and not answered.",
		}),
		answerAge: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "mintlake_enrich_answer_age_seconds", Help: "Time from a request's record to its durable fact, by stage.",
			Buckets: []float64{.02, .05, .1, .2, .5, 1, 2, 5, 10, 30, 60, 300},
		}, []string{"stage"}),
	}
	counters.PresetHistogram(m.answerAge, []string{"accounts", "offchain"})
	return m, counters.Register(registerer, m.requests, m.facts, m.rpcCalls, m.fetches, m.resolutions, m.skipped, m.dedup, m.deadLetters, m.queueAge, m.inFlight, m.answerAge)
}

// request counts a request by its reason. A reason that this binary does not know counts as
// unknown, so that labels stay few.
func (m *metrics) request(reason eventspb.RequestReason) {
	name, known := eventspb.RequestReason_name[int32(reason)]
	if !known {
		name = "unknown"
	}
	m.requests.WithLabelValues(reasonLabel(name)).Inc()
}

func reasonLabel(name string) string {
	return strings.ToLower(strings.TrimPrefix(name, "REQUEST_REASON_"))
}
