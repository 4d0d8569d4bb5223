package swap

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
)

// usdc is the mint of Circle's dollar. It is a hub until hubs are computed from pools: most tokens
// that do not trade against SOL trade against it.
var usdc = pubkey.MustParse("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v")

const (
	// mostHubs is how many hubs are computed, SOL among them. For each hub a quote looks at two
	// more pairs.
	mostHubs = 4
	// mostCommon is how many mints are tried as hubs: those that have pools with the most other
	// mints.
	mostCommon = 16
	// hubsEvery is how often hubs are computed.
	hubsEvery = time.Minute
	// leastHubSOL is how many SOL the pools of SOL and a hub must be able to take before the price
	// is one percent worse.
	leastHubSOL = 100
)

// hubs returns the mints that a route may go through.
func (s *Server) hubs() []venue.Key {
	if s.cfg.Hubs != nil {
		return s.cfg.Hubs
	}
	return *s.computed.Load()
}

// findHubs computes the hubs again and again, until ctx ends.
func (s *Server) findHubs(ctx context.Context) {
	for {
		// A list of SOL alone says that no pool is held yet, or none is deep: the last hubs stay.
		if list := s.deepest(s.held.Common(ctx, mostCommon)); len(list) > 1 {
			s.computed.Store(&list)
		}
		if pause.For(ctx, hubsEvery) != nil {
			return
		}
	}
}

// deepest returns SOL, and those of the mints whose pools with SOL take most SOL for one percent of
// the price. It looks only at pairs whose state is held. Asking for another pair makes the stream
// hold it, so that it counts at a later call.
func (s *Server) deepest(mints []venue.Key) []venue.Key {
	type hub struct {
		mint venue.Key
		sol  uint64
	}
	var list []hub
	for _, m := range mints {
		if m == mint.WrappedSOL {
			continue
		}
		found, ok, err := s.market.Get(mint.WrappedSOL, m)
		if !ok || err != nil {
			continue
		}
		if sol := depthOf(found); sol >= leastHubSOL {
			list = append(list, hub{m, sol})
		}
	}
	// The sort is stable: of equally deep mints, the one that has pools with more other mints stays
	// first.
	slices.SortStableFunc(list, func(a, b hub) int { return cmp.Compare(b.sol, a.sol) })
	hubs := []venue.Key{mint.WrappedSOL}
	for _, h := range list[:min(len(list), mostHubs-1)] {
		hubs = append(hubs, h.mint)
	}
	return hubs
}

// depthOf returns how many SOL the pools of SOL and another mint take together for at most one
// percent of the price. The amount of each pool is rounded down to a power of two.
func depthOf(found *market.Snapshot) (sol uint64) {
	const lamports, onePercent, most = 1_000_000_000, 100, 1 << 20
	for i := range found.Pools {
		p, deep := &found.Pools[i], uint64(0)
		for amount := uint64(1); amount <= most; amount *= 2 {
			quote, err := p.Quote(venue.Order{In: mint.WrappedSOL, Amount: amount * lamports, Clock: p.Clock})
			if err != nil || quote.ImpactBps > onePercent {
				break
			}
			deep = amount
		}
		sol += deep
	}
	return sol
}
