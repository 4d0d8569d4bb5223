package enrich

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/mintlake/mintlake/logos/fetch"
	"github.com/mintlake/mintlake/logos/pace"
)

// outcomeOf returns what the end of a fetch means for the pace of its host. If the host has been
// down for patience or longer, the outcome has no pause: the jobs that wait for this host then fail
// fast, without a request.
func outcomeOf(err error, patience time.Duration) pace.Outcome {
	var failed *fetch.Error
	if !errors.As(err, &failed) {
		return pace.Outcome{Unasked: err != nil}
	}
	switch failed.Class { //nolint:exhaustive // all other classes count as answers of the host
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

// byteBudget is a token bucket of bytes, which holds the bytes of one second. It is safe for
// concurrent use.
type byteBudget struct {
	perSecond int64

	mu   sync.Mutex
	paid time.Time // when the bucket is full again
}

// spend takes n bytes, also if the bucket has fewer. It returns how long the bucket stays below 0;
// 0 if it had enough.
func (b *byteBudget) spend(now time.Time, n int) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.paid.Before(now) {
		b.paid = now
	}
	b.paid = b.paid.Add(time.Duration(float64(n) / float64(b.perSecond) * float64(time.Second)))
	return max(b.paid.Sub(now)-time.Second, 0)
}
