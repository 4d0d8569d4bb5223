package solana

import (
	"errors"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Exclusions is the set of endpoints that the client does not ask, because they serve another chain
// than the stored data is of. It is safe for concurrent use. A nil *Exclusions excludes no
// endpoint.
type Exclusions struct {
	mu   sync.Mutex
	urls map[string]bool
	// gauge is 1 for an endpoint that is excluded, and 0 for one that was checked.
	gauge *prometheus.GaugeVec
}

// NewExclusions returns an empty set and registers its metric. registerer may be nil.
func NewExclusions(registerer prometheus.Registerer) *Exclusions {
	x := &Exclusions{urls: map[string]bool{}, gauge: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "mintlake_rpc_upstream_other_chain",
		Help: "1 for an upstream that is left out, as its genesis hash is not that of the data; 0 for one that was checked."}, []string{"upstream"})}
	if registerer != nil {
		registerer.MustRegister(x.gauge)
	}
	return x
}

// Set excludes the endpoint with this URL if excluded is true. Otherwise it lets the client ask the
// endpoint again.
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

// errExcluded is the error of a call for which all endpoints are excluded. It is a transportError,
// and so retryable, because Set may take an exclusion back.
var errExcluded = &transportError{errors.New("every upstream serves another chain than the data is of, and is left out (--rpc-upstream)")}
