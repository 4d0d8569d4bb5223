package chengine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// readyPauseMax is the longest pause after the end of a child that had started. The pause and
	// the next start together should take less than a second.
	readyPauseMax = 250 * time.Millisecond
	// failedPauseMax is the longest pause after a start that failed.
	failedPauseMax = 5 * time.Second
	// steadyAfter is how long a child must have lived for its end not to count as quick.
	steadyAfter = 10 * time.Second
	// pingMisses is how many pings in a row a child may fail to answer. Then it counts as hanging
	// and is killed.
	pingMisses = 3
)

// errPermanent marks a failed start that would fail again.
var errPermanent = errors.New("permanent")

// supervise starts children, one after the other, until ctx ends, maxFailedStarts in a row fail, or
// a start fails in a way that another start would not change.
func (e *Engine) supervise(ctx context.Context, library string, dir *dataDir, listener *net.TCPListener) error {
	file, err := listener.File()
	if err != nil {
		return fmt.Errorf("embedded clickhouse: duplicate listener: %w", err)
	}
	defer func() { _ = file.Close() }() // a duplicate; nothing is written through it
	config, err := writeServerConfig(dir, e.cfg)
	if err != nil {
		return err
	}
	spec := childSpec{
		Parent: os.Getpid(), Library: library, Dir: filepath.Join(dir.path, engineDir), ServerConfig: config,
		Connections: e.cfg.connections, Settings: e.cfg.querySettings(), MaxInsertBytes: e.cfg.maxInsertBytes, AllowedHosts: e.cfg.AllowedHosts, StopTimeout: e.cfg.stopTimeout, LetGo: e.cfg.LetGo,
	}
	mending, err := e.newMending(dir)
	if err != nil {
		return err
	}
	// failed counts the failed starts in a row. quick counts the children in a row that did not
	// start or did not live for steadyAfter.
	failed, quick := 0, 0
	for first := true; ; first = false {
		if !first {
			e.metrics.restarts.Inc()
		}
		begin := time.Now()
		p, err := startProcess(spec, file, dir.lock, e.log, e.metrics.stderrLines, e.noteQueries())
		if err != nil {
			return fmt.Errorf("embedded clickhouse: %w", err)
		}
		e.setPID(p.pid)
		longest := readyPauseMax
		started, err := e.followChild(ctx, p, dir, mending)
		e.setPID(0)
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, ErrNewerData) {
			return err
		}
		if started {
			failed = 0
			if quick++; time.Since(begin) >= steadyAfter {
				quick = 0
			}
			e.log.Error("embedded clickhouse ended, restarting it", "err", err)
		} else {
			failed++
			quick++
			longest = failedPauseMax
			e.metrics.failedStarts.Inc()
			if !errors.Is(err, errPermanent) {
				again, mendErr := mending.afterFailure(failed, e.cfg.maxFailedStarts)
				if mendErr != nil {
					return mendErr
				}
				if again {
					failed = 0
				}
			}
			if failed >= e.cfg.maxFailedStarts || errors.Is(err, errPermanent) {
				return &StartError{DataDir: dir.path, Attempts: failed, Reason: err.Error(), Stderr: p.stderr.explanation()}
			}
			e.log.Warn("embedded clickhouse did not start, trying again", "err", err)
		}
		select {
		case <-time.After(pause(quick, longest)):
		case <-ctx.Done():
			return nil
		}
	}
}

// noteQueries returns a function that handles the reports of one child: it sets the metrics, and
// logs when queries stop or resume their progress.
func (e *Engine) noteQueries() func(childReport) {
	standing := false
	return func(report childReport) {
		e.metrics.note(report)
		switch {
		case report.Stuck != "":
			e.metrics.stuck.Inc()
			e.log.Error("embedded clickhouse does not end a query that was killed: its process is replaced", "query", report.Stuck)
		case report.Standing > 0 && !standing:
			e.log.Warn("a clickhouse query makes no progress", "query", report.StandingQuery, "seconds", report.StandingSeconds, "queries", report.Standing)
		case report.Standing == 0 && standing:
			e.log.Info("all clickhouse queries make progress again")
		}
		standing = report.Standing > 0
	}
}

// pause returns the time before the next start: 0 after the first quick end, 100 ms after the
// second, then double each time up to longest.
func pause(quick int, longest time.Duration) time.Duration {
	if quick <= 1 {
		return 0
	}
	return min(longest, 100*time.Millisecond<<min(quick-2, 10))
}

