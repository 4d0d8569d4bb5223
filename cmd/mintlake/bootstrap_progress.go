package main

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/mintlake/mintlake/bootstrap"
)

// showBootstrap shows the progress of a run, with rate and time left: as a bar on a terminal, or
// else as lines. stop shows the last state, and returns when nothing more is printed.
func showBootstrap(progress func() bootstrap.Progress, unit string) (stop func()) {
	ended, printed := make(chan struct{}), sync.WaitGroup{}
	started := time.Now()
	tell, every := progressLines(unit, started), progressTell
	if term.IsTerminal(int(os.Stderr.Fd())) {
		tell, every = progressBar(unit, started), progressLook
	}
	printed.Go(func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ended:
				tell(progress(), true)
				return
			case <-ticker.C:
				tell(progress(), false)
			}
		}
	})
	return func() {
		close(ended)
		printed.Wait()
	}
}

func progressBar(unit string, started time.Time) func(p bootstrap.Progress, last bool) {
	bar := progressbar.NewOptions64(-1, progressbar.OptionSetWriter(os.Stderr), progressbar.OptionFullWidth(), progressbar.OptionSetPredictTime(true),
		progressbar.OptionShowCount(), progressbar.OptionSetElapsedTime(true), progressbar.OptionThrottle(progressLook/2))
	return func(p bootstrap.Progress, last bool) {
		bar.Describe(fmt.Sprintf("%d %s, %.0f/s %s", p.Items, unit, rate(p, started), progressNote(p)))
		if p.Total > 0 {
			bar.ChangeMax64(p.Total)
		}
		_ = bar.Set64(p.Done) // a bar that does not print must not stop the run
		if last {
			_ = bar.Exit()
			fmt.Fprintln(os.Stderr)
		}
	}
}

func progressLines(unit string, started time.Time) func(p bootstrap.Progress, last bool) {
	return func(p bootstrap.Progress, _ bool) {
		fmt.Fprintln(os.Stderr, bootstrapLine(p, unit, time.Since(started)))
	}
}

// bootstrapLine formats one line of progress of a run that has lasted for took.
func bootstrapLine(p bootstrap.Progress, unit string, took time.Duration) string {
	line := fmt.Sprintf("%d %s, %d records, %.0f %s/s", p.Items, unit, p.Records, float64(p.Items)/max(took.Seconds(), 0.001), unit)
	if p.Total > 0 {
		line += fmt.Sprintf(", %d %%", p.Done*100/p.Total)
		if p.Done > 0 && p.Done < p.Total {
			left := time.Duration(float64(took) * float64(p.Total-p.Done) / float64(p.Done))
			line += fmt.Sprintf(", %s left", left.Round(time.Second))
		}
	}
	if note := progressNote(p); note != "" {
		line += ", " + note
	}
	return line
}

func rate(p bootstrap.Progress, started time.Time) float64 {
	return float64(p.Items) / max(time.Since(started).Seconds(), 0.001)
}
