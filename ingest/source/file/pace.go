package file

import (
	"context"
	"time"

	"github.com/mintlake/mintlake/internal/pause"
)

// maxPause bounds one pause of a replay. A longer pause was an outage of the recording, since a
// source gives up a connection that is silent for so long.
const maxPause = 30 * time.Second

// pacer slows a replay to a multiple of the original speed. The zero value does not slow it.
type pacer struct {
	speed float64
	// origin on the recording's clock corresponds to start on ours. last is the latest time seen on
	// the recording's clock.
	origin, last time.Time
	start        time.Time
}

// wait returns when it is time to pass on what happened at the given time of the recording's clock.
// The first call starts the clock and does not wait. A zero time needs no wait, and for a time
// before the latest one, wait waits only until the latest. wait returns ctx's error.
func (p *pacer) wait(ctx context.Context, at time.Time) error {
	if p.speed <= 0 || at.IsZero() {
		return ctx.Err()
	}
	if p.origin.IsZero() {
		p.origin, p.last, p.start = at, at, time.Now()
		return ctx.Err()
	}
	if silent := at.Sub(p.last); silent > 0 { // a time before last leaves the clock as it is
		if silent > maxPause {
			p.origin = p.origin.Add(silent - maxPause)
		}
		p.last = at
	}
	due := p.start.Add(time.Duration(float64(p.last.Sub(p.origin)) / p.speed))
	return pause.For(ctx, time.Until(due))
}
