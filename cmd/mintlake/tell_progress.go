package main

import (
	"context"
	"fmt"
	"time"
)

// tellProgress writes line to stderr until ctx ends: on a terminal over the line before, elsewhere
// seldom and below it.
func tellProgress(ctx context.Context, line func(now time.Time) string) {
	every := progressTell
	if screen.Lives() {
		every = progressLook
		defer screen.Show("")
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			if screen.Lives() {
				screen.Show(line(now))
			} else {
				fmt.Fprintln(screen, line(now))
			}
		}
	}
}
