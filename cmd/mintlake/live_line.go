package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/mintlake/mintlake/client"
	"github.com/mintlake/mintlake/client/rest"
	"github.com/mintlake/mintlake/internal/terminal"
)

// screen is this process's standard error. It shows the log, and on a terminal one live line below
// it.
var screen = terminal.NewLive(os.Stderr)

// liveEvery is the time between two requests for the status.
const liveEvery = time.Second

// keepLiveLine shows the node's status in the live line until the system stops. It needs a
// terminal, and the token API in this process. A finite source has a progress line instead.
func (s *system) keepLiveLine() {
	api := ""
	for _, a := range s.addresses {
		if a.name == "api" {
			api = a.url
		}
	}
	if api == "" || !screen.Lives() || s.ingest != nil && s.ingest.finite {
		return
	}
	asked, err := client.New(client.Config{URL: api, MaxWait: -1})
	if err != nil {
		s.logger.Warn("the live line cannot be shown", "err", err)
		return
	}
	s.lifecycle.start("live line", func(ctx context.Context) error {
		defer screen.Show("")
		var before *rest.Status
		last := time.Now()
		ticker := time.NewTicker(liveEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-ticker.C:
			}
			now, err := asked.Status(ctx)
			if err != nil {
				continue // the API may answer the next request, or the node is stopping
			}
			if !s.refilling.Load() {
				screen.Show(statusLine(before, now, time.Since(last)))
			}
			before, last = now, time.Now()
		}
	})
}

// statusLine formats the live line. now is the latest status. before is the status that was read
// the time passed earlier; nil for the first line.
func statusLine(before, now *rest.Status, passed time.Duration) string {
	parts := []string{"slot " + terminal.Count(now.Source.Slot)}
	if before != nil && passed > 0 {
		parts = append(parts, fmt.Sprintf("%.0f tx/s", float64(max(0, now.Source.Transactions-before.Source.Transactions))/passed.Seconds()))
	}
	parts = append(parts, terminal.Count(now.Registry.Tokens)+" tokens")
	lag := "lag unknown"
	if now.Pipeline.LagRecords != nil {
		lag = "lag " + terminal.Count(*now.Pipeline.LagRecords)
		if age := now.Pipeline.LastKnownAgeMs; age != nil && *age >= 10_000 {
			lag += fmt.Sprintf(" (%d s ago)", *age/1000)
		}
	}
	parts = append(parts, lag)
	if now.Freshness.P50Ms != nil {
		parts = append(parts, "fresh in "+terminal.Span(*now.Freshness.P50Ms))
	}
	if now.Coverage.GapCount > 0 {
		parts = append(parts, terminal.Count(now.Coverage.GapCount)+" gaps")
	}
	if now.Source.Done {
		parts = append(parts, "source done")
	}
	return strings.Join(parts, " · ")
}
