package venuetest

import (
	"math"
	"testing"

	"github.com/mintlake/mintlake/swap/venue"
)

// Hostile calls everything of a pool that was decoded from hostile accounts. The pool may return
// quotes or errors, but must not panic.
func Hostile(t *testing.T, p venue.Pool, amount uint64) {
	t.Helper()
	for _, in := range p.Mints() {
		for _, exactOut := range []bool{false, true} {
			for _, now := range []int64{math.MinInt64, 0, 1_700_000_000, math.MaxInt64} {
				q, err := p.Quote(venue.Order{In: in, Amount: amount, ExactOut: exactOut, Clock: venue.Clock{UnixTime: now, Slot: uint64(now)}})
				if err != nil {
					continue
				}
				if q.AmountIn == 0 || q.AmountOut == 0 {
					t.Fatalf("impossible quote: %+v", q)
				}
				if _, err = p.Instructions(q, amount, venue.UserAccounts{}); err != nil {
					t.Fatalf("no instruction for %+v: %v", q, err)
				}
			}
		}
	}
}
