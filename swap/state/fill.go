package state

import (
	"context"
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/venue"
)

const (
	// fillPatience is how long the listing of one venue may take. fillAgain is the time before
	// listings that failed are tried again. fillPause is the least time between two beginnings when
	// the state begins anew: the server may still be busy with the listing that was given up.
	fillPatience = 10 * time.Minute
	fillAgain    = 5 * time.Minute
	fillPause    = time.Minute
)

// filler is what a Feed knows of its listing of all pools.
type filler struct {
	// from is the slot at which the present state began; 0 before the first listing. After a gap of
	// the stream another state begins, and all venues are listed again. left are the venues that
	// have not been listed since from.
	from uint64
	left venue.List
	// busy says that listings run, which stop ends. began is when the last listings began, due when
	// the next may begin.
	busy       bool
	stop       context.CancelFunc
	began, due time.Time
	// failures counts the listings that failed.
	failures uint
	running  sync.WaitGroup
}

// fill lists the pools of each venue that was not listed since the state began. After that, the
// venue need not be asked for the pools of a pair. The stream shows the pools that are made later.
func (f *Feed) fill(ctx context.Context) {
	now, from := f.deps.Now(), f.fold.First()
	if f.deps.Lister == nil || f.deps.Directory == nil || from == 0 || f.filler.busy {
		return
	}
	if f.filler.from != from { // the state began anew
		f.filler.from, f.filler.left, f.filler.due = from, f.deps.Venues, f.filler.began.Add(fillPause)
	}
	left := f.filler.left
	if len(left) == 0 || now.Before(f.filler.due) {
		return
	}
	f.filler.busy, f.filler.began, f.filler.due = true, now, now.Add(fillAgain)
	listing, stop := context.WithCancel(ctx)
	f.filler.stop = stop
	f.filler.running.Go(func() {
		defer stop()
		for _, v := range left {
			within, cancel := context.WithTimeout(listing, fillPatience)
			listed, err := f.deps.Directory.List(within, f.deps.Lister, v, from)
			cancel()
			f.enqueue(ctx, func() { f.filled(v, from, listed, err) })
		}
		f.enqueue(ctx, func() {
			f.filler.busy = false
			if f.filler.from == from && len(f.filler.left) == 0 {
				f.metrics.readings.WithLabelValues("filled").Inc()
				f.deps.Logger.Info("the pools of all venues are listed", "pools", f.deps.Directory.Len(), "took", f.deps.Now().Sub(now))
			}
		})
	})
}

// filled takes in the listing of one venue, or its error.
func (f *Feed) filled(v venue.Venue, from uint64, listed market.Whole, err error) {
	if f.filler.from != from {
		return // the state was reset meanwhile
	}
	if err != nil {
		f.metrics.readings.WithLabelValues("failed").Inc()
		if f.filler.failures++; bits.OnesCount(f.filler.failures) == 1 { // sampled
			f.deps.Logger.Warn("the pools of a venue were not listed: each pair is listed when somebody asks for it",
				"venue", v.Name(), "failures", f.filler.failures, "err", err)
		}
		return
	}
	f.deps.Directory.Fill(listed)
	f.filler.left = slices.DeleteFunc(slices.Clone(f.filler.left), func(other venue.Venue) bool { return other.Program() == v.Program() })
}

// reset forgets all state, because the stream has a gap.
func (f *Feed) reset() {
	f.fold.Reset()
	f.metrics.resets.Inc()
	if f.deps.Directory != nil {
		f.deps.Directory.Expire()
	}
	f.filler.from, f.filler.left = 0, nil
	if f.filler.stop != nil {
		f.filler.stop()
	}
}
