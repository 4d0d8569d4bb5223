package swap

import (
	"context"
	"slices"

	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/router"
)

// farImpact is the price impact of a plan, in basis points, from which on chooseFar reads pools
// again. With less impact, these pools would hardly change the plan.
const farImpact = 100

// chooseFar is choose with a second attempt. Some pools refuse an order because it needs arrays
// farther from their price than those that are held. If there are such pools, and no plan or one
// with a high price impact, they are read again with wider windows, and choose is called once more.
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
