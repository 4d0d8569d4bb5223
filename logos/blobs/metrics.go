package blobs

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
)

type metrics struct {
	hits   *prometheus.CounterVec
	errors prometheus.Counter
	// dropped counts damaged files that were removed.
	dropped prometheus.Counter
	// memory, disk and none are the series of hits: a read then need not look its series up.
	memory, disk, none prometheus.Counter
}

func newMetrics(registerer prometheus.Registerer, s *Store) (*metrics, error) {
	m := &metrics{
		hits: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mintlake_blobs_reads_total", Help: "Reads of the image store, by where the blob was: memory, disk or none.",
		}, []string{"where"}),
		errors: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_blobs_errors_total", Help: "Files of the image store that could not be read or written.",
		}),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_blobs_damaged_total", Help: "Files of the image store that were damaged and removed; their images are fetched again.",
		}),
	}
	m.memory, m.disk, m.none = m.hits.WithLabelValues("memory"), m.hits.WithLabelValues("disk"), m.hits.WithLabelValues("none")
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "mintlake_blobs_" + name, Help: help}, value)
	}
	return m, counters.Register(registerer,
		m.hits, m.errors, m.dropped,
		gauge("disk_bytes", "Bytes of the image store's files.", func() float64 { _, bytes := s.disk.stats(); return float64(bytes) }),
		gauge("disk_files", "Files of the image store.", func() float64 { files, _ := s.disk.stats(); return float64(files) }),
		gauge("memory_bytes", "Bytes of the image store that are in memory.", func() float64 { return float64(s.memory.bytes()) }),
	)
}
