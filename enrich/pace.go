package enrich

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/mintlake/mintlake/logos/fetch"
	"github.com/mintlake/mintlake/logos/pace"
)

// outcomeOf says what a fetch tells of the pace of its host. A host that is down for patience is
// not waited for: what waits for it fails at once, without a request.
func outcomeOf(err error, patience time.Duration) pace.Outcome {
	var failed *fetch.Error
	if !errors.As(err, &failed) {
		return pace.Outcome{Unasked: err != nil}
	}
	switch failed.Class { //nolint:exhaustive // all others are answers
	case fetch.ClassCanceled, fetch.ClassBadURL:
		return pace.Outcome{Unasked: true}
	case fetch.ClassHostPaused, fetch.ClassHostBusy, fetch.ClassHostDown:
		if failed.DownFor >= patience {
			return pace.Outcome{Unasked: true}
		}
		return pace.Outcome{Unasked: true, Pause: min(failed.RetryAfter, patience)}
	case fetch.ClassConnection, fetch.ClassTimeout, fetch.ClassDNS, fetch.ClassTLS:
		return pace.Outcome{Failed: true}
	case fetch.ClassHTTPStatus:
		if failed.Status == http.StatusTooManyRequests || failed.Status == http.StatusServiceUnavailable && failed.RetryAfter > 0 {
			return pace.Outcome{Refused: true, Pause: failed.RetryAfter}
		}
		return pace.Outcome{Failed: failed.Status >= http.StatusInternalServerError}
	}
	return pace.Outcome{}
}

// byteBudget spreads bytes over time. Safe for concurrent use.
type byteBudget struct {
	perSecond int64

	mu   sync.Mutex
	paid time.Time // when all that was spent is within the budget
}

// spend takes n bytes out of the budget, and returns how long until it is kept again: 0 up to a
// second's worth.
func (b *byteBudget) spend(now time.Time, n int) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.paid.Before(now) {
		b.paid = now
	}
	b.paid = b.paid.Add(time.Duration(float64(n) / float64(b.perSecond) * float64(time.Second)))
	return max(b.paid.Sub(now)-time.Second, 0)
}
