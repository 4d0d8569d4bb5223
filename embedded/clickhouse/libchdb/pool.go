package libchdb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// PoolConfig of Library.Open.
type PoolConfig struct {
	// Dir is the data directory. It is created if it is missing.
	Dir string
	// Connections is how many queries can run at once. Each has a connection of its own, because
	// the engine runs the queries of one connection one after the other. Two more are opened, for
	// KILL QUERY and for Canonical.
	Connections int
	// Pinned is how many more connections there are for Pin: sessions with temporary tables, which
	// exist only in one connection.
	Pinned int
	// Args are further arguments of the clickhouse command line, for example --config-file=FILE.
	Args []string
	// AcquireTimeout is how long Acquire waits for a free connection.
	AcquireTimeout time.Duration
	// Settings are the settings that every connection starts with, and gets back after each
	// request. The engine reads no user profiles from its configuration file.
	Settings map[string]string
}

// Pool is a fixed set of connections to one data directory. All are opened at the start: each
// connect changes the signal handlers of the process for a moment, so it must not happen while
// queries run.
type Pool struct {
	free     chan *Conn
	spare    chan *Conn // for Pin
	killer   *Conn      // for KILL QUERY and the pool's own queries
	parser   *Conn      // for Canonical
	parsing  sync.Mutex
	all      []*Conn
	settings map[string]bool // names of the engine's settings
	// base has the settings of PoolConfig.
	base     map[string]string
	timeout  time.Duration
	version  string
	timezone string
}

// Open opens the data directory and every connection. The error wraps ErrConnect if the engine
// refuses; the engine writes the reason to stderr only.
func (l *Library) Open(cfg PoolConfig) (*Pool, error) {
	p := &Pool{free: make(chan *Conn, cfg.Connections), spare: make(chan *Conn, cfg.Pinned), timeout: cfg.AcquireTimeout, settings: map[string]bool{}, base: cfg.Settings}
	args := append([]string{"--path=" + cfg.Dir}, cfg.Args...)
	for i := range cfg.Connections + cfg.Pinned + 2 {
		raw, err := l.open(args)
		if err != nil {
			p.Close()
			return nil, fmt.Errorf("open %s: %w", cfg.Dir, err)
		}
		c := &Conn{pool: p, raw: raw, tag: fmt.Sprintf("conn-%d", i), current: map[string]string{}, unknown: map[string]bool{}}
		p.all = append(p.all, c)
		if err := c.exec("SET " + join(c.initial())); err != nil {
			p.Close()
			return nil, fmt.Errorf("set the connection's defaults: %w", err)
		}
	}
	p.killer, p.parser = p.all[0], p.all[1]
	if err := p.readFacts(); err != nil {
		p.Close()
		return nil, err
	}
	for _, c := range p.all[2 : 2+cfg.Connections] {
		p.free <- c
	}
	for _, c := range p.all[2+cfg.Connections:] {
		p.spare <- c
	}
	return p, nil
}

// readFacts reads the engine's version, time zone and names of settings.
func (p *Pool) readFacts() error {
	facts, err := p.killer.text("SELECT version(), timezone()")
	if err != nil {
		return fmt.Errorf("read engine version: %w", err)
	}
	p.version, p.timezone, _ = strings.Cut(facts, "\t")
	names, err := p.killer.text("SELECT name FROM system.settings")
	if err != nil {
		return fmt.Errorf("read setting names: %w", err)
	}
	for name := range strings.Lines(names + "\n") {
		p.settings[strings.TrimSuffix(name, "\n")] = true
	}
	return nil
}

// Version is the engine's version, for example "26.7.3.1".
func (p *Pool) Version() string { return p.version }

// Timezone is the engine's time zone, for example "UTC".
func (p *Pool) Timezone() string { return p.timezone }

// Size is the number of queries that can run at once.
func (p *Pool) Size() int { return cap(p.free) }

// Busy is the number of connections that are acquired. Pinned connections do not count.
func (p *Pool) Busy() int { return cap(p.free) - len(p.free) }

// Acquire waits for a free connection; Conn.Release gives it back. Its error is the context's, or
// one with code 202 (TOO_MANY_SIMULTANEOUS_QUERIES) after AcquireTimeout.
func (p *Pool) Acquire(ctx context.Context) (*Conn, error) {
	select {
	case c := <-p.free:
		return c, nil
	default:
	}
	timer := time.NewTimer(p.timeout)
	defer timer.Stop()
	select {
	case c := <-p.free:
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timer.C:
		return nil, Errorf(202, "TOO_MANY_SIMULTANEOUS_QUERIES", "Too many simultaneous queries: all %d connections were busy for %s", cap(p.free), p.timeout)
	}
}

// Pin takes a connection for a session with temporary tables; Unpin gives it back. It does not
// wait: ok is false if all are taken. To run a query on it, hold an acquired connection at the same
// time. So no more than Connections queries run at once.
func (p *Pool) Pin() (c *Conn, ok bool) {
	select {
	case c := <-p.spare:
		return c, true
	default:
		return nil, false
	}
}

// Unpin drops the temporary tables of the connection and gives it back.
func (p *Pool) Unpin(c *Conn) error {
	err := c.DropTemporary()
	p.spare <- c
	return err
}

// Canonical returns query as the engine's own parser writes it: without comments, keywords in
// capitals. A query that cannot be parsed, or has more than one statement, is an error with code
// 62.
func (p *Pool) Canonical(query []byte) ([]byte, error) {
	p.parsing.Lock() // the parameter q belongs to the connection, so one call at a time
	defer p.parsing.Unlock()
	r, err := p.parser.raw.query([]byte("SELECT formatQuery({q:String})"), "TSVRaw", map[string]string{"q": escapeParam(query)})
	if err != nil {
		var e *Error
		if errors.As(err, &e) { // without the part about our own query
			if text, _, cut := strings.Cut(e.Text, ": In scope SELECT formatQuery("); cut {
				return nil, &Error{Code: e.Code, Text: text + " (SYNTAX_ERROR)"}
			}
		}
		return nil, err
	}
	defer r.Free()
	return bytes.Clone(r.Bytes()), nil
}

// escapeParam escapes text as the value of a String parameter. The engine reads it in the Escaped
// (TSV) form.
func escapeParam(text []byte) string {
	return strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, "\x00", `\0`, "\r", `\r`).Replace(string(text))
}

// Close closes the connections, and so the data directory. No connection may be in use.
func (p *Pool) Close() {
	for _, c := range p.all {
		c.raw.close()
	}
	p.all = nil
}
