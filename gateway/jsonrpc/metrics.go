package jsonrpc

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/internal/counters"
)

// methods are the known methods: the labels of the metric calls_total, and the keys of table. Any
// other method counts as "other", so that clients cannot create labels. The list is from
// solana.com/docs/rpc/http, with deprecated methods that nodes still answer. Nodes do not have the
// methods of the last line, but this endpoint does.
const methods = `getAccountInfo getBalance getBlock getBlockCommitment getBlockHeight getBlockProduction getBlockTime getBlocks
getBlocksWithLimit getClusterNodes getEpochInfo getEpochSchedule getFeeForMessage getFirstAvailableBlock getGenesisHash getHealth
getHighestSnapshotSlot getIdentity getInflationGovernor getInflationRate getInflationReward getLargestAccounts getLatestBlockhash
getLeaderSchedule getMaxRetransmitSlot getMaxShredInsertSlot getMinimumBalanceForRentExemption getMultipleAccounts getProgramAccounts
getRecentPerformanceSamples getRecentPrioritizationFees getSignatureStatuses getSignaturesForAddress getSlot getSlotLeader getSlotLeaders
getStakeMinimumDelegation getSupply getTokenAccountBalance getTokenAccountsByDelegate getTokenAccountsByOwner getTokenLargestAccounts
getTokenSupply getTransaction getTransactionCount getVersion getVoteAccounts isBlockhashValid minimumLedgerSlot requestAirdrop
sendTransaction simulateTransaction
getAsset getAssets getAssetBatch searchAssets getTokenAccounts getAssetsByOwner getPriorityFeeEstimate`

type metrics struct {
	requests       *prometheus.CounterVec
	requestSeconds prometheus.Histogram
	calls          map[string]prometheus.Counter // by method
	attempts       *prometheus.CounterVec
	attemptSeconds *prometheus.HistogramVec
	answerBytes    prometheus.Counter
	inFlight       prometheus.Gauge
	polls          *prometheus.CounterVec
	stale          *prometheus.CounterVec
	hedges         *prometheus.CounterVec
	sends          *prometheus.CounterVec
	cache          *prometheus.CounterVec
	shared         prometheus.Counter
	panics         prometheus.Counter
}

// other is the label of all methods that are not known.
const other = "other"

var secondsBuckets = []float64{.002, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

func newMetrics(registerer prometheus.Registerer, g *Gateway) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mintlake_gateway_rpc_requests_total", Help: "HTTP requests to the JSON-RPC endpoint, by outcome.",
		}, []string{"outcome"}),
		requestSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "mintlake_gateway_rpc_request_seconds", Help: "Time of a POST, its answer's transfer included.", Buckets: secondsBuckets,
		}),
		calls: map[string]prometheus.Counter{},
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mintlake_gateway_rpc_upstream_attempts_total", Help: "Attempts at an upstream, by outcome.",
		}, []string{"upstream", "outcome"}),
		attemptSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "mintlake_gateway_rpc_upstream_seconds", Help: "Time until an upstream's answer began.", Buckets: secondsBuckets,
		}, []string{"upstream"}),
		answerBytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_gateway_rpc_answer_bytes_total", Help: "Bytes of upstream answers passed on.",
		}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "mintlake_gateway_rpc_in_flight", Help: "Requests that wait for an upstream or are being answered.",
		}),
	}
	m.polls = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "mintlake_gateway_rpc_upstream_polls_total", Help: "Questions for an upstream's health and slots, by outcome.",
	}, []string{"upstream", "outcome"})
	m.stale = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "mintlake_gateway_rpc_stale_answers_total", Help: "Answers from before the slot that the call or its session wants, not passed on.",
	}, []string{"upstream"})
	m.hedges = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "mintlake_gateway_rpc_hedges_total", Help: "Reads given to a second upstream because the first was slow: won or lost, or not made for lack of budget.",
	}, []string{"outcome"})
	m.sends = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "mintlake_gateway_rpc_sends_total", Help: "Transactions whose answer is not an upstream's own: already_processed told as success, or unknown.",
	}, []string{"outcome"})
	m.cache = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "mintlake_gateway_rpc_cache_total", Help: "Calls whose answer cannot change, by whether it was in the cache.",
	}, []string{"outcome"})
	m.shared = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "mintlake_gateway_rpc_shared_reads_total", Help: "Reads answered with the answer to an identical one that was on its way.",
	})
	m.panics = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "mintlake_gateway_rpc_panics_total", Help: "Calls and attempts at upstreams that panicked.",
	})
	calls := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "mintlake_gateway_rpc_calls_total", Help: "JSON-RPC calls, those in batches one by one, by method.",
	}, []string{"method"})
	for _, name := range append(strings.Fields(methods), other) {
		m.calls[name] = calls.WithLabelValues(name)
	}
	m.preset(g)
	if registerer == nil {
		return m, nil
	}
	well := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "mintlake_gateway_rpc_upstreams_well", Help: "Upstreams in the choice: they answer, and their slots are not behind or ahead of all others.",
	}, func() float64 { return float64(g.pool.wellCount()) })
	sessions := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "mintlake_gateway_rpc_sessions", Help: "Sessions that are remembered.",
	}, func() float64 { return float64(g.sessions.size()) })
	cached := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "mintlake_gateway_rpc_cache_bytes", Help: "Bytes of the answers that are kept.",
	}, func() float64 {
		if g.cache == nil {
			return 0
		}
		return float64(g.cache.bytes())
	})
	return m, counters.Register(registerer, append(g.rebroadcasts.collectors(),
		m.requests, m.requestSeconds, calls, m.attempts, m.attemptSeconds, m.answerBytes, m.inFlight, well,
		m.polls, m.stale, m.hedges, m.sends, m.cache, m.shared, m.panics, sessions, cached, &poolMetrics{g.pool},
	)...)
}

// outcomes are the outcomes of requests: ok, websocket, broken_off, and the reasons of refusals.
const outcomes = `ok websocket broken_off host path origin http_method content_type body body_too_large invalid
no_upstream busy busy_client connections client_gone timeout upstream_away behind unknown local internal`

// attemptOutcomes are the outcomes of attempts at an upstream, and of polls.
const attemptOutcomes = `ok request connection timeout status malformed unhealthy limited odd behind canceled other`

func (m *metrics) preset(g *Gateway) {
	upstreams := make([]string, len(g.pool.upstreams))
	for i, u := range g.pool.upstreams {
		upstreams[i] = u.name
	}
	counters.Preset(m.requests, append(strings.Fields(outcomes), keys.RefusedLabels()...))
	counters.Preset(m.attempts, upstreams, strings.Fields(attemptOutcomes))
	counters.Preset(m.polls, upstreams, strings.Fields(attemptOutcomes))
	counters.Preset(m.stale, upstreams)
	counters.Preset(m.hedges, []string{"won", "lost", "no_budget"})
	counters.Preset(m.sends, []string{"already_processed", "unknown"})
	counters.Preset(m.cache, []string{"hit", "miss"})
	counters.PresetHistogram(m.attemptSeconds, upstreams)
}

// label returns the method, or other if it is unknown: clients must not create labels.
func (m *metrics) label(method string) string {
	if m.calls[method] == nil {
		return other
	}
	return method
}

// spanMethod returns the method of a request for its span; "batch" for a batch.
func (m *metrics) spanMethod(r *request) string {
	if r.batch || len(r.items) == 0 {
		return "batch"
	}
	return m.label(r.items[0].call.Method)
}
