package market

import (
	"bytes"
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/unverified"
)

// Unverified is the pools of a pair that are listed and never quoted.
type Unverified struct {
	Pools []Refused
	// Unlisted are the venues whose pools the server did not list.
	Unlisted []string
}

// Unverified lists the pools of a pair on the venues that nothing proves yet. The list is
// remembered for PoolsTTL. Its error is that of ctx: a server that does not list a venue's accounts
// is no error.
func (m *Market) Unverified(ctx context.Context, a, b venue.Key) (Unverified, error) {
	p := pairOf(a, b)
	if found, ok := remembered(m, m.unverified, p); ok {
		return found, nil
	}
	return m.listing.Do(ctx, p.String(), m.cfg.timeout, func(ctx context.Context) (Unverified, error) {
		found := m.listUnverified(ctx, p)
		remember(m, m.unverified, p, found, m.cfg.PoolsTTL)
		return found, nil
	})
}

func (m *Market) listUnverified(ctx context.Context, p pair) (found Unverified) {
	venues := unverified.Venues()
	lists, errs := make([][]venue.Key, len(venues)), make([]error, len(venues))
	var group errgroup.Group
	group.SetLimit(maxCalls)
	for i, v := range venues {
		group.Go(func() error {
			lists[i], errs[i] = m.unverifiedOf(ctx, v, p)
			return nil
		})
	}
	_ = group.Wait() // errs has the errors
	for i, v := range venues {
		if errs[i] != nil {
			m.deps.Logger.Debug("pools are not listed", "venue", v.Name, "err", errs[i])
			found.Unlisted = append(found.Unlisted, v.Name)
		}
		for _, address := range lists[i][:min(len(lists[i]), m.cfg.maxPools)] {
			found.Pools = append(found.Pools, Refused{v.Name, address, unverified.Err})
		}
	}
	return found
}

// unverifiedOf returns the pools of a pair on one venue, by their addresses.
func (m *Market) unverifiedOf(ctx context.Context, v unverified.Venue, p pair) ([]venue.Key, error) {
	var pools []venue.Key
	for _, filter := range v.Filters(p.a, p.b) {
		if err := ProgramAccounts(ctx, m.deps.RPC, Listing{Program: v.Program, Filter: filter, Commitment: Commitment}, func(address venue.Key, _ []byte) {
			pools = append(pools, address)
		}); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(pools, func(x, y venue.Key) int { return bytes.Compare(x[:], y[:]) })
	return pools, nil
}
