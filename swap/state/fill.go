package state

import (
	"context"
	"time"
)

const (
	// fillPatience is how long the listing of all venues may take. fillAgain is the time before it
	// is tried again.
	fillPatience = 10 * time.Minute
	fillAgain    = 5 * time.Minute
)

// filler is what a Feed knows of its listing of all pools.
type filler struct {
	// busy says that a listing runs. due is when the next may begin.
	busy bool
	due  time.Time
	// from is the slot where the state began for which the directory was filled; 0 for none.
	from uint64
}

// fill lists the pools of all venues, if that was not done since the state began. From then on no
// pair is listed by itself. The stream shows the pools that are made later.
func (f *Feed) fill(ctx context.Context) {
	from := f.fold.First()
	if f.deps.Lister == nil || f.deps.Directory == nil || from == 0 || f.filler.from == from || f.filler.busy || f.deps.Now().Before(f.filler.due) {
		return
	}
	f.filler.busy = true
	f.filler.due = f.deps.Now().Add(fillAgain)
	began := f.deps.Now()
	go func() {
		within, cancel := context.WithTimeout(ctx, fillPatience)
		defer cancel()
		var err error
		for _, v := range f.deps.Venues {
			if err == nil {
				_, err = f.deps.Directory.Fill(within, f.deps.Lister, v, from)
			}
		}
		f.do(ctx, func() {
			f.filler.busy = false
			switch {
			case err != nil:
				f.metrics.readings.WithLabelValues("failed").Inc()
				f.deps.Logger.Warn("the pools of all venues were not listed: each pair is listed when somebody asks for it", "err", err)
			case f.fold.First() != from: // the state was reset meanwhile
				f.deps.Directory.Clear()
			default:
				f.deps.Directory.Complete()
				f.filler.from = from
				f.metrics.readings.WithLabelValues("filled").Inc()
				f.deps.Logger.Info("the pools of all venues are listed", "pools", f.deps.Directory.Len(), "took", f.deps.Now().Sub(began))
			}
		})
	}()
}

// reset forgets all state, because the stream has a gap.
func (f *Feed) reset() {
	f.fold.Reset()
	f.metrics.resets.Inc()
	if f.deps.Directory != nil {
		f.deps.Directory.Clear()
	}
	f.filler.from, f.filler.due = 0, time.Time{}
}
