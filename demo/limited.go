package demo

import (
	"math"
	"net/http"

	"golang.org/x/time/rate"
)

// limited answers at most perSecond requests a second, with bursts of as many. What is beyond gets
// 429, as from a provider whose plan is used up. 0 is no limit.
func limited(next http.Handler, perSecond float64) http.Handler {
	if perSecond == 0 {
		return next
	}
	bucket := rate.NewLimiter(rate.Limit(perSecond), int(math.Ceil(perSecond)))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if bucket.Allow() {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0","error":{"code":429,"message":"Too many requests for a specific RPC call"},"id":null}`))
	})
}
