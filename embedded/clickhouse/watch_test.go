package chengine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/embedded/clickhouse/libchdb"
)

// fakeQueries are the queries of a pool as a test says they are.
type fakeQueries struct {
	running  []libchdb.Running
	progress map[string]string
	asked    chan struct{}
}

func (f *fakeQueries) Running() []libchdb.Running { return f.running }

func (f *fakeQueries) Progress() (map[string]string, error) {
	defer func() { f.asked <- struct{}{} }()
	return f.progress, nil
}

func TestWatchTellsWhatStands(t *testing.T) {
	began := time.Unix(1_000, 0)
	pool := &fakeQueries{asked: make(chan struct{}, 1), running: []libchdb.Running{
		{Tag: "conn-1", Query: "INSERT INTO pools_raw", Began: began}, {Tag: "conn-2", Query: "SELECT slow", Began: began.Add(time.Second)},
	}}
	w := newWatch(pool, 15*time.Second)
	rows := 0
	var report childReport
	look := func(second int) {
		if rows++; second >= 3 {
			pool.progress = map[string]string{"conn-1": "0 0", "conn-2": "7" + string(rune('0'+second))}
		}
		report = w.look(began.Add(time.Duration(second) * time.Second))
		if w.asking {
			<-pool.asked
			require.Eventually(t, func() bool { return len(w.answers) == 1 }, time.Minute, time.Millisecond)
		}
	}
	for second := range 14 {
		look(second)
		require.Zero(t, report.Standing, "at second %d", second)
	}
	require.EqualValues(t, 13, report.OldestSeconds)
	require.Equal(t, 2, report.Queries)
	look(15)
	require.Equal(t, 1, report.Standing, "the other query gets on")
	require.Equal(t, "INSERT INTO pools_raw", report.StandingQuery)
	require.Empty(t, report.Stuck, "nobody has killed it")

	pool.running[0].Killed = began.Add(16 * time.Second)
	look(30)
	require.Empty(t, report.Stuck)
	look(31)
	require.Equal(t, "INSERT INTO pools_raw", report.Stuck, "killed 15 s ago")
	pool.running = nil
	look(32)
	require.Zero(t, report.Standing+report.Queries)
}
