package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/mintlake/mintlake/ingest/runner"
	"github.com/mintlake/mintlake/operate/tables"
	"github.com/mintlake/mintlake/schemas"
)

// lag returns how many records the projector and enrichment still have to process.
func (s *system) lag(ctx context.Context) (int64, error) {
	projected, err := (&tables.Tables{Kafka: s.eventlog()}).Lag(ctx)
	if err != nil {
		return 0, err
	}
	enriched, err := s.admin.Lag(ctx, schemas.GroupEnrich, []string{schemas.TopicEnrichmentRequests})
	return projected + enriched, err
}

// progressLook is how often progress is read and the live line is shown. progressTell is how often
// a line of progress is printed where there is no live line.
const (
	progressLook = 250 * time.Millisecond
	progressTell = 5 * time.Second
)

// showProgress shows the progress of a finite source until it has been read and all its records
// have been processed.
func showProgress(ctx context.Context, room *runner.Runner, lag func(context.Context) (int64, error), refilling *atomic.Bool) {
	started, printed := time.Now(), time.Time{}
	ticker := time.NewTicker(progressLook)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		p := room.Progress()
		behind, err := lag(ctx)
		if ctx.Err() != nil {
			return
		}
		finished := p.Done && err == nil && behind == 0
		line := progressLine(p, behind, err, time.Since(started))
		switch {
		case screen.Lives() && !finished:
			if !refilling.Load() {
				screen.Show(line)
			}
		case finished || time.Since(printed) >= progressTell:
			printed = time.Now()
			screen.Show("")
			fmt.Fprintln(screen, line)
		}
		if finished {
			return
		}
	}
}

// progressLine formats the progress of a finite source. err is the error of reading the lag.
func progressLine(p runner.Progress, lag int64, err error, took time.Duration) string {
	read := ""
	if p.Total > 0 {
		read = fmt.Sprintf(" (%d %%)", p.Read*100/p.Total)
	}
	behind := fmt.Sprintf("lag %d", lag)
	if err != nil {
		behind = "lag unknown"
	}
	state := fmt.Sprintf("%.0f events/s", p.EventsPerSecond)
	if p.Done {
		state = fmt.Sprintf("done in %s", took.Round(100*time.Millisecond))
	}
	refused := ""
	if p.Refused > 0 {
		refused = fmt.Sprintf(", %d inputs refused", p.Refused)
	}
	return fmt.Sprintf("ingest: %d blocks, %d transactions, %d events%s, %s, %s%s", p.Blocks, p.Transactions, p.Events, read, state, behind, refused)
}
