package libchdb

import (
	"strings"
	"sync"
	"time"
)

// Running is a query that a connection works on.
type Running struct {
	// Tag names the query in system.processes, as the setting log_comment.
	Tag string
	// Query is the beginning of its text.
	Query string
	// Began is when it was handed to the engine.
	Began time.Time
	// Killed is when its client went away and it was killed; zero: it was not.
	Killed time.Time
}

// queryHead is how much of a query's text is kept: enough for INSERT INTO and the table.
const queryHead = 160

// running is what a connection does now. Safe for many goroutines.
type running struct {
	mu  sync.Mutex
	now Running
}

// begin notes a query; the caller calls end when the engine has let go of it.
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

// kill notes that the query is killed. killOnDone calls it, which ends before the query's end is
// noted.
func (r *running) kill() {
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

// Running lists the queries that the connections work on, but those of the pool itself.
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

// Progress returns, by tag, a text for each running query that changes while the query gets on:
// what it has read and written, and the processor time and disk traffic that it has caused. It
// blocks as long as the engine does.
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
