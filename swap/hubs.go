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

// usdc is the mint of Circle's dollar. It is a hub as long as no pools are known: most tokens that
// do not trade against SOL trade against it.
var usdc = pubkey.MustParse("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v")

const (
	// mostHubs is how many hubs are computed: for each of them a quote looks at two pairs more.
	mostHubs = 4
	// mostCommon is how many mints are tried as a hub: those with pools with most others.
	mostCommon = 16
	// hubsEvery is how often hubs are computed.
	hubsEvery = time.Minute
	// leastHubSOL is how many SOL a hub must take for one percent of the price.
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
		if list := s.deepest(s.held.Common(ctx, mostCommon)); len(list) > 1 {
			s.computed.Store(&list)
		}
		if pause.For(ctx, hubsEvery) != nil {
			return
		}
	}
}

// deepest returns SOL, and of these mints those that take most SOL for one percent of the price. It
// looks at held pools only; a pair that is not held yet will be at the next call.
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
	// Of equally deep ones, the mint with pools with more others stays first.
	slices.SortStableFunc(list, func(a, b hub) int { return cmp.Compare(b.sol, a.sol) })
	hubs := []venue.Key{mint.WrappedSOL}
	for _, h := range list[:min(len(list), mostHubs-1)] {
		hubs = append(hubs, h.mint)
	}
	return hubs
}

// depthOf returns how many SOL the pools of a pair with SOL take together for at most one percent
// of the price, to the next lower power of two.
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
