// Flaky repeats the tests that wait or sleep most, on a machine that is busy with other things.
//
//	flaky         the twenty tests of the module that wait most, each 100 times or for 20 minutes
//	flaky -list   name them
//	flaky -count 10 -run 'TestStandby|TestPool' ./gateway/...
//
// A test waits where its own code calls time.Sleep, Eventually or Never outside of
// testing/synctest, whose clock is not that of the machine. End-to-end tests are left out: make
// test-rounds and make test-schedules repeat those. What failed is in bin/flaky.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"time"
)

func main() {
	list := flag.Bool("list", false, "name the tests, and run none")
	count := flag.Int("count", 100, "how often each test runs")
	limit := flag.Duration("for", 20*time.Minute, "how long each test is repeated at most")
	tests := flag.Int("tests", 20, "how many tests")
	only := flag.String("run", ".", "a regular expression: tests of these names only")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	found, err := waiting(ctx, flag.Args(), *only)
	found = found[:min(*tests, len(found))]
	if err == nil && *list {
		for _, t := range found {
			fmt.Printf("%3d waits  %s %s\n", t.waits, t.pkg, t.name)
		}
	} else if err == nil {
		end := busy()
		err = repeat(ctx, found, *count, *limit)
		end()
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "flaky:", err)
		os.Exit(1)
	}
}

// busy starts two processes for each processor that use all its time. It returns a function that
// ends them.
func busy() func() {
	var all []*exec.Cmd
	for range 2 * runtime.NumCPU() {
		loop := exec.Command("sh", "-c", "while :; do :; done")
		if loop.Start() == nil {
			all = append(all, loop)
		}
	}
	return func() {
		for _, loop := range all {
			_ = loop.Process.Kill()
			_ = loop.Wait()
		}
	}
}

// repeat runs the tests one after the other. It returns an error if a test failed in any run.
func repeat(ctx context.Context, tests []test, count int, limit time.Duration) error {
	folder := filepath.Join("bin", "flaky")
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return err
	}
	failed := 0
	for _, t := range tests {
		binary, err := filepath.Abs(filepath.Join(folder, "test"))
		if err != nil {
			return err
		}
		build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-o", binary, t.pkg) //nolint:gosec // a package of ours
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", t.pkg, err, out)
		}
		runs, failures := 0, 0
		for began := time.Now(); runs < count && time.Since(began) < limit && ctx.Err() == nil; runs++ {
			one := exec.CommandContext(ctx, binary, "-test.run", "^"+regexp.QuoteMeta(t.name)+"$", "-test.timeout", limit.String()) //nolint:gosec // a test of ours
			one.Dir = t.dir
			var out bytes.Buffer
			one.Stdout, one.Stderr = &out, &out
			if one.Run() == nil || ctx.Err() != nil {
				continue
			}
			failures++
			if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%s-%d.log", t.name, failures)), out.Bytes(), 0o600); err != nil {
				return err
			}
		}
		fmt.Printf("%4d runs, %d failed  %s %s\n", runs, failures, t.pkg, t.name)
		if failures > 0 {
			failed++
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d tests failed by chance: what they said is in %s", failed, folder)
	}
	return nil
}
