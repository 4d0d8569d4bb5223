package main

import (
	"context"
	"fmt"
	"time"
)

// tellProgress shows line on standard error until ctx ends. On a terminal it rewrites the live line
// every progressLook; elsewhere it prints a line every progressTell.
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
