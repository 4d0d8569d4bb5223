package market

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
)

// maxWider is how many pools Wider reads at most. Each is one call of up to 100 accounts.
const maxWider = 4

// Wider reads pools again, with wider windows: those that refused an order with venue.ErrBeyond. It
// reads at most maxWider pools, the first ones. It leaves out pools that have no wider window, and
// pools whose wider state cannot be quoted. Callers that ask for one pool at the same time share a
// reading.
func (m *Market) Wider(ctx context.Context, pools []Pool) ([]Pool, error) {
	var refs []located
	for i := range pools {
		windowed, ok := pools[i].Ref.(venue.Windowed)
		if !ok || len(refs) == maxWider {
			continue
		}
		if wider := windowed.Wider(); wider != nil {
			refs = append(refs, located{wider, pools[i].Venue})
		}
	}
	found := make([]*Snapshot, len(refs))
	group, ctx := errgroup.WithContext(ctx)
	for i, r := range refs {
		group.Go(func() (err error) {
			address := r.Address()
			found[i], err = m.reading.Do(ctx, string(address[:]), m.cfg.timeout, func(ctx context.Context) (*Snapshot, error) { return m.widen(ctx, r) })
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var list []Pool
	for _, one := range found {
		list = append(list, one.Pools...)
	}
	return list, nil
}

// widen reads one pool with a wider window.
func (m *Market) widen(ctx context.Context, r located) (*Snapshot, error) {
	mints := r.Mints()
	p := pairOf(mints[0], mints[1])
	b := split(p, []located{r})[0]
	if len(b.keys) > solana.MaxAccountsPerCall {
		return nil, fmt.Errorf("%s: pool %s: a wider window has %d accounts", r.venue, r.Address(), len(b.keys))
	}
	snapshot, err := m.loadBatch(ctx, p, b)
	if err != nil {
		m.metrics.reads.WithLabelValues("failed").Inc()
		return nil, err
	}
	m.metrics.reads.WithLabelValues("wider").Inc()
	return snapshot, nil
}

// readable returns which pools of one venue and pair are read: at most most, and at most maxWindows
// of those whose liquidity lies in arrays (venue.Windowed). refs must be sorted, the deepest first.
// It changes refs.
func readable(refs []venue.Ref, most int) []venue.Ref {
	windows := 0
	refs = slices.DeleteFunc(refs, func(r venue.Ref) bool {
		_, windowed := r.(venue.Windowed)
		if windowed {
			windows++
		}
		return windowed && windows > maxWindows
	})
	return refs[:min(len(refs), most)]
}

// maxWindows is how many pools with arrays are read of one venue and pair: each has some ten
// accounts of ten kilobytes.
const maxWindows = 8
