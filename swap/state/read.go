package state

import (
	"context"
	"time"

	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/venue"
)

// patience is how long a listing or a reading may take.
const patience = 10 * time.Second

// read starts to read wanted pools. The pools are divided among lanes by their addresses. Each lane
// has at most one call under way, so no two calls read the same pool.
func (f *Feed) read(ctx context.Context) {
	for lane := range lanes {
		if f.reading[lane] {
			continue
		}
		r := f.fold.Wanted(solana.MaxAccountsPerCall, lane, lanes)
		if len(r.Keys) == 0 {
			continue
		}
		f.reading[lane] = true
		go func() {
			within, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			slot, accounts, err := f.deps.RPC.GetMultipleAccounts(within, r.Keys, solana.AccountOptions{Commitment: solana.Confirmed, MinContextSlot: r.Slot})
			f.enqueue(ctx, func() {
				f.reading[lane] = false
				if err != nil {
					f.metrics.readings.WithLabelValues("failed").Inc()
					f.deps.Logger.Debug("reading of pools failed", "err", err)
					return
				}
				f.metrics.readings.WithLabelValues("read").Inc()
				f.fold.Read(slot, r.Keys, accounts)
			})
		}()
	}
}

// maxListings is how many pairs are listed at the same time. A pair beyond that is listed when it
// is asked for again.
const maxListings = 8

// askedFor is called when a client asks for a pair. It watches the pair, and has its pools read
// first. It starts to list the pools over JSON-RPC, unless that is done already, is under way, or
// maxListings other listings are under way.
func (f *Feed) askedFor(a, b venue.Key) {
	f.fold.Ask(a, b)
	f.fold.Hurry(a, b)
	p := pairOf(a, b)
	minSlot, ok := f.fold.Listable(a, b)
	if !ok || f.listing[p] || len(f.listing) >= maxListings {
		return
	}
	f.listing[p] = true
	go f.list(p, minSlot)
}

// found is an account that a listing returned.
type found struct {
	address venue.Key
	account *solana.Account
}

// list lists the pools of a pair, as they are at minSlot or later.
func (f *Feed) list(p pair, minSlot uint64) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var pools []found
	var err error
	for _, v := range f.deps.Venues {
		add := func(address venue.Key, data []byte) {
			pools = append(pools, found{address, &solana.Account{Owner: v.Program(), Lamports: 1, Data: data}})
		}
		lookup, listed := f.deps.Directory.Lookup(v, p.a, p.b)
		for _, filter := range lookup.Filters {
			if err == nil {
				err = market.ProgramAccounts(ctx, f.deps.RPC, market.Listing{Program: v.Program(), Filter: filter, Commitment: solana.Confirmed, MinSlot: minSlot}, add)
			}
		}
		if err == nil {
			err = market.Accounts(ctx, f.deps.RPC, v.Program(), listed, solana.AccountOptions{Commitment: solana.Confirmed, MinContextSlot: minSlot}, add)
		}
	}
	// The listing may have used up the time of ctx. The task needs time of its own, because the
	// pair must not stay in f.listing.
	queued, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	f.enqueue(queued, func() {
		delete(f.listing, p)
		if err != nil {
			f.metrics.readings.WithLabelValues("failed").Inc()
			f.deps.Logger.Debug("listing of pools failed", "err", err)
			return
		}
		f.metrics.readings.WithLabelValues("listed").Inc()
		for _, pool := range pools {
			f.fold.Listed(pool.address, pool.account)
		}
		// If the state now begins later, it was reset meanwhile.
		if now, _ := f.fold.Listable(p.a, p.b); now <= minSlot {
			f.fold.Complete(p.a, p.b)
		}
	})
}
