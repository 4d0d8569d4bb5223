package swap

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/router"
	"github.com/mintlake/mintlake/swap/txn"
	"github.com/mintlake/mintlake/swap/venue"
)

// view is the state of the chain that a request is answered from.
type view struct {
	// snapshots are the states of pairs, by the same index. One is nil for a pair with a mint that
	// cannot be swapped.
	snapshots []*market.Snapshot
	// pairs begin with the pair that is asked for. For each middle, a mint that a route may go
	// through, two pairs follow: source and middle, then middle and target. Pairs of two middles
	// come last.
	pairs []router.Pair
	// middles is how many middles there are.
	middles int
	graph   *router.Graph
	// tables are the lookup tables that a transaction may use.
	tables []txn.Table
	// beyond are pools that refused because the order needs more of their accounts than are held.
	beyond []venue.Key
	// refused are pools of the pair that exist but cannot be quoted.
	refused []market.Refused
	// slot is the slot up to which all parts of the state are known to hold.
	slot   uint64
	readAt time.Time
}

// mint returns a mint of the pairs; nil if no snapshot has it.
func (v *view) mint(key venue.Key) *mint.Mint {
	for _, snapshot := range v.snapshots {
		if snapshot == nil {
			continue
		}
		for _, m := range snapshot.Mints {
			if m.Address == key {
				return m
			}
		}
	}
	return nil
}

// look reads the state of the pair and, unless only direct routes are wanted, of the pairs that its
// two mints make with each middle. Then it reads the pairs of two middles that can be part of a
// route. A middle that cannot be swapped is left out. It is an error if the state is too old, or if
// it cannot be read how the venues' programs are deployed.
func (s *Server) look(ctx context.Context, r *request) (*view, error) {
	middles := s.middles(ctx, r)
	v := &view{middles: len(middles), pairs: make([]router.Pair, 0, 1+2*len(middles))}
	v.add(r.source, r.target)
	for _, middle := range middles {
		v.add(r.source, middle)
		v.add(middle, r.target)
	}
	if err := s.fetch(ctx, v, 0); err != nil {
		return nil, err
	}
	known := len(v.pairs)
	for i, one := range middles {
		for j, other := range middles[:i] {
			if v.has(1+2*i) && v.has(2+2*j) || v.has(1+2*j) && v.has(2+2*i) {
				v.add(one, other)
			}
		}
	}
	if err := s.fetch(ctx, v, known); err != nil {
		return nil, err
	}
	newest := v.merge(r)
	if err := s.trust.Check(ctx, newest); err != nil {
		return nil, away(err)
	}
	return v, s.fresh(v.slot, r.maxAge)
}

// add adds a pair whose state is needed.
func (v *view) add(a, b venue.Key) {
	v.pairs, v.snapshots = append(v.pairs, router.Pair{Mints: [2]venue.Key{a, b}}), append(v.snapshots, nil)
}

// has returns whether there are pools of the pair with this index.
func (v *view) has(i int) bool { return v.snapshots[i] != nil && len(v.snapshots[i].Pools) > 0 }

// fetch finds the state of the pairs from index from on, the lookup tables, and how the venues'
// programs are deployed. It reads only what is not held or remembered.
func (s *Server) fetch(ctx context.Context, v *view, from int) error {
	var unread []int
	for i := from; i < len(v.pairs); i++ {
		found, ok, err := s.market.Get(v.pairs[i].Mints[0], v.pairs[i].Mints[1])
		switch {
		case !ok:
			unread = append(unread, i)
		case needed(i, err) != nil:
			return away(err)
		default:
			v.snapshots[i] = found
		}
	}
	tables, ok := s.tables.Get()
	if v.tables = tables; len(unread) > 0 || !ok || !s.trust.Known(0) {
		if err := s.read(ctx, v, unread); err != nil {
			return away(err)
		}
	}
	return nil
}

// needed returns err, the error of reading the pair with this index, unless the pair has a middle
// that cannot be swapped: then it returns nil, as there is just no route over that middle.
func needed(i int, err error) error {
	if i > 0 && errors.Is(err, mint.ErrUntradable) {
		return nil
	}
	return err
}

// read reads the pairs that are not held, the lookup tables, and how the programs are deployed, all
// at the same time. fetch calls it only if something must be read: to start goroutines takes longer
// than the rest of look. A failed reading does not cancel the others, which other requests may
// share.
func (s *Server) read(ctx context.Context, v *view, unread []int) error {
	var group errgroup.Group
	for _, i := range unread {
		group.Go(func() (err error) {
			v.snapshots[i], err = s.market.Read(ctx, v.pairs[i].Mints[0], v.pairs[i].Mints[1])
			return needed(i, err)
		})
	}
	group.Go(func() error { return s.trust.Check(ctx, 0) })
	group.Go(func() error { v.tables = s.tables.Tables(ctx); return nil })
	return group.Wait()
}

// merge makes the graph of the pairs from their snapshots, without the pools that do not serve the
// request, and sets refused, slot and readAt. It returns the newest slot of a pool.
func (v *view) merge(r *request) (newest uint64) {
	first, count := v.snapshots[0], 0
	v.refused, v.slot, v.readAt = first.Refused, first.Slot, first.ReadAt
	for i, snapshot := range v.snapshots {
		if v.useful(i) {
			count += len(snapshot.Pools)
		}
	}
	edges := make([]router.Edge, 0, count)
	for i, snapshot := range v.snapshots {
		if snapshot == nil {
			continue
		}
		from, useful := len(edges), v.useful(i)
		for j := range snapshot.Pools {
			p := &snapshot.Pools[j]
			newest = max(newest, p.Slot)
			if useful && r.serves(p.Venue, p.Pool) {
				edges = append(edges, router.Edge{Pool: p.Pool, Venue: p.Venue, Slot: p.Slot, Clock: p.Clock})
			}
		}
		v.pairs[i].Edges = slices.Clip(edges[from:])
		v.slot = min(v.slot, snapshot.Slot)
		if snapshot.ReadAt.Before(v.readAt) {
			v.readAt = snapshot.ReadAt
		}
	}
	v.graph = router.NewGraph(v.pairs)
	return newest
}

// useful returns whether the search for a route may need the pools of the pair with this index. If
// a middle has pools with only one of the two tokens, and no pair of middles is there, no route
// goes over it. So most quotes need not sort the many pools that two hubs have with each other.
// Pools with SOL are useful in any case: they tell the price of SOL.
func (v *view) useful(i int) bool {
	switch {
	case i == 0 || i > 2*v.middles || !v.has(i):
		return v.has(i)
	case len(v.pairs) > 1+2*v.middles: // there are pairs of middles that can be part of a route
		return true
	}
	other, middle := i+1, v.pairs[i].Mints[1]
	if i%2 == 0 {
		other, middle = i-1, v.pairs[i].Mints[0]
	}
	return middle == mint.WrappedSOL || v.has(other)
}

// without returns the graph of the pools whose venues are not among these names.
func (v *view) without(venues map[string]bool) *router.Graph {
	pairs := make([]router.Pair, len(v.pairs))
	for i, pair := range v.pairs {
		pair.Edges = slices.DeleteFunc(slices.Clone(pair.Edges), func(e router.Edge) bool { return venues[e.Venue] })
		pairs[i] = pair
	}
	return router.NewGraph(pairs)
}
