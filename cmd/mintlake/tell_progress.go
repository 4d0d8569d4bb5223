package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/term"
)

// tellProgress writes line to stderr until ctx ends: on a terminal over the line before, elsewhere
// seldom and below it.
func tellProgress(ctx context.Context, line func(now time.Time) string) {
	live := term.IsTerminal(int(os.Stderr.Fd()))
	every := progressTell
	if live {
		every = progressLook
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			if live {
				fmt.Fprint(os.Stderr, "\r\x1b[K")
			}
			return
		case now := <-ticker.C:
			if live {
				fmt.Fprint(os.Stderr, "\r\x1b[K"+line(now))
			} else {
				fmt.Fprintln(os.Stderr, line(now))
			}
		}
	}
}
