package source

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
)

// The kinds of sources: a metric label, the ledger's source column, and `source.kind` in /status.
const (
	KindFile   = "file"
	KindRPC    = "rpc"
	KindGeyser = "geyser"
	KindDemo   = "demo"
	KindNone   = "none"
	// KindBackfill reads a range of the past beside another source; never `source.kind` in /status.
	KindBackfill = "backfill"
)

// Metrics counts what a source does. All sources share the metrics and differ by the label kind.
type Metrics struct {
	kind       string
	connects   prometheus.Counter
	reconnects *prometheus.CounterVec
	messages   prometheus.Counter
	bytes      prometheus.Counter
	garbage    prometheus.Counter
	blocks     prometheus.Counter
	repeated   prometheus.Counter
	known      prometheus.Counter
	skipped    prometheus.Counter
	dead       prometheus.Counter
	lost       prometheus.Counter
	gaps       prometheus.Counter
	refused    *prometheus.CounterVec
	lastSlot   prometheus.Gauge
	waiting    prometheus.Gauge
	openGaps   prometheus.Gauge
	missing    prometheus.Gauge
	completeTo prometheus.Gauge
	accounts   *prometheus.CounterVec
	refusals   prometheus.Counter
	accountsOn prometheus.Gauge
	highest    atomic.Uint64
}

// NewMetrics registers the metrics with reg. If reg is nil, they are not exported. Several sources
// may share a registry.
func NewMetrics(kind string, reg prometheus.Registerer) (*Metrics, error) {
	var failed error
	vec := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mintlake_source_" + name, Help: help}, append([]string{"kind"}, labels...))
		return share(reg, v, &failed)
	}
	one := func(name, help string) prometheus.Counter { return vec(name, help).WithLabelValues(kind) }
	m := &Metrics{
		kind:       kind,
		connects:   one("connects_total", "Connections opened to the source's server."),
		reconnects: vec("reconnects_total", "Connections given up, by reason.", "reason"),
		messages:   one("messages_total", "Messages or files read."),
		bytes:      one("bytes_total", "Bytes of messages or files read, after decompression."),
		garbage:    one("garbage_total", "Messages that could not be decoded or said impossible things."),
		blocks:     one("blocks_total", "Blocks and lone transactions handed over."),
		repeated:   one("repeated_blocks_total", "Blocks dropped because this run had handed them over before."),
		known:      one("known_blocks_total", "Blocks dropped because an earlier run had ingested them."),
		skipped:    one("skipped_slots_total", "Slots found to have no block."),
		dead:       one("dead_slots_total", "Slots whose block lost its fork."),
		lost:       one("lost_blocks_total", "Blocks that came as confirmed and lost their fork all the same; their events stay in the log."),
		gaps:       one("gaps_total", "Times that blocks were found missing between two others."),
		refused:    vec("refused_total", "Inputs refused, by reason.", "reason"),
		accounts:   vec("account_updates_total", "Account updates, by what became of them: joined to their block, or dropped.", "result"),
		refusals:   one("account_updates_refused_total", "Times that the server refused a subscription for asking for account updates."),
	}
	gauge := func(name, help string) prometheus.Gauge {
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "mintlake_source_" + name, Help: help}, []string{"kind"})
		return share(reg, v, &failed).WithLabelValues(kind)
	}
	m.lastSlot = gauge("last_slot", "Highest slot handed over.")
	m.waiting = gauge("waiting_blocks", "Blocks that wait for their parent.")
	m.openGaps = gauge("open_gaps", "Runs of missing slots behind the stream, as the ledger shows them.")
	m.missing = gauge("missing_slots", "Slots in these runs; at least one block of each run is missing.")
	m.accountsOn = gauge("account_updates_on", "1 while the stream brings account updates, 0 where they are off or refused.")
	m.completeTo = gauge("complete_to_slot", "Slot up to which no block behind the stream is missing.")
	return m, failed
}

// Reasons are the label values that a source uses.
type Reasons struct {
	// Reconnect are the reasons to give up a connection, Refused those to refuse an input.
	Reconnect, Refused []string
	// Accounts are the results of account updates.
	Accounts []string
}

// Preset creates the series of these labels, so that they count from 0: see package counters.
func (m *Metrics) Preset(r Reasons) {
	kind := []string{m.kind}
	counters.Preset(m.reconnects, kind, r.Reconnect)
	counters.Preset(m.refused, kind, r.Refused)
	counters.Preset(m.accounts, kind, r.Accounts)
}

// share registers c, or returns the collector of the same name that another source has registered.
// If it can do neither, it sets failed.
func share[C prometheus.Collector](reg prometheus.Registerer, c C, failed *error) C {
	c, err := counters.Share(reg, c)
	if err != nil {
		*failed = err
	}
	return c
}

// Connected counts a connection.
func (m *Metrics) Connected() { m.connects.Inc() }

// Reconnect counts a connection given up. reason comes from a finite set.
func (m *Metrics) Reconnect(reason string) { m.reconnects.WithLabelValues(m.kind, reason).Inc() }

// Message counts a message or file of so many bytes.
func (m *Metrics) Message(bytes int) { m.messages.Inc(); m.bytes.Add(float64(bytes)) }

// Garbage counts a message that could not be decoded.
func (m *Metrics) Garbage() { m.garbage.Inc() }

// Delivered counts a block handed over, and raises the metric of the highest slot.
func (m *Metrics) Delivered(slot uint64) {
	m.blocks.Inc()
	for {
		old := m.highest.Load()
		if slot <= old {
			return
		}
		if m.highest.CompareAndSwap(old, slot) {
			m.lastSlot.Set(float64(slot))
			return
		}
	}
}

// Repeated counts a block dropped because it had been handed over before.
func (m *Metrics) Repeated() { m.repeated.Inc() }

// Known counts a block dropped because the ledger has it.
func (m *Metrics) Known() { m.known.Inc() }

// Skipped counts a slot without a block.
func (m *Metrics) Skipped() { m.skipped.Inc() }

// Dead counts a slot whose block lost its fork.
func (m *Metrics) Dead() { m.dead.Inc() }

// Lost counts a block that was handed over as confirmed and lost its fork.
func (m *Metrics) Lost() { m.lost.Inc() }

// Gap counts a run of blocks that is missing in the chain of parents.
func (m *Metrics) Gap() { m.gaps.Inc() }

// Waiting sets how many blocks wait for their parent.
func (m *Metrics) Waiting(blocks int) { m.waiting.Set(float64(blocks)) }

// Coverage sets how many runs of slots are missing, how many slots they have, and up to which slot
// none is missing.
func (m *Metrics) Coverage(gaps int, slots, completeTo uint64) {
	m.openGaps.Set(float64(gaps))
	m.missing.Set(float64(slots))
	m.completeTo.Set(float64(completeTo))
}

// Accounts counts account updates by their result, which comes from a finite set.
func (m *Metrics) Accounts(result string, n int) {
	m.accounts.WithLabelValues(m.kind, result).Add(float64(n))
}

// AccountUpdates sets whether the stream has account updates.
func (m *Metrics) AccountUpdates(on bool) {
	if on {
		m.accountsOn.Set(1)
		return
	}
	m.accountsOn.Set(0)
}

// AccountUpdatesRefused counts a refusal of account updates.
func (m *Metrics) AccountUpdatesRefused() { m.refusals.Inc(); m.accountsOn.Set(0) }

// Refused counts an input that could not be read. reason comes from a finite set.
func (m *Metrics) Refused(reason string) { m.refused.WithLabelValues(m.kind, reason).Inc() }
