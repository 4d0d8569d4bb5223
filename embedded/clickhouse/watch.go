package chengine

import (
	"encoding/json"
	"log/slog"
	"os"
	"time"

	"github.com/mintlake/mintlake/embedded/clickhouse/libchdb"
)

const (
	// watchEvery is the time between two reports of the child.
	watchEvery = time.Second
	// standAfter is the time without progress after which a query counts as standing.
	standAfter = 10 * time.Second
	// askAfter is the age of a query from which on the engine is asked for its progress.
	askAfter = 3 * time.Second
)

// childReport is what the child sends its parent every watchEvery while it serves. Each report is a
// line of JSON.
type childReport struct {
	// Queries is how many queries run. The oldest has run for OldestSeconds.
	Queries       int     `json:"queries"`
	OldestSeconds float64 `json:"oldest_seconds"`
	// Standing is how many queries made no progress for standAfter: no rows, no processor time and
	// no disk traffic. StandingQuery is the beginning of the text of the query that has stood
	// longest, and StandingSeconds is how long it has stood.
	Standing        int     `json:"standing"`
	StandingSeconds float64 `json:"standing_seconds,omitempty"`
	StandingQuery   string  `json:"standing_query,omitempty"`
	// Stuck is the beginning of the text of a killed query that did not end within LetGo. The child
	// ends after this report.
	Stuck string `json:"stuck,omitempty"`
}

// runningQueries is the part of a pool that a watch uses.
type runningQueries interface {
	Running() []libchdb.Running
	Progress() (map[string]string, error)
}

// watch follows the progress of a pool's queries.
type watch struct {
	pool  runningQueries
	letGo time.Duration
	// moved has for each query its last progress, and when that was first seen.
	moved map[libchdb.Running]movement
	// answers gets the result of Progress. asking says that a call of Progress runs. Nobody waits
	// for that call, because the engine itself may hang. latest is the last result.
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

// look returns a report of the queries that run now.
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
		key.Killed = time.Time{} // the query stays the same when it is killed
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
				progress = nil // the engine cannot answer, so no progress is known
			}
			w.answers <- progress
		}()
	}
	return report
}

// exitStuck is the child's exit code after a killed query did not end.
const exitStuck = 4

// watchQueries reports to the parent every watchEvery. If a killed query does not end, it ends this
// process: only a new process frees the query's connection and locks. Rows that were acknowledged
// are on disk.
func watchQueries(pool runningQueries, letGo time.Duration, pipe *os.File, log *slog.Logger) {
	w := newWatch(pool, letGo)
	reports := json.NewEncoder(pipe)
	for now := range time.Tick(watchEvery) {
		report := w.look(now)
		if err := reports.Encode(report); err != nil {
			return // the parent is gone, so this process ends soon
		}
		if report.Stuck != "" {
			log.Error("the engine does not end a query that was killed: this process ends", "after", letGo, "query", report.Stuck)
			os.Exit(exitStuck)
		}
	}
}
