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
	// readyPauseMax is the longest pause after the end of a child that was ready: together with a
	// start it must stay below a second.
	readyPauseMax = 250 * time.Millisecond
	// failedPauseMax is the longest pause after a start that failed.
	failedPauseMax = 5 * time.Second
	// steadyAfter is how long a child must have lived for the next pause to be none again.
	steadyAfter = 10 * time.Second
	// pingMisses is how many pings in a row a child may miss before it counts as hanging and is
	// killed.
	pingMisses = 3
)

// errPermanent marks a failed start that another attempt cannot mend.
var errPermanent = errors.New("permanent")

// supervise starts children, one after the other, until ctx ends or MaxFailedStarts in a row fail.
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
		Connections: e.cfg.Connections, Settings: e.cfg.querySettings(), MaxInsertBytes: e.cfg.MaxInsertBytes, AllowedHosts: e.cfg.AllowedHosts, StopTimeout: e.cfg.StopTimeout, LetGo: e.cfg.LetGo,
	}
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
		started, err := e.oneLife(ctx, p, dir)
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
			if failed >= e.cfg.MaxFailedStarts || errors.Is(err, errPermanent) {
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

// noteQueries returns what takes the reports of one child: into the metrics, and into the log what
// stands still.
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

// pause before the next start: none after the first quick end, then 100 ms, doubling up to longest.
func pause(quick int, longest time.Duration) time.Duration {
	if quick <= 1 {
		return 0
	}
	return min(longest, 100*time.Millisecond<<min(quick-2, 10))
}

// oneLife follows a child from its start to its end. started says whether it opened the data and
// took over the listener: from then on it answers, and so what ends it is a crash and no failed
// start, even before it answered us. err says how it ended.
func (e *Engine) oneLife(ctx context.Context, p *process, dir *dataDir) (started bool, err error) {
	begin := time.Now()
	status, err := p.waitStatus(ctx, e.cfg.startTimeout)
	switch {
	case ctx.Err() != nil:
		p.stop(e.cfg.StopTimeout)
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
		p.stop(e.cfg.StopTimeout)
		return false, fmt.Errorf("embedded clickhouse: %w: %s was written by ClickHouse %s, the library here is %s: run `make deps` of the newer mintlake, or, if %s is damaged, %s", ErrNewerData, dir.path, dir.marker.Engine, status.Version, markerFile, markAgain)
	}
	if err := dir.opened(status.Version); err != nil {
		e.log.Warn("note the engine's version", "err", err) // only the check above goes without
	}
	if err := e.ping(ctx, p); err != nil {
		p.stop(e.cfg.StopTimeout)
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
	return true, e.untilEnd(ctx, p)
}

// untilEnd waits for the child's end, for ctx's, or for the child to hang.
func (e *Engine) untilEnd(ctx context.Context, p *process) error {
	ticker := time.NewTicker(e.pingEvery)
	defer ticker.Stop()
	missed, full := 0, false
	for {
		select {
		case <-p.exited:
			return p.exitError()
		case <-ctx.Done():
			p.stop(e.cfg.StopTimeout + 2*time.Second)
			return ctx.Err()
		case <-ticker.C:
			switch was := full; {
			case e.diskIsFull():
				full = true
			case was:
				// A merge that met the full disk can have left a part without rows, and what it
				// merged beside it. A start puts such a part aside and takes what it merged; until
				// then queries fail with code 246.
				p.stop(e.cfg.StopTimeout)
				return errDiskWasFull
			}
			if e.ping(ctx, p) == nil {
				missed = 0
			} else if missed++; missed >= pingMisses && ctx.Err() == nil {
				p.kill()
				return fmt.Errorf("no answer to %d pings of %s each: killed", missed, e.pingTimeout)
			}
		}
	}
}

// errDiskWasFull says why a child that is well is replaced.
var errDiskWasFull = errors.New("the disk was full and has room again: a new start puts aside what could not be written whole")

// diskIsFull says whether less is free than must be.
func (e *Engine) diskIsFull() bool {
	var stat unix.Statfs_t
	if e.cfg.KeepFree == 0 || unix.Statfs(e.cfg.DataDir, &stat) != nil {
		return false
	}
	return stat.Bavail*uint64(stat.Bsize) < e.cfg.KeepFree
}

// ping asks p whether it answers. It ends with p: a connection that a child did not take before its
// end waits for the next one, which is not started before.
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
	// A transport of its own: no proxy from the environment, no connection kept that a dead child
	// left behind.
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

// older says whether version a comes before b; versions are dotted numbers, an empty b is before
// everything.
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