// followChild follows a child from its start to its end. started says that the child opened the
// data and took over the listener. From then on its end is a crash and not a failed start, even if
// it has not answered a ping yet. err says how it ended.
func (e *Engine) followChild(ctx context.Context, p *process, dir *dataDir, mending *mending) (started bool, err error) {
	begin := time.Now()
	status, err := p.waitStatus(ctx, startTimeout)
	switch {
	case ctx.Err() != nil:
		p.stop(e.cfg.stopTimeout)
		return false, ctx.Err()
	case err != nil:
		p.kill()
		return false, err
	case status.Error != "":
		<-p.exited
		if status.Permanent {
			return false, fmt.Errorf("%s (%w)", status.Error, errPermanent)
		}
		return false, errors.New(status.Error)
	}
	if older(status.Version, dir.marker.Engine) {
		p.stop(e.cfg.stopTimeout)
		return false, fmt.Errorf("embedded clickhouse: %w: %s was written by ClickHouse %s, the library here is %s: run `make deps` of the newer mintlake, or, if %s is damaged, %s", ErrNewerData, dir.path, dir.marker.Engine, status.Version, markerFile, markAgain)
	}
	if err := dir.opened(status.Version); err != nil {
		e.log.Warn("note the engine's version", "err", err) // only the check above needs it
	}
	if err := e.ping(ctx, p); err != nil {
		p.stop(e.cfg.stopTimeout)
		return true, fmt.Errorf("ping: %w", err)
	}
	e.metrics.startSeconds.Set(time.Since(begin).Seconds())
	e.metrics.up.Set(1)
	defer func() {
		e.metrics.up.Set(0)
		e.metrics.note(childReport{})
	}()
	e.log.Info("embedded clickhouse is ready", "addr", e.Addr(), "version", status.Version, "pid", p.pid, "took", time.Since(begin))
	select {
	case <-e.ready:
	default:
		close(e.ready)
	}
	mending.update()
	err = e.untilEnd(ctx, p, mending.update)
	if ctx.Err() != nil {
		mending.update() // the engine has ended as it should
	}
	return true, err
}

// untilEnd waits until the child ends, hangs or has to be replaced, or until ctx ends. It calls
// healthy after each ping that was answered.
func (e *Engine) untilEnd(ctx context.Context, p *process, healthy func()) error {
	ticker := time.NewTicker(e.pingEvery)
	defer ticker.Stop()
	missed, full := 0, false
	for {
		select {
		case <-p.exited:
			return p.exitError()
		case <-ctx.Done():
			// The child itself gives its queries stopTimeout to end.
			p.stop(e.cfg.stopTimeout + 2*time.Second)
			return ctx.Err()
		case <-ticker.C:
			switch wasFull := full; {
			case e.diskIsFull():
				full = true
			case wasFull:
				// A merge that met the full disk can have left a part without rows beside its
				// source parts. Queries then fail with code 246 until the next start, which puts
				// such a part aside and uses the source parts again.
				p.stop(e.cfg.stopTimeout)
				return errDiskWasFull
			}
			if e.ping(ctx, p) == nil {
				missed = 0
				healthy()
			} else if missed++; missed >= pingMisses && ctx.Err() == nil {
				p.kill()
				return fmt.Errorf("no answer to %d pings of %s each: killed", missed, e.pingTimeout)
			}
		}
	}
}

// errDiskWasFull is the reason for replacing a healthy child.
var errDiskWasFull = errors.New("the disk was full and has room again: a new start puts aside what could not be written whole")

// diskIsFull reports whether less than KeepFree is free on the disk. With KeepFree 0 the disk is
// never full.
func (e *Engine) diskIsFull() bool {
	var stat unix.Statfs_t
	if e.cfg.KeepFree == 0 || unix.Statfs(e.cfg.DataDir, &stat) != nil {
		return false
	}
	return stat.Bavail*uint64(stat.Bsize) < e.cfg.KeepFree
}

// ping returns nil if p answers. It also ends when p ends: otherwise the connection would wait for
// the next child, which is started only after ping has returned.
func (e *Engine) ping(ctx context.Context, p *process) error {
	ctx, cancel := context.WithTimeout(ctx, e.pingTimeout)
	defer cancel()
	go func() {
		select {
		case <-p.exited:
			cancel()
		case <-ctx.Done():
		}
	}()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+e.Addr()+"/ping", nil)
	if err != nil {
		return err
	}
	// A transport of its own: it uses no proxy from the environment, and no connection to a dead
	// child.
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // read only
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", response.Status)
	}
	return nil
}

// older reports whether version a comes before version b. Versions are numbers with dots. If a part
// is no number, the result is false.
func older(a, b string) bool {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(as), len(bs)) {
		x, errX := strconv.Atoi(as[i])
		y, errY := strconv.Atoi(bs[i])
		if errX != nil || errY != nil {
			return false
		}
		if x != y {
			return x < y
		}
	}
	return false
}
