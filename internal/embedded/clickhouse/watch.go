package chengine

import (
	"encoding/json"
	"log/slog"
	"os"
	"time"

	"github.com/mintlake/mintlake/internal/embedded/clickhouse/libchdb"
)

const (
	// watchEvery is how often the child looks at its queries and tells the parent.
	watchEvery = time.Second
	// standAfter is how long a query must have shown no progress to be told.
	standAfter = 10 * time.Second
	// askAfter is how long a query must have run before the engine is asked how far it is.
	askAfter = 3 * time.Second
)

// childReport is what the child tells its parent each second once it serves, a JSON object a line.
type childReport struct {
	// Queries run now; the oldest of them since OldestSeconds.
	Queries       int     `json:"queries"`
	OldestSeconds float64 `json:"oldest_seconds"`
	// Standing are those that showed no progress for standAfter: neither rows, nor processor time,
	// nor disk traffic. StandingQuery is the beginning of the one that stands longest, for
	// StandingSeconds.
	Standing        int     `json:"standing"`
	StandingSeconds float64 `json:"standing_seconds,omitempty"`
	StandingQuery   string  `json:"standing_query,omitempty"`
	// Stuck is a query that was killed and did not end within the time that it had: the child ends
	// after this report.
	Stuck string `json:"stuck,omitempty"`
}

// runningQueries is what a watch needs of a pool.
type runningQueries interface {
	Running() []libchdb.Running
	Progress() (map[string]string, error)
}

// watch follows the queries of a pool.
type watch struct {
	pool  runningQueries
	letGo time.Duration
	// moved is, by query, its last progress and when that was first seen.
	moved map[libchdb.Running]movement
	// answers brings what the engine said of all queries; asking says that it was asked. The engine
	// may be the one that hangs, so nobody waits.
	answers chan map[string]string
	asking  bool
	latest  map[string]string
}

type movement struct {
	progress string
	at       time.Time
}

func newWatch(pool runningQueries, letGo time.Duration) *watch {
	return &watch{pool: pool, letGo: letGo, moved: map[libchdb.Running]movement{}, answers: make(chan map[string]string, 1)}
}

// look makes a report as of now.
func (w *watch) look(now time.Time) childReport {
	queries := w.pool.Running()
	report := childReport{Queries: len(queries)}
	select {
	case w.latest = <-w.answers:
		w.asking = false
	default:
	}
	moved := make(map[libchdb.Running]movement, len(queries))
	old := false
	for _, query := range queries {
		age := now.Sub(query.Began)
		report.OldestSeconds = max(report.OldestSeconds, age.Seconds())
		if killed := query.Killed; !killed.IsZero() && now.Sub(killed) >= w.letGo {
			report.Stuck = query.Query
		}
		old = old || age >= askAfter
		key := query
		key.Killed = time.Time{}
		last, known := w.moved[key]
		if progress := w.latest[query.Tag]; !known {
			last = movement{progress, query.Began}
		} else if progress != last.progress {
			last = movement{progress, now}
		}
		moved[key] = last
		if stands := now.Sub(last.at); stands >= standAfter {
			report.Standing++
			if stands.Seconds() > report.StandingSeconds {
				report.StandingSeconds, report.StandingQuery = stands.Seconds(), query.Query
			}
		}
	}
	w.moved = moved
	if old && !w.asking {
		w.asking = true
		go func() {
			progress, err := w.pool.Progress()
			if err != nil {
				progress = nil // an engine that cannot answer: nothing is known to move
			}
			w.answers <- progress
		}()
	}
	return report
}

// exitStuck is the child's exit code when the engine does not let go of a query.
const exitStuck = 4

// watchQueries reports to the parent until the process ends, and ends it when the engine does not
// let go of a query that was killed: its connection, and what the query has locked, come back only
// with a new process. Rows that were acknowledged are on disk.
func watchQueries(pool runningQueries, letGo time.Duration, pipe *os.File, log *slog.Logger) {
	w := newWatch(pool, letGo)
	reports := json.NewEncoder(pipe)
	for now := range time.Tick(watchEvery) {
		report := w.look(now)
		if err := reports.Encode(report); err != nil {
			return // the parent is gone, and with it soon this process
		}
		if report.Stuck != "" {
			log.Error("the engine does not end a query that was killed: this process ends", "after", letGo, "query", report.Stuck)
			os.Exit(exitStuck)
		}
	}
}
