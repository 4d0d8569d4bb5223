package swap

import (
	"context"
	"slices"

	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/router"
)

// farImpact is the price impact, in basis points, from which on pools are read again that refused
// as they are not held far enough from their price: with less, they would hardly change the plan.
const farImpact = 100

// chooseFar is choose. If there is no plan or a bad one, and pools refused since the order needs
// more of them than what is held, these are read again with wider windows, once.
func (s *Server) chooseFar(ctx context.Context, r *request, v *view) (*choice, error) {
	c, err := s.choose(ctx, r, v)
	if len(v.beyond) == 0 || err == nil && c.plan.ImpactBps < farImpact {
		return c, err
	}
	var pools []market.Pool
	for _, snapshot := range v.snapshots {
		if snapshot == nil {
			continue
		}
		for _, p := range snapshot.Pools {
			if slices.Contains(v.beyond, p.Address()) {
				pools = append(pools, p)
			}
		}
	}
	wider, failed := s.market.Wider(ctx, pools)
	if failed != nil || len(wider) == 0 {
		return c, err // the answer without them stands
	}
	for _, p := range wider {
		v.graph.Replace(router.Edge{Pool: p.Pool, Venue: p.Venue, Slot: p.Slot, Clock: p.Clock})
	}
	return s.choose(ctx, r, v)
}
