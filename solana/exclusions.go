package solana

import (
	"errors"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Exclusions are endpoints that are not asked, as they serve another chain than the data's. It is
// safe for concurrent use; nil excludes none.
type Exclusions struct {
	mu   sync.Mutex
	urls map[string]bool
	// gauge is 1 for an endpoint that is excluded, and 0 for one that was checked.
	gauge *prometheus.GaugeVec
}

// NewExclusions returns exclusions without an endpoint, and registers their metric; registerer may
// be nil.
func NewExclusions(registerer prometheus.Registerer) *Exclusions {
	x := &Exclusions{urls: map[string]bool{}, gauge: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "mintlake_rpc_upstream_other_chain",
		Help: "1 for an upstream that is left out, as its genesis hash is not that of the data; 0 for one that was checked."}, []string{"upstream"})}
	if registerer != nil {
		registerer.MustRegister(x.gauge)
	}
	return x
}

// Set excludes the endpoint of a URL, or takes it back.
func (x *Exclusions) Set(url string, excluded bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.urls[url] = excluded
	value := 0.0
	if excluded {
		value = 1
	}
	x.gauge.WithLabelValues(Redact(url)).Set(value)
}

// Has reports whether the endpoint of a URL is excluded.
func (x *Exclusions) Has(url string) bool {
	if x == nil {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.urls[url]
}

// errExcluded is the error of a call for which no endpoint is left.
var errExcluded = &transportError{errors.New("every upstream serves another chain than the data is of, and is left out (--rpc-upstream)")}
