package replica

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
)

type metrics struct {
	records        *prometheus.CounterVec
	badRecords     *prometheus.CounterVec
	freshness      *prometheus.HistogramVec
	snapshotErrors prometheus.Counter
	tailRestarts   prometheus.Counter
	loadSeconds    prometheus.Gauge

	checkpoints       *prometheus.CounterVec
	checkpointSeconds prometheus.Gauge
}

// checkpointResults are the values of the label of mintlake_api_checkpoints_total.
var checkpointResults = []string{"written", "failed", "loaded", refusedDamaged, refusedForm, refusedForeign, refusedOld}

func newMetrics(registerer prometheus.Registerer, r *Replica) (*metrics, error) {
	m := &metrics{
		records: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mintlake_api_replica_records_total", Help: "Records applied to the copy of the registry.",
		}, []string{"topic"}),
		badRecords: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mintlake_api_replica_bad_records_total", Help: "Records that could not be decoded and were skipped.",
		}, []string{"topic"}),
		freshness: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "mintlake_api_freshness_seconds", Help: "Time from a fact reaching Mintlake to being visible in the API.",
			Buckets: []float64{.005, .01, .025, .05, .1, .2, .3, .5, .75, 1, 1.5, 2, 3, 5, 10, 30, 60},
		}, []string{"topic"}),
		snapshotErrors: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_api_snapshot_errors_total", Help: "Attempts to load the snapshot from ClickHouse that failed.",
		}),
		tailRestarts: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_api_replica_tail_restarts_total", Help: "Times the tail failed for good and was opened again.",
		}),
		loadSeconds: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "mintlake_api_replica_load_seconds", Help: "Time from start until the copy of the registry was ready; 0 before.",
		}),
		checkpoints: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mintlake_api_checkpoints_total", Help: "Checkpoints of the copy of the registry that were written or failed to be, and at the start loaded or refused: damaged, form (of another build), foreign (of another log), old.",
		}, []string{"result"}),
		checkpointSeconds: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "mintlake_api_checkpoint_write_seconds", Help: "Time that the last checkpoint took to write; 0 before.",
		}),
	}
	counters.Preset(m.checkpoints, checkpointResults)
	counters.Preset(m.records, allTopics)
	counters.Preset(m.badRecords, allTopics)
	counters.PresetHistogram(m.freshness, registryTopics)
	tokens := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "mintlake_api_replica_tokens", Help: "Tokens in the copy of the registry.",
	}, func() float64 { return float64(r.Tokens()) })
	takenFrom := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "mintlake_api_replica_mints_to_fold_again", Help: "Mints that a retraction took facts from and that wait for the projector to fold them again.",
	}, func() float64 { return float64(r.refolds.size()) })
	checkpointBytes := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "mintlake_api_checkpoint_bytes", Help: "Size of the checkpoint on disk; 0: none.",
	}, func() float64 {
		if s := r.Checkpoint(); s != nil {
			return float64(s.Bytes)
		}
		return 0
	})
	return m, counters.Register(registerer, m.records, m.badRecords, m.freshness, m.snapshotErrors, m.tailRestarts, m.loadSeconds, m.checkpoints, m.checkpointSeconds, checkpointBytes, tokens, takenFrom)
}
