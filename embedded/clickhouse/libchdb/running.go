package libchdb

import (
	"strings"
	"sync"
	"time"
)

// Running is a query that runs on a connection.
type Running struct {
	// Tag is the setting log_comment of the query in system.processes.
	Tag string
	// Query is the beginning of the query's text.
	Query string
	// Began is when the query was given to the engine.
	Began time.Time
	// Killed is when the query was killed because its client was gone; zero if it was not.
	Killed time.Time
}

// queryHead is how many bytes of a query's text are kept: enough for INSERT INTO and the table.
const queryHead = 160

// running holds the query of one connection. now is zero if none runs. It is safe for concurrent
// use.
type running struct {
	mu  sync.Mutex
	now Running
}

// begin notes a query. The caller calls end when the engine has returned.
func (r *running) begin(query []byte) (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = Running{Query: strings.ToValidUTF8(string(query[:min(len(query), queryHead)]), ""), Began: time.Now()}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.now = Running{}
	}
}

// noteKilled notes that the query is killed. Conn.killOnDone calls it, and makes sure that the call
// ends before end is called.
func (r *running) noteKilled() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.now.Began.IsZero() {
		r.now.Killed = time.Now()
	}
}

func (r *running) get() Running {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

// Running lists the queries that run on the connections, without those of the pool itself.
func (p *Pool) Running() []Running {
	var list []Running
	for _, c := range p.all {
		if now := c.running.get(); !now.Began.IsZero() {
			now.Tag = c.tag
			list = append(list, now)
		}
	}
	return list
}

// Progress returns for each running query, by its tag, a text that changes whenever the query makes
// progress: the rows that it has read and written, its processor time and its disk traffic. If the
// engine hangs, Progress hangs, too.
func (p *Pool) Progress() (map[string]string, error) {
	rows, err := p.killer.text("SELECT Settings['log_comment'], read_rows, written_rows, arrayStringConcat(arrayMap(n -> toString(ProfileEvents[n]), [" +
		"'UserTimeMicroseconds', 'SystemTimeMicroseconds', 'OSCPUVirtualTimeMicroseconds', 'OSReadBytes', 'OSWriteBytes', 'FileSync', 'DirectorySync', " +
		"'InsertedRows', 'SelectedRows', 'WriteBufferFromFileDescriptorWriteBytes', 'ReadBufferFromFileDescriptorReadBytes']), ' ') FROM system.processes")
	if err != nil {
		return nil, err
	}
	progress := map[string]string{}
	for line := range strings.Lines(rows) {
		tag, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		progress[tag] += rest
	}
	return progress, nil
}
